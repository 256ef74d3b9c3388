"""Training that goes on in evaluation mode, because nothing has switched it back."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.modes import Evaluated

TIMES = 2
MEANT = ("freez", "frozen", "fine-tun", "finetun", "keep", "statistic", "running")
"""Words near the switch that say: it is to train so."""


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that switches."""
    found: dict[Place, Diagnosis] = {}
    for each in watched.recorder.modes.found:
        diagnosis = _diagnosis(watched, each) if each.still >= TIMES else None
        if diagnosis is not None:
            found.setdefault(diagnosis.created_at[0], diagnosis)
    return list(found.values())


def _diagnosis(watched: Watched, each: Evaluated) -> Diagnosis | None:
    log = watched.tracer.log
    switched, stepped = log.places_of(each.stack), log.places_of(each.stepped)
    if not switched or not stepped or any(_is_meant(place) for place in switched[-2:]):
        return None
    place, step = switched[-1], stepped[-1]
    back, name = _where_back(switched, stepped, each)
    called = f"`{name}`" if name else f"the {each.kind}"
    return Diagnosis(
        cause="left-in-eval-mode",
        title=f"{called} is trained in evaluation mode since line {place.line} has switched it",
        why=f"eval() in line {place.line} is not followed by train(): {each.still} later steps in "
        f"line {step.line} train it with {_listed(each.depending)} in evaluation mode, where "
        "dropout drops nothing and normalisation neither uses nor updates the statistics of the "
        "batch. Earlier steps of that line ran in training mode.",
        error_line=step,
        created_at=list(dict.fromkeys([place, *reversed(switched), back])),
        fixes=[Fix("train-mode", back, f"call {name or 'its'}{'.' if name else ' '}train() here")],
        spans=[Span("switched", place, switched), Span("stepped", step, stepped)],
        facts={"steps": each.still, "module": name, "depending": each.depending},
    )


def _is_meant(place: Place) -> bool:
    """Whether the line, its comment or its function says that training is to go on like this."""
    above = source.text_at(place.file, place.line - 1)
    near = [source.text_at(place.file, place.line), place.function.rpartition(".")[2]]
    near += [above] if above.lstrip().startswith("#") else []
    return any(word in text.lower() for text in near for word in MEANT)


def _where_back(
    switched: Sequence[Place], stepped: Sequence[Place], each: Evaluated
) -> tuple[Place, str]:
    """Where to switch back, and what the module is called there.

    It is the head of the innermost loop around both, else the line that led to the switch.
    """
    common = 0
    for first, second in zip(switched, stepped, strict=False):
        if (first.file, first.function) != (second.file, second.function):
            break
        common += 1
        if first.line != second.line:
            break
    place, other = (switched[common - 1], stepped[common - 1]) if common else (switched[-1],) * 2
    name = each.names.get(f"{place.file}:{place.function}", "")
    around = source.loops_around(place.file, place.line)
    loops = [loop for loop in around if loop.holds(other.line)]
    if loops:
        return Place(place.file, loops[-1].header, place.function), name
    return place, name


def _listed(kinds: list[str]) -> str:
    shown = ", ".join(kinds[:3])
    return f"{shown} and others" if len(kinds) > 3 else shown
