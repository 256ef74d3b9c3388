"""Programs that fail, for tests of what the report says about them."""

from __future__ import annotations

import dataclasses
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrograd.diagnostics.errors import RetrogradError
from retrograd.diagnostics.report import Report
from retrograd.engine.node import BackwardCall
from retrograd.engine.state import next_sequence


@dataclasses.dataclass
class Failure:
    """The error of a program, and its report with nodes and calls counted from the start of it."""

    error: RetrogradError
    report: Report
    source: str

    @property
    def lines(self) -> list[str]:
        """The source lines of the report's places, in the order of the story."""
        lines = self.source.splitlines()
        return [lines[span.place.line - 1].strip() for span in self.report.spans]

    @property
    def labels(self) -> list[str]:
        return [span.label for span in self.report.spans]

    @property
    def kinds(self) -> list[str | None]:
        """What the advice is, in short."""
        return [item.kind for item in self.report.fixes]

    def fixed(self, number: int = 0) -> str:
        """The program after the edit of an advice."""
        edit = self.report.fixes[number].edit
        assert edit is not None
        lines = self.source.splitlines()
        if edit.before is None:
            lines.insert(edit.line - 1, edit.after or "")
        else:
            assert lines[edit.line - 1] == edit.before
            lines[edit.line - 1] = edit.after or ""
        return "\n".join(lines) + "\n"


def _renumbered(report: Report, nodes: int, calls: int) -> Report:
    def text(value: str | None) -> Any:
        if value is None:
            return None
        value = re.sub(r"\bnode (\d+)", lambda found: f"node {int(found[1]) - nodes}", value)
        return re.sub(r" #(\d+)", lambda found: f" #{int(found[1]) - calls}", value)

    spans = tuple(dataclasses.replace(s, label=text(s.label)) for s in report.spans)
    helps = tuple(dataclasses.replace(h, text=text(h.text)) for h in report.fixes)
    return dataclasses.replace(
        report,
        title=text(report.title),
        spans=spans,
        why=text(report.why),
        fixes=helps,
        notes=tuple(map(text, report.notes)),
    )


@pytest.fixture
def run_program() -> Callable[[Path], Failure]:
    """Runs a file that must end with a coded error."""

    def run(path: Path) -> Failure:
        source = path.read_text("utf-8")
        linecache.checkcache(str(path))
        calls = BackwardCall("backward", False, False, None, 0).ordinal
        nodes = next_sequence()
        with pytest.raises(RetrogradError) as caught:
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        error = caught.value
        assert error.report is not None
        return Failure(error, _renumbered(error.report, nodes, calls), source)

    return run


@pytest.fixture
def fail(run_program: Callable[[Path], Failure], tmp_path: Path) -> Callable[[str], Failure]:
    """Runs the text of a program that must end with a coded error."""

    def run(source: str) -> Failure:
        path = tmp_path / "program.py"
        path.write_text(source, "utf-8")
        return run_program(path)

    return run
