"""The report for a terminal, in the form of retrograd's own error reports.

Three places with their lines and iterations, why, the fixes with their costs and what trying them
showed, why `retain_graph=True` is not the answer, notes, and what could not be seen.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TextIO

from retrograd.diagnostics import render as drawing
from retrograd.diagnostics.report import Fix, Place, Report, Span
from retrograd.doctor.model import CAUSES, Diagnosis
from retrograd.doctor.result import INTERRUPTED, Result

WIDEST = 100


def show(result: Result, file: TextIO) -> None:
    """Print the report: in colour and as wide as a terminal, or plain."""
    terminal = file.isatty()
    columns = shutil.get_terminal_size((80 if terminal else WIDEST, 24)).columns
    text = "\n" + render(result, width=min(columns, WIDEST), color=terminal)
    encoding = getattr(file, "encoding", None) or "utf-8"
    file.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    file.flush()


def render(result: Result, *, width: int = WIDEST, color: bool = False) -> str:
    """The whole report as text.

    >>> print(render(Result(script="train.py", engine="torch")))
    retrograd doctor: no autograd mistake seen (torch)
    """
    paint = drawing._Painter(color)
    width = max(width, drawing.NARROWEST)
    lines = []
    for diagnosis in result.diagnoses:
        lines += [*_diagnosis(diagnosis, result, width, paint), ""]
    lines += _paragraph("retrograd doctor", conclusion(result), width, paint)
    for sentence in result.unseen:
        lines += _paragraph("not seen", sentence, width, paint)
    return "\n".join(line.rstrip() for line in lines)


def _paragraph(label: str, text: str, width: int, paint: drawing._Painter) -> list[str]:
    """A label and what belongs to it; a long label does not push the text to the right."""
    hang = " " * min(len(label) + 2, 4 if len(label) > 8 else 9)
    lines = drawing._wrap(text, f"{label}: ", hang, width)
    lines[0] = paint("heading", f"{label}:") + lines[0].removeprefix(f"{label}:")
    return lines


def conclusion(result: Result) -> str:
    """The whole report in one line."""
    where = f" ({result.engine})" if result.engine else ""
    count = len(result.diagnoses)
    if count:
        return f"{count} finding{'s' if count > 1 else ''}{where}"
    if result.status == INTERRUPTED:
        return f"no autograd mistake seen until the program was interrupted{where}"
    if result.error:
        return f"the program failed, but not by an autograd mistake that is known here{where}"
    if result.status:
        return f"no autograd mistake seen; the program ended with status {result.status}{where}"
    return f"no autograd mistake seen{where}"


def _diagnosis(
    diagnosis: Diagnosis, result: Result, width: int, paint: drawing._Painter
) -> list[str]:
    level = "error" if diagnosis.error else "warning"
    code = f"{level}[{diagnosis.cause}]"
    heading = drawing._wrap(f"{code}: {diagnosis.title}", "", "    ", width)
    heading[0] = paint(level, code) + paint("heading", heading[0].removeprefix(code))
    lines = heading + _places(diagnosis, result, width, paint)
    if diagnosis.tensor and f"`{diagnosis.tensor}`" not in diagnosis.title:
        lines += _paragraph("value", f"`{diagnosis.tensor}`", width, paint)
    lines += _paragraph("why", diagnosis.why or CAUSES[diagnosis.cause], width, paint)
    for number, fix in enumerate(diagnosis.fixes, 1):
        lines += _fix(number, fix, result, width, paint)
    if diagnosis.why_not_retain:
        lines += _paragraph("not retain_graph=True", diagnosis.why_not_retain, width, paint)
    for note in diagnosis.notes:
        lines += _paragraph("note", note, width, paint)
    return lines


# ------------------------------------------------------------------------------------ places


def _places(diagnosis: Diagnosis, result: Result, width: int, paint: drawing._Painter) -> list[str]:
    spans = [
        Span(
            f"{span.label} here" + (f": {span.iteration}" if span.iteration else ""),
            located(span.place, result),
            order=number,
        )
        for number, span in enumerate(diagnosis.spans, 1)
    ]
    if not spans and diagnosis.error_line is not None:
        spans = [Span("here", located(diagnosis.error_line, result))]
    if not spans:
        return []
    spans[-1] = replace(spans[-1], primary=True)
    report = Report(spans=spans)
    gutter = max(2, *(len(str(span.place.line)) for span in spans))
    lines = drawing._render_spans(report, gutter, width, paint)
    return lines + _stacks(diagnosis, width, paint)


def _stacks(diagnosis: Diagnosis, width: int, paint: drawing._Painter) -> list[str]:
    """How the program came to a place that lies in a function: the calls, outermost first."""
    lines = []
    for number, span in enumerate(diagnosis.spans, 1):
        calls = [place for place in span.stack if place != span.place]
        if calls:
            way = ", ".join(name_of(place, span.place.file) for place in calls)
            lines += _paragraph(f"place {number}", f"called in {way}", width, paint)
    return lines


def name_of(place: Place, file: str = "") -> str:
    """`file:line in function`; only the line if it lies in `file`."""
    inside = f" ({place.function})" if place.function not in ("", "<module>") else ""
    if place.file == file:
        return f"line {place.line}{inside}"
    return f"{drawing.display_path(place.file)}:{place.line}{inside}"


def located(place: Place, result: Result) -> Place:
    """The statement on a line, to be marked."""
    text = result.text_of(place)
    code = text.split("  #")[0].rstrip()
    start = len(code) - len(code.lstrip())
    if not code:
        return place
    return replace(place, column=start, end_line=place.line, end_column=len(code), source=text)


# ------------------------------------------------------------------------------------- fixes


def _fix(number: int, fix: Fix, result: Result, width: int, paint: drawing._Painter) -> list[str]:
    reason = f": {fix.text}" if fix.text else ""
    lines = _paragraph(f"fix {number}", f"{fix.kind}{reason}", width, paint)
    lines.append("   " + paint("frame", "--> ") + name_of(fix.place))
    if fix.diff:
        lines += ["   " + _coloured(line, paint) for line in changes(fix.diff)]
    else:
        text = result.text_of(fix.place).strip()
        if text:
            lines.append("   " + paint("frame", "| ") + text[: width - 5])
    for sentence in (f"cost: {fix.cost}" if fix.cost else "", tried(fix)):
        if sentence:
            lines += drawing._wrap(sentence, "   ", "      ", width)
    return lines


def tried(fix: Fix) -> str:
    if fix.verified:
        return f"tried: {fix.verification or 'it helps'}"
    if fix.verified is False:
        return fix.verification or "tried: it does not help"
    return fix.verification


def changes(diff: str) -> list[str]:
    """The changed lines of a unified diff with their neighbours, without its headers."""
    lines = diff.splitlines()
    if lines and lines[0].startswith("--- "):
        lines = lines[2:]
    parts = [line for line in lines if not line.startswith("\\ No newline")]
    lines = ["..." if line.startswith("@@") else line for line in parts]
    if lines and lines[0] == "...":
        del lines[0]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _coloured(line: str, paint: drawing._Painter) -> str:
    role = {"-": "removed", "+": "added"}.get(line[:1])
    return line if role is None else paint(role, line)
