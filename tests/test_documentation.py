"""Runs the Python code blocks of the documentation.

A comment `# RuntimeError: text` in a block says that the block ends there with that error. A block
that is not meant to run is marked as `text` or has another language. A page may say that its blocks
are one program; then they run in order, in one namespace. A block with a `text` block right below
it is compared with what it prints, in `tests/docs/test_printed.py`.
"""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RAISES = re.compile(r"# RuntimeError: (.+)$", re.MULTILINE)
ONE_PROGRAM = "<!-- the code blocks of this page are one program -->"


def as_one_program(text: str) -> str:
    """The code of a page, each line where it stands on the page."""
    lines = [""] * text.count("\n")
    for match in BLOCK.finditer(text):
        start = text.count("\n", 0, match.start()) + 1
        code = match[1].splitlines()
        lines[start : start + len(code)] = code
    return "\n".join(lines)


def blocks() -> list[Any]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if ONE_PROGRAM in text:
            place = str(page.relative_to(ROOT))
            found.append(pytest.param(as_one_program(text), place, id=place))
            continue
        for match in BLOCK.finditer(text):
            if text.startswith("\n\n```text\n", match.end()):
                continue
            line = text.count("\n", 0, match.start()) + 2
            place = f"{page.relative_to(ROOT)}:{line}"
            found.append(pytest.param(match[1], place, id=place))
    return found


@pytest.mark.parametrize(("source", "place"), blocks())
def test_code_block_does_what_the_page_says(source: str, place: str) -> None:
    program = compile(source, place, "exec")
    names = {"__name__": "documentation"}
    expected = RAISES.search(source)
    if expected is None:
        exec(program, names)
        return
    with pytest.raises(RuntimeError, match=re.escape(expected[1])) as caught:
        exec(program, names)
    line = source.count("\n", 0, expected.start()) + 1
    places = [entry.lineno + 1 for entry in caught.traceback if str(entry.path).endswith(place)]
    assert line in places, f"raised in line {places}, the page says {line}"
