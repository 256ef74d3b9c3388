"""A saved value that was overwritten through `.data`, where no version tells PyTorch of it."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Unseen
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line. The program runs again only if its text writes like that."""
    files = watched.tracer.chains.files()
    if not watched.recorder.calls or not any(writes_by_data(file) for file in files):
        return []
    found = [each for each in second_pass.find_unseen_writes(watched) if each.calls >= TIMES]
    return [_diagnosis(watched, each) for each in found]


def writes_by_data(file: str) -> bool:
    """Whether a file has a line such as `weight.data.mul_(0.9)` or `weight.data[0] = 0`."""
    for node in ast.walk(source.tree_of(file)):
        written: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name.endswith("_") and not name.endswith("__"):
                written = [node.func.value]
        elif isinstance(node, ast.AugAssign):
            written = [node.target]
        elif isinstance(node, ast.Assign):
            written = [each for each in node.targets if isinstance(each, ast.Subscript)]
        if any(_is_data(each) for each in written):
            return True
    return False


def _is_data(node: ast.expr) -> bool:
    """`x.data`, or a part or view of it."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return True
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return False


def _diagnosis(watched: Watched, unseen: Unseen) -> Diagnosis:
    place, saved = unseen.stack[-1], unseen.saved
    what = "a parameter" if unseen.parameter else "a value"
    here = _beside_backward(watched, unseen.stack) or place
    fixes = [Fix("clone-before-inplace", place, "write into a copy, and leave the value as it is")]
    if unseen.parameter:
        fixes = [Fix("reorder-step", here, "do this after the step, before the next forward pass")]
    spans = [Span("written", place, unseen.stack)]
    if saved:
        spans.insert(0, Span("saved", saved[-1], saved))
    return Diagnosis(
        cause="inplace-after-save",
        title=f"line {place.line} overwrites {what} that backward needs, and PyTorch cannot see it",
        why=f"The forward pass saved {what}; line {place.line} writes into it through .data, which "
        "leaves its version as it is, so no error is raised. backward() computes with other values "
        f"than the forward pass had: the gradients of {unseen.calls} calls that were compared are "
        "wrong.",
        error_line=place,
        created_at=list(dict.fromkeys([*reversed(unseen.stack), *saved[-1:]])),
        fixes=fixes,
        spans=spans,
        facts={"calls": unseen.calls, "op": unseen.op, "parameter": unseen.parameter},
    )


def _beside_backward(watched: Watched, stack: list[Place]) -> Place | None:
    """The line of the write as the function sees it that calls backward."""
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    sending = {place.function for call in calls[:20] for place in call.log.places_of(call.stack)}
    inside = [place for place in stack if place.function in sending]
    return inside[-1] if inside else None
