"""A step with gradients that a `GradScaler` has multiplied, and that nobody has divided again."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.records import ScaledStep

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that steps."""
    log = watched.tracer.log
    seen: dict[Place, list[ScaledStep]] = {}
    for each in watched.recorder.scaling.scaled_steps:
        place = log.place_of(each.stack)
        if place is not None:
            seen.setdefault(place, []).append(each)
    found = [_diagnosis(watched, at, each) for at, each in seen.items() if len(each) >= TIMES]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _diagnosis(watched: Watched, place: Place, steps: list[ScaledStep]) -> Diagnosis | None:
    last = steps[-1]
    sent = last.call.log.place_of(last.call.stack)
    if sent is None:
        return None
    return Diagnosis(
        cause="stepped-before-unscale",
        title="the optimizer steps with gradients that are still multiplied by the loss scale",
        why=f"The loss of line {sent.line} was multiplied by {last.scale:g}, and so are its "
        f"gradients. scaler.step(optimizer) divides them again; line {place.line} calls the "
        f"optimizer's own step, which uses them as they are, in {len(steps)} steps that were "
        "looked at.",
        error_line=place,
        created_at=list(dict.fromkeys([place, sent])),
        fixes=[Fix("unscale-first", place, "let the scaler make the step")],
        spans=[
            Span("multiplied", sent, last.call.log.places_of(last.call.stack)),
            Span("stepped", place, watched.tracer.log.places_of(last.stack)),
        ],
        facts={"steps": len(steps), "scale": last.scale},
    )
