"""Reads the tables of snippets in `cases/`: one file for each rule, the reported lines marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "cases"
PREAMBLE = (HERE / "preamble.txt").read_text(encoding="utf-8")
MARK = "# <-"


@dataclass(frozen=True)
class Case:
    """A program for one rule, and the lines that the rule must report."""

    code: str
    kind: str
    name: str
    source: str

    @property
    def lines(self) -> list[int]:
        """The marked lines."""
        text = self.source.splitlines()
        return [number for number, line in enumerate(text, 1) if line.endswith(MARK)]

    def __str__(self) -> str:
        return f"{self.code} {self.kind}: {self.name}"


def read_cases() -> list[Case]:
    """All snippets of all rules."""
    found = []
    for path in sorted(HERE.glob("RGL*.txt")):
        parts = re.split(
            r"^=== (\w+): (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        assert parts[0] == ""
        for kind, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found.append(Case(path.stem, kind, name, PREAMBLE + body))
    return found
