"""The pages show what their programs print."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def _printed() -> Any:
    """The module beside this file: test folders are no packages."""
    spec = importlib.util.spec_from_file_location("printed", HERE / "printed.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


printed = _printed()


def found(pattern: re.Pattern[str]) -> list[Any]:
    cases = []
    for page in printed.PAGES:
        text = page.read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            place = f"{page.relative_to(printed.ROOT)}:{text.count(chr(10), 0, match.start()) + 2}"
            cases.append(pytest.param(match, id=place))
    return cases


@pytest.mark.slow
@pytest.mark.parametrize("block", found(printed.PROGRAM))
def test_the_page_shows_what_the_program_prints(block: re.Match[str], tmp_path: Path) -> None:
    """If this fails: python tests/docs/printed.py."""
    now = printed.printed_by(block["program"], tmp_path)
    assert printed.same(block["printed"], now), now


@pytest.mark.slow
@pytest.mark.parametrize("block", found(printed.COMMAND))
def test_the_page_shows_what_the_command_prints(block: re.Match[str], tmp_path: Path) -> None:
    """If this fails: python tests/docs/printed.py."""
    now = printed.printed_by_command(block["program"], block["command"], tmp_path)
    assert printed.same(block["printed"], now), now


def test_only_the_last_digit_of_a_fraction_may_differ() -> None:
    assert printed.same("loss 0.0213 in line 3", "loss 0.0214 in line 3")
    assert not printed.same("loss 0.0213 in line 3", "loss 0.0215 in line 3")
    assert not printed.same("loss 0.0213 in line 3", "loss 0.0213 in line 4")


@pytest.mark.parametrize(
    "page", sorted((printed.DOCS / "guides").glob("*.md")), ids=lambda p: p.stem
)
def test_every_guide_shows_what_its_program_prints(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page.name == "index.md" or printed.PROGRAM.search(text)
