"""`module.requires_grad = False`: a plain attribute, which freezes and unfreezes nothing."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.switches import Switched

TIMES = 2  # looks that must agree


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line: it may go through several modules."""
    log = watched.tracer.log
    lines: dict[tuple[Place, bool], list[Switched]] = {}
    for switched in watched.recorder.switches.found.values():
        place = log.place_of(switched.stack)
        if place is not None and switched.times >= TIMES and not switched.read:
            lines.setdefault((place, switched.value), []).append(switched)
    return [_diagnosis(place, value, seen, watched) for (place, value), seen in lines.items()]


def _diagnosis(place: Place, value: bool, seen: list[Switched], watched: Watched) -> Diagnosis:
    stack = watched.tracer.log.places_of(seen[-1].stack)
    kinds = " and ".join(dict.fromkeys(f"`{each.kind}`" for each in seen))
    count = sum(each.against for each in seen)
    if value:
        cause, verb, kind = "broken-graph", "unfreezes", "enable-grad"
        effect = f"{count} parameters in it, which an optimizer holds, stay frozen and get no "
        effect += "gradient."
    else:
        cause, verb, kind = "freeze-without-effect", "freezes", "freeze-parameters"
        effect = f"{count} parameters in it still get gradients, and an optimizer trains them."
    return Diagnosis(
        cause=cause,
        title=f"line {place.line} {verb} nothing: a module has no requires_grad",
        why=f"The line sets an attribute of {kinds} that PyTorch never looks at. {effect}",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[Fix(kind, place, f"call .requires_grad_({value}): it sets all parameters")],
        spans=[Span("set", place, stack)],
        facts={"parameters": count},
    )
