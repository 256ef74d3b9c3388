"""Edits for gradients that are collected over several batches: the last ones of an epoch."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, call_statement, called, dotted, receiver


def step_after_last(task: Task) -> None:
    """`if i % 4 == 0:` becomes `if i % 4 == 0 or i == len(batches):`."""
    draft, condition = task.draft, task.statement
    loop = next(draft.enclosing(condition, ast.For), None)
    if not isinstance(condition, ast.If) or not isinstance(loop, ast.For):
        raise CannotWrite("no condition in a loop decides about the step")
    counted = _counted(condition.test)
    batches = _batches_of(draft, loop, counted)
    if isinstance(batches, (ast.Name, ast.Attribute)):
        name = draft.written(batches)
    else:
        name = "batches"
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(draft.tree)):
            raise CannotWrite("the name that the batches would get is taken")
        draft.insert_before(loop, f"{name} = {draft.written(batches)}")
        draft.rewrite(batches, name)
    end = draft.end(condition.test)
    draft.replace(end, end, f" or {draft.written(counted)} == len({name})")


def _counted(test: ast.expr) -> ast.expr:
    """The left side of `% n == 0`."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.BinOp) and len(test.ops) == 1:
        right = test.comparators[0]
        zero = isinstance(right, ast.Constant) and right.value == 0
        if isinstance(test.ops[0], ast.Eq) and isinstance(test.left.op, ast.Mod) and zero:
            return test.left.left
    raise CannotWrite("the condition is no count of batches")


def _batches_of(draft: Draft, loop: ast.For, counted: ast.expr) -> ast.expr:
    """What a loop goes over, if the count is then the number of those that came."""
    over = loop.iter
    if not isinstance(over, ast.Call) or called(over) != "enumerate" or not over.args:
        raise CannotWrite("the loop does not count its batches")
    if not isinstance(loop.target, ast.Tuple) or not isinstance(loop.target.elts[0], ast.Name):
        raise CannotWrite("the loop does not count its batches")
    given = [*over.args[1:], *(keyword.value for keyword in over.keywords)]
    start = (
        given[0].value if given and isinstance(given[0], ast.Constant) else 0 if not given else 9
    )
    wanted = loop.target.elts[0].id + (" + 1" if start == 0 else "")
    if start not in (0, 1) or ast.unparse(counted) != wanted:
        raise CannotWrite("the condition does not count from one")
    return over.args[0]


def clear_before_loop(task: Task) -> None:
    """`optimizer.zero_grad()` before the loop over the batches."""
    draft, loop = task.draft, task.statement
    if not isinstance(loop, ast.For):
        raise CannotWrite("the line begins no loop")
    owners = {
        dotted(receiver(call))
        for node in ast.walk(loop)
        if isinstance(node, ast.stmt) and (call := call_statement(node, "zero_grad")) is not None
    }
    if len(owners) != 1 or "" in owners:
        raise CannotWrite("it is not known which optimizer is meant")
    draft.insert_before(loop, f"{owners.pop()}.zero_grad()")
