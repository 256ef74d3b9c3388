"""An optimizer that is made anew for each of its steps: its averages never get beyond the first."""

from __future__ import annotations

from collections import Counter

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of

TIMES = 4


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that makes them."""
    recorder, log = watched.recorder, watched.tracer.log
    steps = Counter(id(step.optimizer) for step in recorder.gradients.steps)
    made: dict[tuple[Place, tuple[int, ...]], list[object]] = {}
    others: set[Place] = set()
    for optimizer in recorder.gradients.optimizers:
        place = log.place_of(recorder.built_at.get(id(optimizer), []))
        if place is None or steps[id(optimizer)] > 1:
            others |= {place} if place else set()
        elif steps[id(optimizer)] and _averages(optimizer):
            held = tuple(id(parameter) for parameter in parameters_of(optimizer))
            made.setdefault((place, held), []).append(optimizer)
    return [
        _diagnosis(watched, place, found)
        for (place, _), found in made.items()
        if len(found) >= TIMES and place not in others
    ]


def _averages(optimizer: object) -> bool:
    """Whether it keeps tensors as large as a parameter from step to step."""
    state = getattr(optimizer, "state", {})
    return any(
        hasattr(value, "numel") and value.numel() == parameter.numel() > 1
        for parameter, kept in state.items()
        if hasattr(parameter, "numel") and isinstance(kept, dict)
        for value in kept.values()
    )


def _diagnosis(watched: Watched, place: Place, found: list[object]) -> Diagnosis:
    kind, stack = type(found[-1]).__name__, watched.recorder.built_at[id(found[-1])]
    return Diagnosis(
        cause="optimizer-made-anew",
        title=f"{kind} is made anew for each step: what it averages begins again",
        why=f"Line {place.line} made {len(found)} optimizers for the same parameters, and each of "
        f"them made one step. {kind} averages gradients over its steps; with one step there is "
        "nothing to average.",
        error_line=place,
        created_at=[place],
        fixes=[Fix("rebuild-optimizer", place, "make it once, before the loop")],
        spans=[Span("made", place, watched.tracer.log.places_of(stack))],
        facts={"optimizers": len(found), "anew": True},
    )
