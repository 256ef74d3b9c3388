"""Edits about what is trained: a step that is missing, parameters that move though frozen."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.order import is_schedule, owner_of
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)

_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Eq: "!=",
    ast.NotEq: "==",
}


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
    for_step = any(_prepares_step(s) for s in before)
    after = block[block.index(step) + 1 :]
    if for_step and any(called(n) in ("zero_grad", "step") for n in calls_in(after)):
        raise CannotWrite("the branch prepares the step, and goes on after it")
    if alone and step in branch.orelse:
        _remove_else(draft, branch.body[-1], step)
    else:
        draft.remove(step)
    if for_step:
        draft.insert_after(branch, text)
    else:
        draft.insert_before(branch, text)


def _prepares_step(statement: ast.stmt) -> bool:
    """Whether a statement clips gradients, or sets the rate: the step is to come after it."""
    return any(called(n).startswith("clip_grad") for n in calls_in([statement])) or any(
        isinstance(n, ast.Attribute) and n.attr == "param_groups" for n in ast.walk(statement)
    )


def _remove_else(draft: Draft, last: ast.stmt, step: ast.stmt) -> None:
    """Take an `else` away that has nothing but a step; `last` is what stands before it."""
    first = last.end_lineno or 0
    while not draft.lines[first].lstrip().startswith("else"):
        first += 1
    if any("#" in line for line in draft.lines[first : step.lineno - 1]):
        raise CannotWrite("a comment stands between the else and the step")
    draft.replace(draft.starts[first], draft.starts[step.end_lineno or 0], "")


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
    loops = [n for n in draft.enclosing(statement, ast.For) if isinstance(n, ast.For)]
    if not any(names_bound(loop.target) & names_read(test) for loop in loops):
        raise CannotWrite("the condition says whether to freeze, not what")
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        draft.rewrite(test, draft.written(test.operand))
    elif isinstance(test, ast.Compare) and type(test.ops[0]) in _OPPOSITE and len(test.ops) == 1:
        left, right = draft.written(test.left), draft.written(test.comparators[0])
        draft.rewrite(test, f"{left} {_OPPOSITE[type(test.ops[0])]} {right}")
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
