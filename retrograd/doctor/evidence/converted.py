"""What of a failing line was to become a NumPy array, though it requires grad."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence import statements
from retrograd.doctor.evidence.raised import Raised
from retrograd.watching import source

LOOKED_AT = 200  # elements of a list


def arrays_of(at: Raised, torch: Any) -> list[list[object]]:
    """The expressions that are to be detached, each by its position and "tensor" or "list"."""
    failing = _failing_node(at)
    statement = source.statement_at(at.place.file, at.place.line)
    if failing is None:
        failing = statement
    if failing is None:
        return []
    if isinstance(failing, ast.Call) and _is_numpy(failing):
        assert isinstance(failing.func, ast.Attribute)
        return [_position(failing.func.value, "tensor")]
    if isinstance(failing, ast.Subscript) and isinstance(statement, ast.Assign):
        return list(_found(statement.value, at, torch))  # `array[i] = loss`
    if isinstance(failing, ast.Call):
        given = [*failing.args, *(keyword.value for keyword in failing.keywords)]
        found = [each for value in given for each in _found(value, at, torch)]
        if found:
            return found
        made = [value for value in given if isinstance(value, (ast.Call, ast.BinOp))]
        return [_position(made[0], "tensor")] if len(made) == 1 else []
    if isinstance(failing, (ast.BinOp, ast.AugAssign)):
        sides = [failing.value] if isinstance(failing, ast.AugAssign) else []
        if isinstance(failing, ast.BinOp):
            sides = [failing.left, failing.right]
        return [each for side in sides for each in _found(side, at, torch)]
    calls = [n for n in ast.walk(failing) if isinstance(n, ast.Call) and _is_numpy(n)]
    return [_position(c.func.value, "tensor") for c in calls if isinstance(c.func, ast.Attribute)]


def collecting(at: Raised, arrays: list[list[object]], torch: Any) -> tuple[Place, str] | None:
    """The one line that puts the tensors into the list, and the kind of fix for it."""
    names = list(_nodes(at, arrays))
    lists = [statements.value_of(each, at.frame) for each in names]
    if len(names) != 1 or not isinstance(lists[0], (list, tuple)):
        return None
    name = ast.unparse(names[0]).rpartition(".")[2]
    file = at.place.file
    lines = [
        node.lineno
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and ast.unparse(node.func.value).rpartition(".")[2] == name
    ]
    if len(lines) != 1:
        return None
    single = all(isinstance(each, torch.Tensor) and each.numel() == 1 for each in lists[0])
    return Place(file, lines[0]), "item-for-logging" if single else "detach"


def _nodes(at: Raised, arrays: list[list[object]]) -> Iterator[ast.expr]:
    """The expressions that are lists."""
    for *position, kind in arrays:
        for node in ast.walk(source.tree_of(at.place.file)):
            if (
                kind == "list"
                and isinstance(node, ast.expr)
                and _position(node, "")[:4] == position
            ):
                yield node


def _failing_node(at: Raised) -> ast.AST | None:
    """What the failing instruction computes, by its position in the text."""
    trace = at.error.__traceback__
    while trace is not None and trace.tb_frame is not at.frame:
        trace = trace.tb_next
    if trace is None or trace.tb_lasti < 0:
        return None
    positions = islice(at.frame.f_code.co_positions(), trace.tb_lasti // 2, None)
    wanted = next(positions, None)
    if wanted is None or None in wanted:
        return None
    line, last, column, end = wanted
    for node in ast.walk(source.tree_of(at.place.file)):
        if isinstance(node, (ast.expr, ast.AugAssign)) and (
            (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            == (line, last, column, end)
        ):
            return node
    return None


def _is_numpy(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not call.args


def _found(node: ast.expr, at: Raised, torch: Any) -> Iterator[list[object]]:
    """The parts of an expression that hold tensors which require grad."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        value = statements.value_of(node, at.frame)
        if _requires_grad(value, torch):
            yield _position(node, "tensor")
        elif isinstance(value, (list, tuple)) and value:
            some = value[:LOOKED_AT]
            if any(_requires_grad(each, torch) for each in some):
                if all(isinstance(each, torch.Tensor) for each in some):
                    yield _position(node, "list")
    elif isinstance(node, (ast.List, ast.Tuple)):
        for part in node.elts:
            yield from _found(part, at, torch)
    elif isinstance(node, ast.Dict):
        for part in node.values:
            yield from _found(part, at, torch)
    elif isinstance(node, ast.Starred):
        yield from _found(node.value, at, torch)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        if isinstance(node.elt, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
            yield _position(node.elt, "tensor")
    elif isinstance(node, ast.BinOp):
        inside = [*_found(node.left, at, torch), *_found(node.right, at, torch)]
        if inside:
            yield _position(node, "tensor")


def _requires_grad(value: object, torch: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(getattr(value, "requires_grad", False))


def _position(node: ast.expr, kind: str) -> list[object]:
    return [node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, kind]
