"""Edits of the calls of a `GradScaler`: moved to the step, added after it, or left out."""

from __future__ import annotations

import ast
import builtins

from retrograd.doctor.fixes.carried import must_be_known
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    first_line,
    names_bound,
    names_of_scope,
    names_read,
    receiver,
)

CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "get_total_norm")


def unscale_at_step(task: Task) -> None:
    """`unscale_` and the lines that clip go to before `scaler.step(optimizer)`."""
    draft, unscaling = task.draft, task.statement
    call = call_statement(unscaling, "unscale_")
    if call is None or task.diagnosis.facts.get("again"):
        raise CannotWrite("the line does nothing but unscale")
    step = _step_of(draft, call)
    if first_line(step) > unscaling.lineno and step in draft.block_of(unscaling):
        raise CannotWrite("it stands before the step already")
    moved = _with_clips(draft, unscaling)
    _move(draft, moved, step, after=False)


def leave_out(task: Task) -> None:
    """A second `unscale_` goes."""
    if call_statement(task.statement, "unscale_") is None:
        raise CannotWrite("the line does nothing but unscale")
    task.draft.remove(task.statement)


def update_at_step(task: Task) -> None:
    """`scaler.update()` goes to right after the last step of its scaler."""
    draft, updating = task.draft, task.statement
    call = call_statement(updating, "update")
    if call is None or not dotted(receiver(call)):
        raise CannotWrite("the line does nothing but update")
    step = _last_step(draft, dotted(receiver(call)))
    block = draft.block_of(step)
    if updating in block and block.index(updating) == block.index(step) + 1:
        raise CannotWrite("it follows the step already")
    _move(draft, [updating], step, after=True)


def step_after_update(task: Task) -> None:
    """An update that comes before the step is exchanged with it."""
    draft, updating = task.draft, task.statement
    call = call_statement(updating, "update")
    block = draft.block_of(updating)
    later = [s for s in block[block.index(updating) + 1 :] if call_statement(s, "step") is not None]
    own = [s for s in later if _scaler_of(s) == dotted(receiver(call))] if call else []
    if not own:
        raise CannotWrite("no step follows the update")
    _move(draft, [updating], own[-1], after=True)


def step_later(task: Task) -> None:
    """A step that comes before the backward goes behind it, with the update that follows it."""
    draft, step = task.draft, task.statement
    if not _scaler_of(step):
        raise CannotWrite("the line makes no step of a scaler")
    block = draft.block_of(step)
    at = block.index(step)
    following = block[at + 1 : at + 2]
    moved = [step, *(s for s in following if call_statement(s, "update") is not None)]
    sent = [s for s in block[at + 1 :] if call_statement(s, "backward") is not None]
    if not sent:
        raise CannotWrite("no backward follows")
    _move(draft, moved, sent[-1], after=True)


def add_update(task: Task) -> None:
    """`scaler.update()` after the last step of a block, or before the pass is left."""
    draft, statement = task.draft, task.statement
    if isinstance(statement, (ast.Continue, ast.Return)):
        scaler = _only_scaler(draft, statement)
        draft.insert_before(statement, f"{scaler}.update()")
        return
    scaler = _scaler_of(statement)
    if not scaler:
        raise CannotWrite("the line makes no step of a scaler")
    block = draft.block_of(statement)
    steps = [s for s in block if _scaler_of(s) == scaler]
    if len(steps) > 1 and len({ast.unparse(s) for s in steps}) < len(steps):
        steps = [statement]  # one optimizer steps twice: it begins anew in between
    if steps[-1] is block[-1] and isinstance(steps[-1], ast.Return):
        raise CannotWrite("the block ends with the step")
    draft.insert_after(steps[-1], f"{scaler}.update()")


def scale_loss(task: Task) -> None:
    """`loss.backward()` becomes `scaler.scale(loss).backward()`."""
    draft, statement = task.draft, task.statement
    call = call_statement(statement, "backward")
    if call is None or task.diagnosis.cause != "scaler-order":
        raise CannotWrite("the line does nothing but send back")
    scaler = _only_scaler(draft, statement)
    loss = receiver(call)
    draft.rewrite(loss, f"{scaler}.scale({draft.written(loss)})")


def stay_in_full_precision(task: Task) -> None:
    """`.half()` goes wherever the file says it."""
    draft = task.draft
    if not task.diagnosis.facts.get("half"):
        raise CannotWrite("nothing is of half precision")
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Call) and called(node) == "half" and not node.args:
            assert isinstance(node.func, ast.Attribute)
            statement = next(draft.enclosing(node, ast.stmt))
            if isinstance(statement, ast.Expr) and statement.value is node:
                draft.remove(statement)
            else:
                draft.replace(draft.bounds(node.func.value)[1], draft.end(node), "")


def unscale_other(task: Task) -> None:
    """`unscale_` of the optimizer that steps next."""
    call, other = call_statement(task.statement, "unscale_"), task.diagnosis.facts.get("other")
    if call is None or not other:
        raise CannotWrite("it is not known which optimizer steps next")
    task.draft.rewrite(call.args[0], str(other))


