"""What a page shows of a diagnosis: words, lines of source and links, all of it plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from retrograd.diagnostics.render import name_of, rows_of, tried
from retrograd.diagnostics.report import Fix, Place, Report, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.report.linking import Link, Links
from retrograd.doctor.result import NEIGHBOURS, Result
from retrograd.watching.source import text_at

Texts = Callable[[Place], str]
"""The text of a line."""

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
    """One fix. `verdict`: "works", "fails" or "untried", "" where nobody tries."""

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
    summary: str
    why: str
    places: list[Shown]
    fixes: list[Change]
    notes: list[str]
    meaning: str = ""
    value: str = ""
    why_not_retain: str = ""


def finding(diagnosis: Diagnosis, result: Result, links: Links | None = None) -> Finding:
    """A diagnosis as the page shows it."""
    spans = diagnosis.spans
    if not spans and diagnosis.error_line is not None:
        spans = [Span("here", diagnosis.error_line)]
    tensor, failed = diagnosis.tensor, bool(diagnosis.error)
    link_of = None if links is None else partial(links.of, tensor=tensor, failed=failed)
    found = _finding(diagnosis, spans, failed, result.text_of, link_of)
    found.meaning = diagnosis.meaning
    found.cause = diagnosis.cause or diagnosis.code
    found.value = "" if f"`{tensor}`" in diagnosis.title else tensor
    found.why_not_retain = diagnosis.why_not_retain
    return found


def finding_of_error(report: Report) -> Finding:
    """The report of an error of the library, in the same form."""
    found = _finding(report, report.spans, report.level == "error", _text_now)
    found.cause = f"{report.code} {report.cause}".strip()
    for fix in found.fixes:
        fix.verdict = fix.trial = ""  # an error does not run the program again
    return found


def _text_now(place: Place) -> str:
    return place.source or text_at(place.file, place.line)


def _finding(
    report: Report,
    spans: Sequence[Span],
    failed: bool,
    text_of: Texts,
    link_of: Callable[[Span], Link | None] | None = None,
) -> Finding:
    places, seen = [], set[Place]()
    for number, span in enumerate(spans, 1):
        link = None if link_of is None else link_of(span)
        kind = KINDS.get(span.label.partition(" here")[0], "other")
        if failed and number == len(spans):
            kind = "error"
        around = 0 if span.place in seen else NEIGHBOURS
        seen.add(span.place)
        places.append(_shown(span, kind, link, text_of, around))
    return Finding(
        level="error" if failed else "warning",
        cause=report.cause,
        summary=report.title,
        why=report.why,
        places=places,
        fixes=[_change(fix, text_of) for fix in report.fixes],
        notes=list(report.notes),
    )


def _shown(span: Span, kind: str, link: Link | None, text_of: Texts, around: int) -> Shown:
    calls = [place for place in span.stack if place != span.place]
    return Shown(
        kind,
        span.label,
        span.iteration,
        name_of(span.place),
        excerpt(span.place, text_of, around),
        [(name_of(place), text_of(place).strip()) for place in calls],
        link,
    )


def _change(fix: Fix, text_of: Texts) -> Change:
    return Change(
        fix.kind,
        fix.text,
        name_of(fix.place) if fix.place.file else "",
        [sign + text for sign, _, text in rows_of(fix)],
        [] if fix.diff or fix.edit else excerpt(fix.place, text_of),
        fix.cost,
        {True: "works", False: "fails", None: "untried"}[fix.verified],
        tried(fix).removeprefix("tried: ").removeprefix("not tried: "),
    )


def excerpt(place: Place, text_of: Texts, around: int = 0) -> list[Line]:
    """A line with its neighbours, as far as their texts are known, moved to the left."""
    lines = []
    for number in range(place.line - around, place.line + around + 1):
        text = text_of(place if number == place.line else Place(place.file, number))
        if text.strip() or number == place.line:
            lines.append(Line(number, text.rstrip().expandtabs(4), number == place.line))
    if not any(line.text for line in lines if line.marked):
        return []
    margin = min(len(line.text) - len(line.text.lstrip()) for line in lines if line.text)
    for line in lines:
        line.text = line.text[margin:]
    return lines
