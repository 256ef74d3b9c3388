"""A kept state that shares the memory of the weights: loading it brings nothing back."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.snapshots import Restored


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that takes such a state."""
    log = watched.tracer.log
    found: dict[Place, Diagnosis] = {}
    for each in watched.recorder.snapshots.restored:
        taken, loaded = log.places_of(each.taken), log.places_of(each.loaded)
        if taken and loaded:
            found[taken[-1]] = _diagnosis(each, taken, loaded)
    return list(found.values())


def _diagnosis(each: Restored, taken: list[Place], loaded: list[Place]) -> Diagnosis:
    place, back = taken[-1], loaded[-1]
    times = "one step" if each.steps == 1 else f"{each.steps} steps"
    return Diagnosis(
        cause="average-of-views",
        title="the state that is kept shares the memory of the weights: it changes with them",
        why=f"state_dict() in line {place.line} gives the tensors themselves, no copies. {times} "
        f"later they have the values of the weights by then, and load_state_dict() in line "
        f"{back.line} copies each parameter onto itself: what was kept is lost.",
        error_line=back,
        created_at=list(dict.fromkeys([*reversed(taken), back])),
        fixes=[Fix("clone", place, "keep copies of the tensors")],
        spans=[Span("kept", place, taken), Span("loaded", back, loaded)],
        facts={"steps": each.steps, "state": True},
    )
