"""Edits that keep a value without its history beside the one that the pass goes on with."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.carried import must_be_known
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    Function,
    assigned,
    dotted,
    names_of_scope,
    names_read,
)


def detach_what_stays(task: Task) -> None:
    """`self.h = f(x)`, `return g(self.h)`: f(x) in a variable, and `self.h` without its history.

    What the function itself goes on with keeps the history: it is what this pass trains.
    """
    draft, statement = task.draft, task.statement
    pair, function = assigned(statement), draft.scope_of(statement)
    if pair is None or not isinstance(pair[0], (ast.Attribute, ast.Subscript)):
        raise CannotWrite("the line keeps nothing in an object")
    if not isinstance(function, Function):
        raise CannotWrite("the line is in no function")
    if isinstance(pair[1], (ast.Tuple, ast.List, ast.Dict, ast.Constant, ast.Lambda)):
        raise CannotWrite("what is kept is not a tensor")
    kept, target = ast.unparse(pair[0]), draft.written(pair[0])
    later = _read_later(draft, function, statement, kept)
    if not later:
        raise CannotWrite("the function does not read it again")
    if not all(_is_behind(draft, node, statement) for node in later):
        raise CannotWrite("it is read where this line may not have run")
    if any(_is_written_again(node, statement, kept) for node in ast.walk(function)):
        raise CannotWrite("it is set again in this function")
    name = _free_name(pair[0], function)
    draft.rewrite(pair[0], name)
    draft.insert_after(statement, f"{target} = {name}.detach()")
    for node in later:
        draft.rewrite(node, name)


def _read_later(draft: Draft, function: Function, statement: ast.stmt, kept: str) -> list[ast.expr]:
    return [
        node
        for node in draft.walk(function)
        if isinstance(node, (ast.Attribute, ast.Subscript))
        and isinstance(node.ctx, ast.Load)
        and node.lineno > (statement.end_lineno or 0)
        and ast.unparse(node) == kept
    ]


def _is_behind(draft: Draft, node: ast.expr, statement: ast.stmt) -> bool:
    """Whether a line runs only after a statement: behind it in its block, or behind its `with`."""
    around: ast.AST | None = statement
    while isinstance(around, ast.stmt):
        block = draft.block_of(around)
        following = block[block.index(around) + 1 :]
        if any(other in following for other in draft.enclosing(node, ast.stmt)):
            return True
        around = draft.parents.get(around)
        if not isinstance(around, (ast.With, ast.AsyncWith)):
            return False
    return False


def _is_written_again(node: ast.AST, statement: ast.stmt, kept: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or node is statement:
        return False
    return node.lineno > statement.lineno and any(
        target is not None and ast.unparse(target) == kept for target in targets
    )


def _free_name(target: ast.Attribute | ast.Subscript, function: Function) -> str:
    node: ast.expr = target
    while isinstance(node, ast.Subscript):
        node = node.value
    name = dotted(node).rpartition(".")[2].lstrip("_") or "value"
    taken = names_of_scope(function) | names_read(function)
    while name in taken:
        name = f"new_{name}"
    return name


def clear_before_copy(task: Task) -> None:
    """`net.penalty = None` before the line that copies `net`: the next pass sets it again."""
    draft, facts, name = task.draft, task.diagnosis.facts, task.diagnosis.tensor
    if not facts.get("copied") or " " in name or "." not in name.partition("[")[0]:
        raise CannotWrite("nothing is copied, or the value has no name")
    must_be_known(draft, task.statement, name.partition("[")[0])
    draft.insert_before(task.statement, f"{name} = None")
