"""Edits about what is trained: a step that is missing, parameters that move though frozen."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.order import is_schedule, owner_of
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    assigned,
    call_statement,
    called,
    dotted,
    receiver,
)


def add_step(task: Task) -> None:
    """`critic_opt.step()` beside the step of the other optimizer."""
    draft, step, owner = task.draft, task.statement, task.variable
    if owner and call_statement(step, "backward") is not None:
        draft.insert_after(step, f"{owner}.step()")  # there is no other step
        return
    if not owner or call_statement(step, "step") is None or is_schedule(draft, step):
        raise CannotWrite("the line makes no step")
    if not owner_of(draft, step):
        raise CannotWrite("it is not known whose step the line makes")
    draft.insert_after(step, f"{owner}.step()")


def step_in_both_cases(task: Task) -> None:
    """The step goes out of the branch that it stands in, to before its condition."""
    draft, step = task.draft, task.statement
    branch = draft.parents.get(step)
    if not task.diagnosis.facts.get("in_branch") or not isinstance(branch, ast.If):
        raise CannotWrite("the step is in no branch")
    if call_statement(step, "step") is None:
        raise CannotWrite("the line does more than a step")
    alone = draft.block_of(step) == [step]
    around = draft.parents.get(branch)
    if isinstance(around, ast.If) and branch in around.orelse and len(around.orelse) == 1:
        raise CannotWrite("the branch is one of several")
    text = draft.written(step)
    if alone and step in branch.body and not branch.orelse:
        draft.rewrite(branch, text)
        return
    block = draft.block_of(step)
    before = block[: block.index(step)]
    if any(call_statement(s, "backward") is not None for s in before):
        raise CannotWrite("a backward stands before the step, in the same branch")
    if alone and step in branch.orelse:
        start = draft.end(branch.body[-1])
        draft.replace(start, draft.end(step), "")
    else:
        draft.remove(step)
    if any(called(n).startswith("clip_grad") for n in calls_in(before)):
        draft.insert_after(branch, text)
    else:
        draft.insert_before(branch, text)


def calls_in(statements: list[ast.stmt]) -> list[ast.Call]:
    """All calls of some statements."""
    return [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)]


def drop_gradients(task: Task) -> None:
    """`p.requires_grad = False`, and `p.grad = None` after it."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is not None and isinstance(pair[0], ast.Attribute) and pair[0].attr == "requires_grad":
        draft.insert_after(statement, f"{draft.written(pair[0].value)}.grad = None")
        return
    call = call_statement(statement, "requires_grad_")
    owner = "" if call is None else dotted(receiver(call))
    if not owner:
        raise CannotWrite("the line freezes nothing")
    loop = next(draft.enclosing(statement, ast.For), None)
    if isinstance(loop, ast.For) and dotted(loop.target) == owner:
        over = loop.iter
        if isinstance(over, ast.Call) and called(over).endswith("parameters"):
            draft.insert_after(statement, f"{owner}.grad = None")
            return
    draft.insert_after(statement, f"{owner}.zero_grad()")


def freeze_others(task: Task) -> None:
    """What the optimizer holds was frozen: the condition of the freezing is turned around."""
    draft, statement = task.draft, task.statement
    branch = draft.parents.get(statement)
    if not task.diagnosis.facts.get("all_frozen") or not isinstance(branch, ast.If):
        raise CannotWrite("no condition says what is frozen")
    test = branch.test
    if branch.orelse or isinstance(test, ast.BoolOp):
        raise CannotWrite("the condition has several parts")
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        draft.rewrite(test, draft.written(test.operand))
    else:
        inner = draft.written(test)
        simple = isinstance(test, (ast.Name, ast.Attribute, ast.Call))
        draft.rewrite(test, f"not {inner}" if simple else f"not ({inner})")


def leave_trainable(task: Task) -> None:
    """What the optimizer holds was frozen: it stays trainable."""
    draft, statement = task.draft, task.statement
    if not task.diagnosis.facts.get("all_frozen"):
        raise CannotWrite("the optimizer holds other parameters, too")
    pair = assigned(statement)
    if pair is not None and isinstance(pair[0], ast.Attribute) and pair[0].attr == "requires_grad":
        draft.rewrite(pair[1], "True")
        return
    call = call_statement(statement, "requires_grad_")
    if call is None or len(call.args) != 1:
        raise CannotWrite("the line freezes nothing")
    draft.rewrite(call.args[0], "True")
