"""`module.requires_grad = True`: a plain attribute, which unfreezes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each kind of module, if the text has one such line for it."""
    found = []
    files = watched.tracer.chains.files()
    for switched in watched.recorder.ownership.switched.values():
        lines = [place for file in files for place in _switching(file, switched.names)]
        if len(lines) == 1:
            found.append(_diagnosis(lines[0], switched.kind, switched.frozen))
    return found


def _switching(file: str, names: set[str]) -> Iterator[Place]:
    """The lines that set the attribute of something of one of these names to True.

    A module that no other one holds has the name of a variable: then all such lines are meant.
    """
    for node in ast.walk(source.tree_of(file)):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                owner = target.value
                name = getattr(owner, "attr", getattr(owner, "id", ""))
                if node.value.value is True and (name in names or not names):
                    yield Place(file, node.lineno)


def _diagnosis(place: Place, kind: str, frozen: int) -> Diagnosis:
    return Diagnosis(
        cause="broken-graph",
        title=f"line {place.line} unfreezes nothing: a module has no requires_grad",
        why=f"The line sets an attribute of a {kind} that PyTorch never looks at. "
        f"{frozen} parameters in it, which an optimizer holds, stay frozen and get no gradient.",
        error_line=place,
        created_at=[place],
        fixes=[Fix("enable-grad", place, "call .requires_grad_(True): it sets all parameters")],
        spans=[Span("set", place)],
        facts={"parameters": frozen},
    )
