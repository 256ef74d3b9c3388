"""Gradients that are clipped while they are still multiplied by the loss scale."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.records import ClippedScaled

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each optimizer."""
    seen: dict[int, list[ClippedScaled]] = {}
    for each in watched.recorder.scaling.clipped_scaled:
        seen.setdefault(id(each.optimizer), []).append(each)
    found = [_diagnosis(watched, each) for each in seen.values() if len(each) >= TIMES]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _diagnosis(watched: Watched, seen: list[ClippedScaled]) -> Diagnosis | None:
    log, last = watched.tracer.log, seen[-1]
    clipped, divided = log.place_of(last.clipped), log.place_of(last.stack)
    if clipped is None or divided is None:
        return None
    return Diagnosis(
        cause="clipped-before-unscale",
        title="gradients are clipped while they are still multiplied by the loss scale",
        why=f"The GradScaler has multiplied the loss by {last.scale:g}. Line {clipped.line} clips "
        f"the gradients to a length that is meant for true ones, and line {divided.line} divides "
        "them afterwards: what is left is that much shorter, and the steps hardly move anything.",
        error_line=clipped,
        created_at=list(dict.fromkeys([clipped, divided])),
        fixes=[Fix("unscale-first", clipped, "call scaler.unscale_(optimizer) before this")],
        spans=[
            Span("clipped", clipped, log.places_of(last.clipped)),
            Span("divided", divided, log.places_of(last.stack)),
        ],
        facts={"steps": len(seen), "scale": last.scale},
    )
