"""A saved value that was overwritten through `.data` or NumPy: no version tells PyTorch of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Unseen
from retrograd.doctor.second_pass.unseen_writes import NUMPY
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2
FILLING = ("fill", "sort", "put", "partition", "itemset")
"""Methods of an array that write into it."""


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
            if any(
                isinstance(each, ast.Attribute) and each.attr == "data" for each in node.targets
            ):
                return True
        if any(_is_data(each) for each in written):
            return True
    return any(True for _ in written_arrays(source.tree_of(file)))


def written_arrays(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements that write into an array made by `.numpy()` in the same piece of text.

    >>> [node.lineno for node in written_arrays(ast.parse("w = p.data.numpy()\\nw[0] = 1\\nw + 1"))]
    [2]
    """
    names: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and _is_array(node.value, set()):
            names |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    for node in ast.walk(scope):
        written: list[ast.expr] = []
        if isinstance(node, ast.AugAssign):
            written = [node.target]
        elif isinstance(node, ast.Assign):
            written = [each for each in node.targets if isinstance(each, ast.Subscript)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            written = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
            if isinstance(call.func, ast.Attribute):
                written += [call.func.value] if call.func.attr in FILLING else []
                written += call.args[:1] if call.func.attr == "copyto" else []
        if isinstance(node, ast.stmt) and any(_is_array(each, names) for each in written):
            yield node


def _is_array(node: ast.expr, names: set[str]) -> bool:
    """`x.numpy()`, one of the names, or a part of these."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id in names
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "numpy"
    )


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
    saved = unseen.saved
    place = _written_at(unseen.stack[-1]) if unseen.op == NUMPY else unseen.stack[-1]
    way = "an array that shares its memory" if unseen.op == NUMPY else ".data"
    stack = [*unseen.stack[:-1], place]
    what = "a parameter" if unseen.parameter else "a value"
    here = _beside_backward(watched, stack) or place
    fixes = [Fix("clone-before-inplace", place, "write into a copy, and leave the value as it is")]
    if unseen.parameter:
        fixes = [Fix("reorder-step", here, "do this after the step, before the next forward pass")]
    spans = [Span("written", place, stack)]
    if saved:
        spans.insert(0, Span("saved", saved[-1], saved))
    return Diagnosis(
        cause="inplace-after-save",
        title=f"line {place.line} overwrites {what} that backward needs, and PyTorch cannot see it",
        why=f"The forward pass saved {what}; line {place.line} writes into it through {way}, which "
        "leaves its version as it is, so no error is raised. backward() computes with other values "
        f"than the forward pass had: the gradients of {unseen.calls} calls that were compared are "
        "wrong.",
        error_line=place,
        created_at=list(dict.fromkeys([*reversed(stack), *saved[-1:]])),
        fixes=fixes,
        spans=spans,
        facts={"calls": unseen.calls, "op": unseen.op, "parameter": unseen.parameter},
    )


def _written_at(array: Place) -> Place:
    """The line that writes into an array, if only one does in the function that has made it."""
    scope = source.function_around(array.file, array.line) or source.tree_of(array.file)
    lines = {node.lineno for node in written_arrays(scope)}
    return Place(array.file, lines.pop(), array.function) if len(lines) == 1 else array


def _beside_backward(watched: Watched, stack: list[Place]) -> Place | None:
    """The line of the write as the function sees it that calls backward."""
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    sending = {place.function for call in calls[:20] for place in call.log.places_of(call.stack)}
    inside = [place for place in stack if place.function in sending]
    return inside[-1] if inside else None
