"""A group of an optimizer that got an iterator with nothing left: it holds no parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import statements
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each optimizer that steps."""
    recorder, log = watched.recorder, watched.tracer.log
    stepped = {id(step.optimizer) for step in recorder.gradients.steps}
    found: dict[Place, Diagnosis] = {}
    for optimizer in recorder.gradients.optimizers:
        groups = recorder.groups_used_up.get(id(optimizer), 0)
        built = log.places_of(recorder.built_at.get(id(optimizer), []))
        if groups and built and id(optimizer) in stepped:
            found[built[-1]] = _diagnosis(built, groups, type(optimizer).__name__)
    return list(found.values())


def _diagnosis(built: list[Place], groups: int, kind: str) -> Diagnosis:
    place = built[-1]
    name, line = next(_given(place), ("", 0))
    made = Place(place.file, line, place.function) if line else place
    some = f"`{name}`" if name else "an iterator"
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"a group of {kind} is empty: {some} was gone through before",
        why="parameters(), filter() and chain() give what can be gone through once. Counting, "
        "printing or freezing the parameters has used it up, and the optimizer found nothing in "
        f"{groups} of its groups: it trains the others only.",
        error_line=place,
        created_at=list(dict.fromkeys([made, place])),
        fixes=[Fix("renew-parameters", made, "keep a list of the parameters")],
        spans=[Span("made", made), Span("built", place, built)],
        tensor=name,
        facts={"groups": groups, "iterator": name},
    )


def _given(place: Place) -> Iterator[tuple[str, int]]:
    """The names that a line gives as "params" of a group, and where each gets its value."""
    statement = source.statement_at(place.file, place.line)
    for node in ast.walk(statement) if statement is not None else ():
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "params":
                name = ast.unparse(value)
                lines = statements.lines_assigning(place, name)
                if isinstance(value, (ast.Name, ast.Attribute)) and lines:
                    if _gives_once(place.file, lines[-1]):
                        yield name, lines[-1]


def _gives_once(file: str, line: int) -> bool:
    """Whether a line keeps a generator, or the result of a call that may be one."""
    value = getattr(source.statement_at(file, line), "value", None)
    if isinstance(value, ast.Call):
        return str(getattr(value.func, "id", "")) not in ("list", "tuple")
    return isinstance(value, ast.GeneratorExp)
