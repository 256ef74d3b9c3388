"""An edit for gradients of parts of an input: the forward pass is computed from those parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    called,
    dotted,
    names_bound,
    names_read,
)


def use_the_parts(task: Task) -> None:
    """`q, p = x[:, :1], x[:, 1:]`, then `net(x)`: the parts joined again, `net(cat([q, p]))`."""
    draft, statement = task.draft, task.statement
    block = draft.block_of(statement)
    whole, names, dim, join = _parts_of(statement)
    last = block.index(statement)
    for other in block[last + 1 :]:  # `x, t = ...` may stand in a line each
        try:
            found = _parts_of(other)
        except CannotWrite:
            break
        if (found[0], found[2], found[3]) != (whole, dim, join):
            break
        names, last = [*names, *found[1]], last + 1
    for other in block[last + 1 :]:
        used = list(_given_to_calls(draft, other, whole))
        if used:
            joined = f"{task.torch()}.{join}([{', '.join(names)}], dim={dim})"
            for node in used:
                draft.rewrite(node, joined)
            return
        if whole in names_bound(other):
            break
    _make_before(task, block[block.index(statement) : last + 1], whole, (names, dim, join))


def _make_before(
    task: Task, makers: list[ast.stmt], whole: str, parts: tuple[list[str], str, str]
) -> None:
    """`u = net(x)` stands before the parts of x are made: they are made before it."""
    draft = task.draft
    names, dim, join = parts
    block = draft.block_of(makers[0])
    users: list[ast.stmt] = []
    for other in block[: block.index(makers[0])][::-1]:
        if whole in names_bound(other):
            break
        if (names_bound(other) | names_read(other)) & set(names):
            raise CannotWrite("the names of the parts mean something else before")
        if any(_given_to_calls(draft, other, whole)):
            users.append(other)
    else:
        raise CannotWrite("the whole is not made in the same block")
    if not users:
        raise CannotWrite("nothing is computed from the whole")
    place, _ = draft.whole_lines(users[-1])
    for maker in makers:
        start, end = draft.whole_lines(maker)
        draft.replace(start, end, "")
        draft.replace(place, place, draft.text[start:end])
    for user in users:
        for node in _given_to_calls(draft, user, whole):
            draft.rewrite(node, f"{task.torch()}.{join}([{', '.join(names)}], dim={dim})")


def _given_to_calls(draft: Draft, statement: ast.stmt, name: str) -> Iterator[ast.Name]:
    """Where a variable is an argument."""
    for node in draft.walk(statement):
        if isinstance(node, ast.Name) and node.id == name:
            if isinstance(draft.parents[node], ast.Call):
                yield node


def _parts_of(statement: ast.stmt) -> tuple[str, list[str], str, str]:
    """What a line takes apart, the parts, along which dimension, and what joins them again."""
    pair = assigned(statement)
    if pair is None:
        raise CannotWrite("the line sets no parts")
    targets = pair[0].elts if isinstance(pair[0], ast.Tuple) else [pair[0]]
    names = [dotted(target) for target in targets]
    value = pair[1]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        dim, join = _split(value)
        return dotted(value.func.value), names, dim, join
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    found = {_sliced(each) for each in values}
    if len(found) != 1 or len(names) != len(values):
        raise CannotWrite("the line does not take one tensor apart")
    whole, dim, join = found.pop()
    return whole, names, dim, join


def _split(value: ast.Call) -> tuple[str, str]:
    """`x.chunk(2, dim=1)`, `x.split(3, 1)`, `x.unbind(-1)`."""
    name = called(value)
    position = {"chunk": 1, "split": 1, "tensor_split": 1, "unbind": 0}.get(name)
    if position is None:
        raise CannotWrite("the line does not take a tensor apart")
    given = [keyword.value for keyword in value.keywords if keyword.arg == "dim"]
    dim = given[0] if given else value.args[position] if len(value.args) > position else None
    return ast.unparse(dim) if dim is not None else "0", "stack" if name == "unbind" else "cat"


def _sliced(value: ast.expr) -> tuple[str, str, str]:
    """`x[:, :2]`: x, the dimension, and whether it is still there."""
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
        raise CannotWrite("the line does not take a tensor apart")
    items = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    cut = [number for number, item in enumerate(items) if not _is_all(item)]
    if len(cut) != 1:
        raise CannotWrite("more than one dimension is taken apart")
    dim = cut[0]
    if any(isinstance(item, ast.Constant) and item.value is ... for item in items[:dim]):
        dim -= len(items)
    return value.value.id, str(dim), "cat" if isinstance(items[cut[0]], ast.Slice) else "stack"


def _is_all(item: ast.expr) -> bool:
    """`:` or `...`."""
    if isinstance(item, ast.Constant):
        return item.value is ...
    return isinstance(item, ast.Slice) and item.lower is item.upper is item.step is None
