"""Gradients that are inf or nan, though the loss is a number: an operation with no slope there."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Spoiled, find_spoiled
from retrograd.doctor.second_pass.spoiled import RETURNED
from retrograd.doctor.session import Watched
from retrograd.watching.received import SPOILED

SLOPES = {
    "Sqrt": "the slope of a square root is infinite at 0, and there is none below",
    "Rsqrt": "the slope of 1 / sqrt(x) is infinite at 0, and there is none below",
    "Log": "the slope of a logarithm is infinite at 0",
    "Log2": "the slope of a logarithm is infinite at 0",
    "Log10": "the slope of a logarithm is infinite at 0",
    "Pow": "the slope of a power below 1 is infinite at 0, and there is none below",
    "Div": "the slope of a quotient is infinite where the divisor is 0",
    "Reciprocal": "the slope of 1 / x is infinite at 0",
    "Acos": "the slope of acos is infinite at -1 and 1",
    "Asin": "the slope of asin is infinite at -1 and 1",
    "Atan2": "atan2 has no slope at (0, 0)",
}


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis: the operation at which it began."""
    if not _is_spoiled(watched):
        return []
    found = find_spoiled(watched, "nan")
    return [_diagnosis(watched, found[0])] if found else []


def ended_by_it(watched: Watched) -> Diagnosis | None:
    """The same for a program that looks itself whether its loss is a number, and gives up."""
    found = diagnose(watched)
    if not found or watched.error is None:
        return None
    found[0].error = f"{type(watched.error).__name__}: {watched.error}".splitlines()[0]
    return found[0]


def _is_spoiled(watched: Watched) -> bool:
    """Whether a step has used such gradients, or PyTorch has stopped at them."""
    courses = watched.recorder.received.courses.values()
    used = any(SPOILED in run.signs for course in courses for run in course.runs)
    return used or RETURNED in str(watched.error or "")


def _diagnosis(watched: Watched, spoiled: Spoiled) -> Diagnosis:
    place, name = spoiled.stack[-1], spoiled.op.lower()
    slope = SLOPES.get(spoiled.op, "its derivative is infinite, or nan, at some of its numbers")
    at_zero = spoiled.smallest == 0 and spoiled.op not in ("Acos", "Asin")
    met = " One of the numbers here is exactly 0." if at_zero else ""
    return Diagnosis(
        cause="nan-gradient",
        title=f"the backward of `{name}` in line {place.line} makes gradients inf or nan",
        why=f"In backward call {spoiled.call} the loss was {spoiled.loss:.3g}, and what came back "
        f"to `{name}` were numbers; what it handed on were not: {slope}.{met} A mask or torch.where"
        " behind it does not help, because 0 times inf is nan. One step with such a gradient makes "
        "parameters nan, and everything after it.",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(spoiled.stack))),
        fixes=[Fix("keep-finite", place, f"keep what `{name}` is given off those numbers")],
        spans=[Span("inf or nan", place, spoiled.stack, primary=True)],
        facts={"op": spoiled.op, "call": spoiled.call, "loss": spoiled.loss},
    )
