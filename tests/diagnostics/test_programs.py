"""Whole programs with one mistake each: the reason, the lines and the advice that they get.

The first line of a program says code and reason. A comment `# 2` marks the line of the second event
of the report's story. Behind an advice, "+ edit" says that it comes with a changed line, "+ runs"
that the program also runs to its end with that line.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def marked_lines(source: str) -> list[int]:
    """The lines of the events, in the order of the story."""
    places: dict[int, int] = {}
    for number, line in enumerate(source.splitlines(), 1):
        marks = re.search(r"  # ([\d ]+)$", line)
        places |= {int(mark): number for mark in (marks[1].split() if marks else ())}
    return [places[event] for event in sorted(places)]


def outcome(failure: Any, number: int) -> str:
    """What becomes of the program with the edit of an advice."""
    if failure.report.fixes[number].edit is None:
        return ""
    try:
        exec(compile(failure.fixed(number), "fixed.py", "exec"), {"__name__": "__main__"})
    except RuntimeError:
        return " + edit"
    return " + runs"


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_program(path: Path, run_program: Any) -> None:
    failure = run_program(path)
    text = ast.get_docstring(ast.parse(failure.source)) or ""
    head = re.match(r"(RG\d+) ([\w-]+): ", text)
    assert head is not None
    error = failure.error
    assert (error.code, str(error.reason)) == (head[1], head[2])
    assert [span.place.line for span in error.spans] == marked_lines(failure.source)
    advice = re.search(r"advice: (.+)", text)
    assert advice is not None
    found = [f"{item.kind}{outcome(failure, i)}" for i, item in enumerate(failure.report.fixes)]
    assert ", ".join(found) == advice[1]


@pytest.mark.torch
@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_program_fails_with_pytorch_too(path: Path) -> None:
    torch = pytest.importorskip("torch")
    source = path.read_text("utf-8")
    source = source.replace("import retrograd as torch", "import torch")
    source = source.replace("from retrograd import", "from torch import")
    try:
        with pytest.raises(RuntimeError) as caught:
            exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    finally:
        torch.set_grad_enabled(True)
    code = {"Tryin": "RG101", "one o": "RG102", "eleme": "RG103"}[str(caught.value)[:5]]
    assert code in source
