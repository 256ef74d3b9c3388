"""Parameters behind `round` or `sign`: their gradients are exactly zero."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of
from retrograd.watching.received import FROZEN, GIVEN, Course

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that keeps all slope from parameters of an optimizer."""
    idle = _idle(watched)
    seen: dict[Place, list[tuple[list[Place], str, int]]] = {}
    for call, flat in watched.recorder.flat:
        stack = [place for _, place in call.log.stack_of(flat.number)]
        count = len(flat.behind & idle)
        # what is drawn for a density is not to be trained through the draw
        drawn = flat.drawn and not watched.recorder.samples.densities
        if call.kind == "backward" and stack and (count or drawn):
            seen.setdefault(stack[-1], []).append((stack, flat.name, count))
    return [
        _diagnosis(place, *found[-1], len(found))
        for place, found in seen.items()
        if len(found) >= TIMES
    ]


def _idle(watched: Watched) -> set[int]:
    """The parameters that no step has had a gradient of other than zeros for, by id."""
    found: set[int] = set()
    given: set[int] = set()
    for optimizer in watched.recorder.gradients.optimizers:
        course = watched.recorder.received.courses.get(id(optimizer), Course())
        for index, parameter in enumerate(parameters_of(optimizer)):
            signs = {run.signs[index] for run in course.runs if index < len(run.signs)}
            if course.steps >= TIMES and parameter.requires_grad:
                (given if signs & {GIVEN, FROZEN} else found).add(id(parameter))
    return found - given


def _diagnosis(place: Place, stack: list[Place], name: str, count: int, times: int) -> Diagnosis:
    if not count:
        return _of_draw(place, stack, name, times)
    plural = "s" if count > 1 else ""
    return Diagnosis(
        cause="broken-graph",
        title=f"`{name}` in line {place.line} has no slope: {count} parameter{plural} get"
        f"{'' if count > 1 else 's'} zeros only",
        why=f"The derivative of `{name}` is zero everywhere. {count} parameter{plural} of an "
        f"optimizer reach the loss only through it, and in {times} calls that were looked at "
        "their gradients were exactly zero.",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[Fix("keep-graph", place, "let the gradient pass straight through it")],
        spans=[Span("flat", place, stack)],
        facts={"op": name, "parameters": count, "partly": True, "flat": name},
    )


def _of_draw(place: Place, stack: list[Place], name: str, times: int) -> Diagnosis:
    """The parameters get gradients from another term of the loss, but none through the draw."""
    return Diagnosis(
        cause="broken-graph",
        title=f"what `{name}` draws in line {place.line} has no slope: its distribution learns "
        "nothing from it",
        why=f"The derivative of a draw by `{name}` is zero, for its mean and its deviation. The "
        "loss is computed from what was drawn; the parameters of the distribution get gradients "
        f"by another term only, in {times} calls that were looked at.",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[Fix("keep-graph", place, "draw noise, and compute the sample from it")],
        spans=[Span("flat", place, stack)],
        facts={"op": name, "calls": times, "partly": True, "flat": name},
    )
