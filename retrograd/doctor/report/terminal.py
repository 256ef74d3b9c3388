"""The report for a terminal: findings drawn as the library's errors are, and what was not seen."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TextIO

from retrograd.diagnostics import render as drawing
from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import INTERRUPTED, Result


def show(result: Result, file: TextIO) -> None:
    """Print the report: in colour and as wide as a terminal, or plain."""
    widest = drawing.WIDTH
    columns = shutil.get_terminal_size((80 if file.isatty() else widest, 24)).columns
    text = "\n" + render(result, width=min(columns, widest), color=drawing.has_colour(file))
    encoding = getattr(file, "encoding", None) or "utf-8"
    file.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    file.flush()


def render(result: Result, *, width: int = drawing.WIDTH, color: bool = False) -> str:
    """The whole report as text.

    >>> print(render(Result(script="train.py", engine="torch")))
    retrograd doctor: no autograd mistake seen (torch)
    """
    paint, width = drawing.Painter(color), max(width, drawing.NARROWEST)
    lines = []
    for diagnosis in result.diagnoses:
        lines += [drawing.render(_located(diagnosis, result), width=width, color=color), ""]
    lines += drawing.labelled("retrograd doctor", conclusion(result), width, paint)
    for sentence in result.failures:
        lines += drawing.labelled("failed", sentence, width, paint)
    for sentence in result.unseen:
        lines += drawing.labelled("not seen", sentence, width, paint)
    return "\n".join(line.rstrip() for line in lines)


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


def _located(diagnosis: Diagnosis, result: Result) -> Diagnosis:
    """The finding with the text of its lines."""
    spans = diagnosis.spans
    if not spans and diagnosis.error_line is not None:
        spans = [Span("", diagnosis.error_line)]
    return replace(
        diagnosis,
        spans=[_with_text(span, result) for span in spans],
        fixes=[_fix_with_text(fix, result) for fix in diagnosis.fixes],
    )


def _with_text(span: Span, result: Result) -> Span:
    label = f"{span.label} here".strip()
    return replace(span, label=label, place=located(span.place, result))


def _fix_with_text(fix: Fix, result: Result) -> Fix:
    return replace(fix, place=located(fix.place, result))


def located(place: Place, result: Result) -> Place:
    """The statement on a line, to be marked."""
    text = result.text_of(place)
    code = text.split("  #")[0].rstrip()
    start = len(code) - len(code.lstrip())
    if not code:
        return place
    return replace(place, column=start, end_line=place.line, end_column=len(code), source=text)
