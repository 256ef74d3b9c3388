"""Edits for faults that nothing reports: sums sent back twice, hooks that pile up, and the like."""

from __future__ import annotations

import ast
from itertools import pairwise

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)


def cut_difference(task: Task) -> None:
    """`z + (q - z)` becomes `z + (q - z).detach()`."""
    draft = task.draft
    for node in draft.walk(task.statement):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            continue
        for difference, rest in ((node.right, node.left), (node.left, node.right)):
            if isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub):
                if ast.unparse(difference.right) == ast.unparse(rest):
                    end = draft.end(difference)
                    if difference is node.right and draft.text[end : end + 1] == ")":
                        draft.replace(end + 1, end + 1, ".detach()")  # its own parentheses
                    else:
                        draft.suffix(difference, ".detach()")
                    return
    raise CannotWrite("the line adds no difference")


def send_after_loop(task: Task) -> None:
    """A running total is sent back once, behind the loop that adds it up."""
    draft, statement = task.draft, task.statement
    call, loop = call_statement(statement, "backward"), draft.parents.get(statement)
    if call is None or not isinstance(loop, ast.For) or loop.orelse:
        raise CannotWrite("the call is not a statement of the loop itself")
    name = dotted(receiver(call))
    if not name or call.args or any(k.arg != "retain_graph" for k in call.keywords):
        raise CannotWrite("the call has other arguments")
    draft.remove(statement)
    draft.insert_after(loop, f"{name}.backward()")


def unscale_first(task: Task) -> None:
    """`scaler.unscale_(optimizer)` before the line that clips."""
    draft, clipping = task.draft, task.statement
    for place in task.diagnosis.created_at:
        for call in draft.calls_at(place.line, "step") if task.same_file(place) else ():
            scaler = dotted(receiver(call))
            if scaler and len(call.args) == 1 and dotted(call.args[0]):
                if draft.scope_of(draft.statement_at(place.line)) is draft.scope_of(clipping):
                    draft.insert_before(clipping, f"{scaler}.unscale_({dotted(call.args[0])})")
                    return
    raise CannotWrite("it is not known which scaler is meant")


def step_by_scaler(task: Task) -> None:
    """`optimizer.step()` becomes `scaler.step(optimizer)`, with an `update()` if there is none."""
    draft, call = task.draft, call_statement(task.statement, "step")
    owner = "" if call is None else dotted(receiver(call))
    scalers = {
        dotted(receiver(each))
        for each in ast.walk(draft.tree)
        if isinstance(each, ast.Call)
        and called(each) == "scale"
        and isinstance(each.func, ast.Attribute)
    }
    if task.diagnosis.cause != "stepped-before-unscale" or not owner or call is None:
        raise CannotWrite("the line makes no step with such gradients")
    if call.args or call.keywords or len(scalers) != 1 or not (scaler := scalers.pop()):
        raise CannotWrite("it is not known which scaler is meant")
    draft.rewrite(call, f"{scaler}.step({owner})")
    if f"{scaler}.update(" not in draft.text:
        draft.insert_after(task.statement, f"{scaler}.update()")


def register_once(task: Task) -> None:
    """What registers hooks goes before the loop."""
    draft, registering = task.draft, task.statement
    around = [registering, *draft.enclosing(registering, ast.stmt)]
    for inner, loop in pairwise(around):
        if not isinstance(loop, (ast.For, ast.While)) or _goes_over_parameters(loop):
            continue
        assert isinstance(inner, ast.stmt)
        if not isinstance(registering, ast.Expr) or inner not in loop.body:
            break
        if any(isinstance(node, ast.For) and len(node.body) > 1 for node in ast.walk(inner)):
            break
        changing = names_bound(loop) - names_bound(inner)
        if names_read(inner) & changing or draft.scope_of(inner) is not draft.scope_of(loop):
            break
        text = draft.reindented([inner], draft.indentation(inner), draft.indentation(loop))
        start, _ = draft.whole_lines(loop)
        draft.remove(inner)
        draft.replace(start, start, text)
        return
    raise CannotWrite("the line cannot stand before the loop")


def _goes_over_parameters(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.For) and any(
        isinstance(node, ast.Call) and called(node).endswith(("parameters", "modules", "children"))
        for node in ast.walk(loop.iter)
    )


def switch_parameters(task: Task) -> None:
    """`module.requires_grad = True` becomes `module.requires_grad_(True)`."""
    pair = assigned(task.statement)
    if pair is None or not isinstance(pair[0], ast.Attribute) or pair[0].attr != "requires_grad":
        raise CannotWrite("the line sets no requires_grad")
    if task.diagnosis.error_line != task.fix.place:
        raise CannotWrite("what the line sets is a parameter's own")
    owner, value = task.draft.written(pair[0].value), task.draft.written(pair[1])
    task.draft.rewrite(task.statement, f"{owner}.requires_grad_({value})")


def multiply_by_given(task: Task) -> None:
    """`return inside` in a custom backward becomes `return grad_output * inside`."""
    gradient, statement = task.diagnosis.facts.get("leaves_out"), task.statement
    if not gradient or not isinstance(statement, ast.Return) or statement.value is None:
        raise CannotWrite("the line returns no gradient")
    value = statement.value
    given = value.elts if isinstance(value, ast.Tuple) else [value]
    wanted = [each for each in given if not isinstance(each, ast.Constant)]
    if len(wanted) != 1 or isinstance(wanted[0], ast.Starred):
        raise CannotWrite("not exactly one gradient is returned")
    tight = isinstance(wanted[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    text = task.draft.written(wanted[0])
    task.draft.rewrite(wanted[0], f"{gradient} * {text if tight else f'({text})'}")
