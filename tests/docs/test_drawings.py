"""Every guide and concept page has a drawing by the tool; drawings are those of the programs."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
DRAWINGS = DOCS / "drawings"
PAGES = [
    *(DOCS / f"{name}.md" for name in ("graph_life", "lint", "myths", "quickstart", "replay")),
    *sorted((DOCS / "guides").glob("*.md")),
    *sorted((DOCS / "graph").glob("*.md")),
]
# a list of links, pictures of the whole page, and figures that a benchmark has written
NO_DRAWING = {"guides/index.md", "graph/page.md", "graph/memory.md"}
PICTURE = re.compile(r"!\[([^]]*)\]\((?:\.\./)?drawings/([\w-]+\.svg)\)")


def marks() -> dict[str, list[str]]:
    """What the programs mark, by their names."""
    spec = importlib.util.spec_from_file_location("programs", DRAWINGS / "programs.py")
    assert spec is not None and spec.loader is not None
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    found: dict[str, list[str]] = {}
    for name, program in programs.PROGRAMS.items():
        program(found.setdefault(name, []).append)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_drawing(page: Path) -> None:
    pictures = PICTURE.findall(page.read_text(encoding="utf-8"))
    assert pictures or page.relative_to(DOCS).as_posix() in NO_DRAWING
    for caption, name in pictures:
        drawn = ElementTree.parse(DRAWINGS / name).getroot()
        title = drawn.find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text == caption


def test_every_marked_moment_is_drawn_and_shown() -> None:
    """If this fails: make drawings."""
    wanted = {
        f"{name}-{number}.svg": label
        for name, labels in marks().items()
        for number, label in enumerate(labels, 1)
    }
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = {name: caption for caption, name in PICTURE.findall(texts)}
    assert shown == wanted
    assert {path.name for path in DRAWINGS.glob("*.svg")} == set(wanted)
