"""From evidence to causes and fixes: one module per family of mistakes.

Each has `diagnose(watched)`. Errors come first; silent faults are looked for only in a program that
no error ended, because what such a program would have done next is not known.
"""

from __future__ import annotations

import importlib
import importlib.util
import traceback
from typing import TYPE_CHECKING

from retrograd.doctor.model import Diagnosis

if TYPE_CHECKING:
    from retrograd.doctor.session import Watched

ERRORS = ("second_backward", "errors")
SILENT = ("silent",)


def diagnose(watched: Watched) -> list[Diagnosis]:
    """All findings, most likely first. A rule that fails says so in `watched.unseen`."""
    failure = watched.recorder.failure
    if watched.error is None and watched.status and failure is not None:
        # the program printed the error itself and left with a status that says so
        if failure.call is watched.recorder.calls[-1]:
            watched.error = failure.error
    found: list[Diagnosis] = []
    for name in ERRORS if watched.error is not None else SILENT:
        found += _ask(name, watched)
    if watched.error is not None and not found:
        found = _ask("named_code", watched)
    found = _each_mistake_once(found)
    for diagnosis in found:
        diagnosis.level = "error" if diagnosis.error else "warning"
        _decide_about_retaining(diagnosis)
    return found


def _each_mistake_once(found: list[Diagnosis]) -> list[Diagnosis]:
    """Findings at the same lines are one mistake: a function may make an optimizer at each call."""
    groups: dict[object, list[Diagnosis]] = {}
    for diagnosis in found:
        fixed = [(fix.kind, fix.place) for fix in diagnosis.fixes]
        lines = (diagnosis.error_line, diagnosis.freed_at, *diagnosis.created_at, *fixed)
        groups.setdefault((diagnosis.cause, diagnosis.title, lines), []).append(diagnosis)
    for first, *others in groups.values():
        if others:
            times = "once" if len(others) == 1 else f"{len(others)} times"
            first.notes.append(f"The same was found {times} more, for what these lines made anew.")
    return [group[0] for group in groups.values()]


def _decide_about_retaining(diagnosis: Diagnosis) -> None:
    """`retain_graph=True` is not offered and refused in one report: the first fix decides."""
    offered = [fix for fix in diagnosis.fixes if fix.kind == "retain-graph"]
    if not (offered and diagnosis.why_not_retain):
        return
    if diagnosis.fixes[0] is offered[0]:
        diagnosis.why_not_retain = ""
    else:
        diagnosis.fixes = [fix for fix in diagnosis.fixes if fix not in offered]


def _ask(name: str, watched: Watched) -> list[Diagnosis]:
    try:
        module = importlib.import_module(f"retrograd.doctor.rules.{name}")
        found: list[Diagnosis] = module.diagnose(watched)
        return found
    except Exception as error:  # whatever goes wrong here, the program's result stands
        inner = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{inner.name}, line {inner.lineno}"
        watched.unseen.append(
            f"the doctor failed here: {type(error).__name__}: {error} (rules.{name}: {place})"
        )
        return []
