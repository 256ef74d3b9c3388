"""Scores of the doctor on programs with a known mistake, and the table that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

COLUMNS = ("found", "cause", "lines", "fix", "tried")
TITLES = ("mutants", "found", "cause right", "lines right", "first fix right", "tried diff")


@dataclass
class Score:
    """One program under the doctor."""

    kind: str
    name: str
    silent: bool
    found: bool = False
    cause: bool = False
    lines: bool = False
    fix: bool = False
    tried: bool = False
    change: str = ""  # what was broken, as a diff
    report: dict[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """For a file: the marks first, then the evidence."""
        return asdict(self)

    @property
    def complete(self) -> bool:
        """Nothing is missing."""
        return all(getattr(self, column) for column in COLUMNS)


def counts(scores: Sequence[Score]) -> list[int]:
    """How many there are, and how many have each mark."""
    return [len(scores), *(sum(getattr(s, column) for s in scores) for column in COLUMNS)]


def score_table(scores: Sequence[Score], titles: Sequence[str] = TITLES) -> str:
    """Kind by marks in Markdown, those that raise and silent ones apart, with sums."""
    rows: list[tuple[str, list[int]]] = []
    for silent, word in ((False, "raises"), (True, "silent")):
        of_word = [score for score in scores if score.silent == silent]
        for kind in sorted({score.kind for score in of_word}):
            rows.append(
                (f"{kind}, {word}", counts([score for score in of_word if score.kind == kind]))
            )
        rows.append((f"**all, {word}**", counts(of_word)))
    rows.append(("**all**", counts(scores)))
    return "\n".join(_lines(rows, titles)) + "\n"


def _lines(rows: Iterable[tuple[str, list[int]]], titles: Sequence[str]) -> Iterable[str]:
    yield f"| what is wrong | {' | '.join(titles)} |"
    yield "| --- |" + " --: |" * len(titles)
    for name, numbers in rows:
        yield f"| {name} | {' | '.join(map(str, numbers))} |"


def totals(scores: Sequence[Score]) -> str:
    """In a sentence."""
    if not scores:
        return "no programs"
    total, *marks = counts(scores)
    shares = [
        f"{name} {100 * mark / total:.0f} %" for name, mark in zip(TITLES[1:], marks, strict=True)
    ]
    return f"{total} programs: " + ", ".join(shares)
