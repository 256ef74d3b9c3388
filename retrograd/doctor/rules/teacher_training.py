"""A frozen module gives targets in training mode: dropout drops, statistics go on moving."""

from __future__ import annotations

import re

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.teachers import Teacher

TIMES = 3  # iterations
NAMED = re.compile(r"teach|target|ref|old|expert|oracle|prior|frozen|big|large|guide|source", re.I)
MEANT = re.compile(
    r"stochastic|nois|\bmc\b|monte|ensemble|on purpose|train(ing)? mode|batch stat|statistics"
    r"|perturb|recalibrat|adapt",
    re.I,
)
"""Words near the call that say: it is to work as in training."""


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such module."""
    found = [
        _diagnosis(watched, known)
        for known in watched.recorder.teachers.found.values()
        if _is_sure(watched, known)
    ]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _is_sure(watched: Watched, known: Teacher) -> bool:
    teachers = watched.recorder.teachers
    if len(known.pupils) < TIMES or known.used_as_input or teachers.is_averaged(known):
        return False
    if known.within and known.with_gradients:
        return False  # a frozen part of what is trained
    if known.on_purpose or not teachers.is_unchanged(known):
        return False
    return not any(_is_meant(place) for place in watched.tracer.log.places_of(known.stack)[-2:])


def _is_meant(place: Place) -> bool:
    near = [source.text_at(place.file, line) for line in range(place.line - 2, place.line + 1)]
    return any(MEANT.search(text) for text in [*near, place.function])


def _diagnosis(watched: Watched, known: Teacher) -> Diagnosis | None:
    places = watched.tracer.log.places_of(known.stack)
    if not places:
        return None
    for place in reversed(places):
        name = known.names.get(f"{place.file}:{place.function}", "")
        if name:
            break
    else:
        place, name = places[-1], ""
    if known.within and not NAMED.search(name):
        return None  # it may be a part of one model
    called = f"`{name}`" if name else f"the {known.kind}"
    parts = ", ".join(known.depending[:3])
    return Diagnosis(
        cause="freeze-without-effect",
        title=f"{called} is frozen, but works in training mode: {parts} are in effect",
        why="requires_grad=False and no_grad() stop gradients only. Dropout goes on dropping, and "
        f"normalisation uses and updates the statistics of each batch: what {called} gives for "
        "the same values changes from call to call, and with the batch, while another module is "
        "trained with it.",
        error_line=places[-1],
        created_at=list(dict.fromkeys([place, *reversed(places)])),
        fixes=[
            Fix("train-mode", place, f"call {name or 'its'}{'.' if name else ' '}eval() before")
        ],
        spans=[Span("called", places[-1], places)],
        facts={"evaluated": name, "depending": known.depending},
    )