def step_without(task: Task) -> None:
    """`scaler.step(optimizer, closure)` becomes `optimizer.step(closure)`."""
    draft, statement = task.draft, task.statement
    for call in draft.calls_at(statement.lineno, "step"):
        given = [dotted(value) for value in call.args]
        if len(given) == 2 and all(given):
            scaler = dotted(receiver(call))
            draft.rewrite(call, f"{given[0]}.step({given[1]})")
            _send_plain(draft, scaler)
            return
    raise CannotWrite("no closure is handed over")


def _send_plain(draft: Draft, scaler: str) -> None:
    """Losses are sent back as they are, and the scaler is not updated."""
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Call) and called(node) == "scale" and len(node.args) == 1:
            if isinstance(node.func, ast.Attribute) and dotted(node.func.value) == scaler:
                draft.rewrite(node, draft.operand(node.args[0]))
        elif isinstance(node, ast.Expr) and call_statement(node, "update") is not None:
            assert isinstance(node.value, ast.Call)
            if dotted(receiver(node.value)) == scaler:
                draft.remove(node)


# ----------------------------------------------------------------------------------- parts


def _scaler_of(statement: ast.stmt) -> str:
    """`scaler` of `scaler.step(optimizer)`, also where its result is kept; "" of others."""
    pair = assigned(statement)
    call = pair[1] if pair is not None else getattr(statement, "value", None)
    if not isinstance(call, ast.Call) or called(call) != "step" or not call.args:
        return ""
    return dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _steps(draft: Draft, scaler: str) -> list[ast.stmt]:
    own = scaler.rpartition(".")[2]
    return [
        node
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.stmt) and own and _scaler_of(node).rpartition(".")[2] == own
    ]


def _step_of(draft: Draft, unscaling: ast.Call) -> ast.stmt:
    """The one step of what a call unscales."""
    given = [ast.unparse(value) for value in unscaling.args]
    steps = _steps(draft, dotted(receiver(unscaling)))
    if len(steps) > 1:
        steps = [s for s in steps if _given(s) == given]
    if len(steps) != 1:
        raise CannotWrite("not exactly one line makes the step")
    return steps[0]


def _given(statement: ast.stmt) -> list[str]:
    pair = assigned(statement)
    call = pair[1] if pair is not None else getattr(statement, "value", None)
    return [ast.unparse(value) for value in call.args] if isinstance(call, ast.Call) else []


def _last_step(draft: Draft, scaler: str) -> ast.stmt:
    steps = _steps(draft, scaler)
    if not steps:
        raise CannotWrite("no line makes a step")
    last = max(steps, key=lambda statement: statement.lineno)
    if any(draft.block_of(step) is not draft.block_of(last) for step in steps):
        raise CannotWrite("steps are made in several places")
    return last


def _with_clips(draft: Draft, unscaling: ast.stmt) -> list[ast.stmt]:
    """A call of `unscale_` with the lines behind it that clip."""
    block = draft.block_of(unscaling)
    moved = [unscaling]
    for statement in block[block.index(unscaling) + 1 :]:
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        if hasattr(statement, "body") or not any(called(call) in CLIPPING for call in calls):
            break
        moved.append(statement)
    return moved


def _move(draft: Draft, moved: list[ast.stmt], step: ast.stmt, after: bool) -> None:
    """Put neighbouring lines before or after a step, in its block and with its indentation."""
    scope, names = draft.scope_of(step), set[str]()
    for statement in moved:
        names |= names_read(statement)
    known = names_of_scope(scope) | names_of_scope(draft.tree) | set(dir(builtins))
    if names - known:
        raise CannotWrite("the lines read what the function of the step does not know")
    if draft.scope_of(moved[0]) is not scope and any(names_bound(each) for each in moved):
        raise CannotWrite("another function reads what the lines set")
    text = draft.reindented(moved, draft.indentation(moved[0]), draft.indentation(step))
    if not text.endswith(("\n", "\r")):
        text += draft.newline(step)
    start, end = draft.whole_lines(step)
    place = end if after else start
    if not draft.text[:place].endswith(("\n", "\r")):
        text = draft.newline(step) + text.rstrip("\r\n")
    if place == draft.whole_lines(moved[0])[0]:  # only the indentation changes
        draft.replace(place, draft.whole_lines(moved[-1])[1], text)
        return
    for statement in moved:
        draft.remove(statement)
    draft.replace(place, place, text)


def _only_scaler(draft: Draft, statement: ast.stmt) -> str:
    """The name of the one scaler whose steps the file makes, where a statement is."""
    names = {
        name
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.stmt) and (name := _scaler_of(node)) and "scal" in name.lower()
    }
    if len(names) != 1:
        raise CannotWrite("it is not known which scaler is meant")
    name = names.pop()
    must_be_known(draft, statement, name)
    return name
