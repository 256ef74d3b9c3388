"""A term of the loss that cannot train its distribution: `sample()` where `rsample()` was meant."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.records import CutSample

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line, in a program that asks for no density."""
    if watched.recorder.samples.densities:
        return []
    log = watched.tracer.log
    seen: dict[Place, list[CutSample]] = {}
    for each in watched.recorder.samples.used:
        place = log.place_of(each.stack)
        if place is not None:
            seen.setdefault(place, []).append(each)
    return [
        _diagnosis(place, log.places_of(used[-1].stack), used)
        for place, used in seen.items()
        if len({each.call.index for each in used}) >= TIMES
    ]


def _diagnosis(place: Place, stack: list[Place], used: list[CutSample]) -> Diagnosis:
    call = used[-1].call
    sent = call.log.place_of(call.stack)
    spans = [Span("cut", place, stack)]
    if sent is not None:
        spans.append(Span("sent back", sent, call.log.places_of(call.stack)))
    return Diagnosis(
        cause="broken-graph",
        title="a sample is computed with, but it has no history: its distribution learns nothing "
        "from it",
        why=f"sample() in line {place.line} gives a value without history, and the loss is "
        "computed from it. The same loss trains the parameters of the distribution by another "
        f"term only, in {len(used)} calls that were looked at; no density was ever asked for.",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[Fix("keep-graph", place, "rsample() gives a sample that gradients go through")],
        spans=spans,
        facts={"calls": len(used), "op": "sample", "partly": True},
    )
