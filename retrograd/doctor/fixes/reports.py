"""An edit of a number that serves both the loss and a report: the loss gets the tensor."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, assigned, called, dotted, receiver

_KEEPING = (ast.Tuple, ast.List, ast.Dict)


def number_for_report(task: Task) -> None:
    """`s = s.item()` goes from the way of the loss to the places that only keep the number."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None or not isinstance(pair[0], ast.Name) or not _is_number(pair[1]):
        raise CannotWrite("the line does nothing but make a number")
    name, value = pair[0].id, pair[1]
    assert isinstance(value, ast.Call)
    block = draft.block_of(statement)
    uses = [
        node
        for later in block[block.index(statement) + 1 :]
        for node in ast.walk(later)
        if isinstance(node, ast.Name) and node.id == name
    ]
    if any(not isinstance(use.ctx, ast.Load) for use in uses):
        raise CannotWrite("the variable is set again")
    kept = [use for use in uses if _only_keeps(draft, use)]
    if not kept or len(kept) == len(uses):
        raise CannotWrite("the number does not serve both the loss and a report")
    for use in kept:
        if any(draft.enclosing(use, ast.JoinedStr)):
            raise CannotWrite("the number is read inside an f-string")
        draft.suffix(use, ".item()")
    tensor = receiver(value) if called(value) == "item" else value.args[0]
    if dotted(tensor) == name:
        draft.replace(*draft.whole_lines(statement), "")
    else:
        draft.rewrite(value, draft.written(tensor))


def _is_number(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    by_method = called(value) == "item" and isinstance(value.func, ast.Attribute)
    return by_method or (called(value) == "float" and len(value.args) == 1)


def _only_keeps(draft: Draft, use: ast.Name) -> bool:
    """Whether a use puts the number away: in a display that is stored, in a list, on the screen."""
    parent = draft.parents[use]
    if isinstance(parent, ast.Call) and use in parent.args:
        return called(parent) in ("append", "print", "round", "format")
    while isinstance(parent, _KEEPING):
        parent = draft.parents[parent]
    if isinstance(parent, ast.Call):
        return called(parent) in ("append", "print")
    target = assigned(parent) if isinstance(parent, ast.stmt) else None
    if target is not None:
        return isinstance(target[0], ast.Subscript)
    return any(draft.enclosing(use, ast.FormattedValue))
