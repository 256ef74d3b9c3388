"""Statements looked at together with the frame that ran them: what they write, what they read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.watching import source

_NUMBERS_ONLY = frozenset(
    "detach item numpy tolist size dim numel data_ptr argmax argmin sign long int bool".split()
)


def in_place_parts(statement: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that write into a tensor, as far as the text shows it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.AugAssign):
            yield node
        elif isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Subscript) for target in node.targets):
                yield node
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.endswith("_") and not name.startswith("_"):
                yield node
            elif any(_is_in_place_keyword(keyword) for keyword in node.keywords):
                yield node


def _is_in_place_keyword(keyword: ast.keyword) -> bool:
    if keyword.arg == "inplace":
        return isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    return keyword.arg == "out"


def writes_in_place(place: Place) -> bool:
    """Whether the text of a line shows an in-place operation."""
    statement = source.statement_at(place.file, place.line)
    return statement is not None and any(True for _ in in_place_parts(statement))


def result_is_used(place: Place) -> bool:
    """Whether a line goes on with the result of an in-place operation: `y = x.relu_()`."""
    statement = source.statement_at(place.file, place.line)
    if statement is None:
        return False
    if isinstance(statement, ast.AugAssign):
        return False
    if isinstance(statement, ast.Assign):
        return not any(isinstance(target, ast.Subscript) for target in statement.targets)
    return not isinstance(statement, ast.Expr)


def written_name(place: Place) -> ast.expr | None:
    """What a line writes into: `w` of `w += 1`, `self.table` of `self.table[0] = 0`."""
    statement = source.statement_at(place.file, place.line)
    if statement is None:
        return None
    for part in in_place_parts(statement):
        if isinstance(part, ast.AugAssign):
            return _base(part.target)
        if isinstance(part, ast.Assign):
            return next(_base(t) for t in part.targets if isinstance(t, ast.Subscript))
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            return _base(part.args[0] if part.func.attr.islower() and _is_module(part) else part)
    return None


def reads_item_of(reading: Place, writing: Place) -> bool:
    """Whether a line reads items of what another line of its function writes an item of."""
    statement = source.statement_at(writing.file, writing.line)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    read = source.statement_at(reading.file, reading.line)
    if not isinstance(target, ast.Subscript) or read is None or reading.file != writing.file:
        return False
    functions = [source.function_around(p.file, p.line) for p in (reading, writing)]
    return functions[0] is functions[1] and any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and ast.dump(node.value) == ast.dump(target.value)
        for node in ast.walk(read)
    )


def _is_module(call: ast.Call) -> bool:
    """`torch.relu_(x)`, `F.relu(x, inplace=True)`: the tensor is the first argument."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in ("torch", "F", "init") and bool(call.args)


def _base(node: ast.expr) -> ast.expr:
    """The variable or attribute behind subscripts and method calls."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """The value of a variable, attribute or item in a frame; None if it cannot be told safely."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, frame)
        if owner is None:
            return None
        try:
            return getattr(owner, node.attr, None)
        except Exception:
            return None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        items: object = value_of(node.value, frame)
        if isinstance(items, (list, tuple, dict)):
            try:
                key: Any = node.slice.value
                return items[key]
            except (LookupError, TypeError):
                return None
    return None


def value_has_history(
    place: Place, frame: FrameType, torch: object, computed: bool = False
) -> bool:
    """Whether what an in-place line writes depends on tensors that require grad.

    With `computed` only results count, not leaves: copying weights into a parameter is no training.
    """
    statement = source.statement_at(place.file, place.line)
    parts: list[ast.AST] = []
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        parts = [statement.value]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        parts = [*statement.value.args, *(k.value for k in statement.value.keywords)]
    return any(_has_history(part, frame, torch, computed) for part in parts)


def _has_history(node: ast.AST, frame: FrameType, torch: Any, computed: bool) -> bool:
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = value_of(node, frame)
        if not isinstance(found, torch.Tensor) or (computed and found.is_leaf):
            return False
        return bool(found.requires_grad)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _NUMBERS_ONLY:
            return False
        if isinstance(value_of(node.func, frame), torch.nn.Module):
            return True
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        inner = [*owner, *node.args, *(keyword.value for keyword in node.keywords)]
        return any(_has_history(part, frame, torch, computed) for part in inner)
    return any(_has_history(part, frame, torch, computed) for part in ast.iter_child_nodes(node))


def lines_assigning(place: Place, name: str) -> list[int]:
    """The lines around a place that assign a name: in its function, else in the module."""
    function = source.function_around(place.file, place.line)
    for scope in [function, source.tree_of(place.file)]:
        if scope is None:
            continue
        lines = sorted(
            node.lineno
            for node in ast.walk(scope)
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            and name in source.assigned_names(place.file, node.lineno)
        )
        if lines:
            return lines
    return []


def updated_by_gradient(statement: ast.stmt | None) -> str:
    """The tensor that `w = w - rate * w.grad` binds anew; "" for other statements."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = ast.unparse(statement.targets[0]), statement.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return ""
    read = [ast.unparse(node) for node in ast.walk(value.right)]
    return target if ast.unparse(value.left) == target and f"{target}.grad" in read else ""
