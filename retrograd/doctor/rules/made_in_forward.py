"""A layer that is made in `forward`: each call has new weights, and nothing trains them."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of

TIMES = 3  # steps between which such a layer is made again


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such line."""
    recorder, log = watched.recorder, watched.tracer.log
    held = {id(p) for o in recorder.gradients.optimizers for p in parameters_of(o)}
    made: dict[Place, dict[int, list[Place]]] = {}
    for key, leaf in recorder.leaves.items():
        stack, steps = recorder.registered_at.get(key, ([], 0))
        place = log.place_of(stack) if stack and key not in held else None
        if place is not None and leaf.grad is not None:
            if place.function.rpartition(".")[2] == "forward":
                made.setdefault(place, {})[steps] = log.places_of(stack)
    return [
        _diagnosis(place, list(seen.values())[-1], len(seen))
        for place, seen in made.items()
        if len(seen) >= TIMES
    ]


def _diagnosis(place: Place, stack: list[Place], times: int) -> Diagnosis:
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"the layer of line {place.line} is made anew in each call of forward()",
        why=f"In {times} steps that were looked at line {place.line} made new parameters. They "
        "get gradients, but no optimizer holds them, and the next call makes others: the layer "
        "stays random.",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[Fix("register-modules", place, "make it in __init__, as an attribute")],
        spans=[Span("made", place, stack)],
        facts={"steps": times, "in_forward": True},
    )
