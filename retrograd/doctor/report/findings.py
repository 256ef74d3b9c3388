"""What a page shows of a diagnosis: words, lines of source and links, all of it plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrograd.diagnostics.catalogue import causes
from retrograd.diagnostics.render import name_of, rows_of, tried
from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.report.linking import Link, Links
from retrograd.doctor.result import NEIGHBOURS, Result

KINDS = {
    **dict.fromkeys(("created", "saved", "made", "taken", "built", "added", "given"), "created"),
    **dict.fromkeys(("freed", "cleared", "replaced", "left"), "freed"),
    **dict.fromkeys(("cut", "gradients off", "copied", "converted"), "detached"),
    **dict.fromkeys(("kept",), "retained"),
    **dict.fromkeys(("written", "stepped"), "error"),
}
"""How what happened at a place looks: as a node looks to which it happens."""


@dataclass
class Line:
    """A line of source; `marked`: it is the one that is meant."""

    number: int
    text: str
    marked: bool


@dataclass
class Shown:
    """One place of a finding."""

    kind: str  # of KINDS; that of the last place of an error is "error"
    label: str
    when: str  # "iteration 2 of the loop in line 30"
    where: str  # "train.py:15 (forward)"
    lines: list[Line]
    calls: list[tuple[str, str]]  # how the program came there: where, text; outermost first
    link: Link | None


@dataclass
class Change:
    """One fix. `verdict`: "works", "fails" or "untried"."""

    kind: str
    reason: str
    where: str
    diff: list[str]
    lines: list[Line]
    cost: str
    verdict: str
    trial: str


@dataclass
class Finding:
    """Everything that is shown of one diagnosis."""

    level: str  # "error" or "warning"
    cause: str
    meaning: str
    summary: str
    why: str
    value: str
    places: list[Shown]
    fixes: list[Change]
    why_not_retain: str
    notes: list[str] = field(default_factory=list)


def finding(diagnosis: Diagnosis, result: Result, links: Links | None) -> Finding:
    """A diagnosis as the page shows it: the one place that reads it."""
    spans = diagnosis.spans
    if not spans and diagnosis.error_line is not None:
        spans = [Span("here", diagnosis.error_line)]
    tensor = diagnosis.tensor
    failed = bool(diagnosis.error)
    places, seen = [], set[Place]()
    for number, span in enumerate(spans, 1):
        link = None if links is None else links.of(span, tensor, failed)
        kind = KINDS.get(span.label, "other")
        if failed and number == len(spans):
            kind = "error"
        around = 0 if span.place in seen else NEIGHBOURS
        seen.add(span.place)
        places.append(_shown(span, kind, link, result, around))
    return Finding(
        level="error" if failed else "warning",
        cause=diagnosis.cause,
        meaning=causes()[diagnosis.cause].summary,
        summary=diagnosis.title,
        why=diagnosis.why,
        value="" if f"`{tensor}`" in diagnosis.title else tensor,
        places=places,
        fixes=[_change(fix, result) for fix in diagnosis.fixes],
        why_not_retain=diagnosis.why_not_retain,
        notes=diagnosis.notes,
    )


def _shown(span: Span, kind: str, link: Link | None, result: Result, around: int) -> Shown:
    calls = [place for place in span.stack if place != span.place]
    return Shown(
        kind,
        span.label,
        span.iteration,
        name_of(span.place),
        excerpt(span.place, result, around),
        [(name_of(place), result.text_of(place).strip()) for place in calls],
        link,
    )


def _change(fix: Fix, result: Result) -> Change:
    return Change(
        fix.kind,
        fix.text,
        name_of(fix.place),
        [sign + text for sign, _, text in rows_of(fix)],
        [] if fix.diff else excerpt(fix.place, result),
        fix.cost,
        {True: "works", False: "fails", None: "untried"}[fix.verified],
        tried(fix).removeprefix("tried: ").removeprefix("not tried: "),
    )


def excerpt(place: Place, result: Result, around: int = 0) -> list[Line]:
    """A line with its neighbours, as far as their texts are known, moved to the left."""
    lines = []
    for number in range(place.line - around, place.line + around + 1):
        text = result.text_of(Place(place.file, number))
        if text.strip() or number == place.line:
            lines.append(Line(number, text.rstrip().expandtabs(4), number == place.line))
    if not any(line.text for line in lines if line.marked):
        return []
    margin = min(len(line.text) - len(line.text.lstrip()) for line in lines if line.text)
    for line in lines:
        line.text = line.text[margin:]
    return lines
