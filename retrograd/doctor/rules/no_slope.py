"""An optimizer whose gradients are always exactly zero: the loss goes through a plateau."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Spoiled, find_spoiled
from retrograd.doctor.session import Watched
from retrograd.watching.received import NOTHING, ZERO, Course

STEPS = 4  # of an optimizer before it is judged

ONE_VALUE = ("Softmax", "LogSoftmax")
"""Of a single value they are always 1 and 0, whatever the value is."""

PLATEAUS = ("Clamp", "ClampMin", "ClampMax", "Hardtanh", "Hardsigmoid", "Relu", "Threshold")
ROUNDED = ("Tanh", "Sigmoid")
"""Far out they are 1 in floating point, and their slope is exactly zero."""


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis; the program runs again only if an optimizer has got zeros alone."""
    count = _parameters_with_zeros(watched)
    if not count:
        return []
    found = [each for each in find_spoiled(watched, "zero") if _is_plain(each)]
    return [_diagnosis(found[0], count)] if found else []


def _parameters_with_zeros(watched: Watched) -> int:
    """How many parameters the optimizers have that got zeros in every step."""
    recorder, count = watched.recorder, 0
    for optimizer in recorder.gradients.optimizers:
        course = recorder.received.courses.get(id(optimizer), Course())
        signs = "".join(run.signs for run in course.runs)
        if course.steps >= STEPS and ZERO in signs and set(signs) <= {ZERO, NOTHING}:
            count += len(course.runs[0].signs)
    return count


def _is_plain(spoiled: Spoiled) -> bool:
    """Whether it is a fault: a margin that is kept, a target that is met have no slope either."""
    if spoiled.calls < 2:
        return False
    return spoiled.op in ONE_VALUE or (spoiled.op in (*PLATEAUS, *ROUNDED) and spoiled.loss > 0)


def _diagnosis(spoiled: Spoiled, count: int) -> Diagnosis:
    place, name = spoiled.stack[-1], spoiled.op.lower()
    if spoiled.op in ONE_VALUE:
        reason = "Over a dimension of one value it is constant: there is nothing to choose from."
        advice = "use a sigmoid (binary_cross_entropy_with_logits), or one output for each class"
    elif spoiled.op in ROUNDED:
        reason = "All values here are so far out that the result is rounded to its bound."
        advice = "scale what it is given, or start with smaller weights"
    else:
        reason = "All values here lie on its flat part, where the slope is zero."
        advice = "use a form with a slope there (tanh, softplus), or bring values into its range"
    return Diagnosis(
        cause="broken-graph",
        title=f"`{name}` in line {place.line} has no slope: {count} parameters get zeros only",
        why=f"{reason} In all backward calls that were looked at, the gradients of an optimizer "
        "were exactly zero: its steps change nothing.",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(spoiled.stack))),
        fixes=[Fix("keep-graph", place, advice)],
        spans=[Span("flat", place, spoiled.stack, primary=True)],
        facts={"op": spoiled.op, "parameters": count, "calls": spoiled.calls},
    )
