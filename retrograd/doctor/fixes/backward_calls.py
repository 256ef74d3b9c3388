"""Edits of the arguments of backward, grad and checkpoint calls."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    called,
    dotted,
    receiver,
)


def only_call(task: Task, *names: str) -> ast.Call:
    """The call of one of these functions or methods in the line of the fix."""
    calls = task.draft.calls_at(task.line, *names)
    if len(calls) != 1:
        raise CannotWrite("not exactly one such call is in the line")
    return calls[0]


def set_argument(draft: Draft, call: ast.Call, name: str, value: str, most_positional: int) -> None:
    """Give a call a keyword argument, or another value for the one it has."""
    for keyword in call.keywords:
        if keyword.arg is None:
            raise CannotWrite("arguments are handed on with **")
        if keyword.arg == name:
            draft.rewrite(keyword.value, value)
            return
    if len(call.args) > most_positional or any(isinstance(a, ast.Starred) for a in call.args):
        raise CannotWrite("the argument may be given by position")
    parts = _arguments(draft, call)
    if parts:
        draft.replace(parts[-1][1], parts[-1][1], f", {name}={value}")
    else:
        end = draft.end(call) - 1
        draft.replace(end, end, f"{name}={value}")


def _arguments(draft: Draft, call: ast.Call) -> list[tuple[int, int]]:
    """Where the arguments stand, in the order of the text; a parenthesis belongs to its own."""
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    parts = sorted((draft.start(node), draft.end(node)) for node in nodes)
    if not parts:
        return []
    widened = []
    for position, (start, end) in enumerate(parts):
        until = parts[position + 1][0] if position + 1 < len(parts) else draft.end(call) - 1
        rest = draft.text[end:until]
        closing = rest.split(",")[0].split("#")[0].rfind(")") + 1
        widened.append((start, end + closing))
    return widened


def remove_argument(draft: Draft, call: ast.Call, keyword: ast.keyword) -> None:
    """Take a keyword argument away, with its comma."""
    start, end = draft.start(keyword), draft.end(keyword)
    parts = _arguments(draft, call)
    position = next(i for i, part in enumerate(parts) if part[0] == start)
    if position + 1 < len(parts):
        draft.replace(start, parts[position + 1][0], "")
    elif position:
        draft.replace(parts[position - 1][1], end, "")
    else:
        draft.replace(start, parts[0][1], "")


def _add(task: Task, name: str) -> None:
    call = only_call(task, "backward", "grad")
    if called(call) == "grad" and not isinstance(call.func, (ast.Attribute, ast.Name)):
        raise CannotWrite("it is not a call of autograd.grad")
    allowed = 1 if called(call) == "backward" else 3
    if dotted(call.func).endswith("autograd.backward"):
        allowed = 2
    set_argument(task.draft, call, name, "True", allowed)


def retain_graph(task: Task) -> None:
    """The call keeps its graph."""
    _add(task, "retain_graph")


def create_graph(task: Task) -> None:
    """The call's results get a graph of their own."""
    _add(task, "create_graph")


def drop_retain(task: Task) -> None:
    """The call no longer keeps or makes a graph."""
    call = only_call(task, "backward", "grad")
    found = [k for k in call.keywords if k.arg in ("retain_graph", "create_graph")]
    if not found:
        raise CannotWrite("the argument is not given by name")
    if any(not (isinstance(k.value, ast.Constant) and k.value.value is True) for k in found):
        raise CannotWrite("the argument is not simply True")
    if len(found) == len(call.keywords) and not call.args:
        draft = task.draft
        parts = _arguments(draft, call)
        draft.replace(parts[0][0], parts[-1][1], "")
        return
    if len(found) > 1:
        raise CannotWrite("both arguments are given beside others")
    remove_argument(task.draft, call, found[0])


def reduce_loss(task: Task) -> None:
    """Send the mean back; of a grad call, differentiate the sum."""
    call = only_call(task, "backward", "grad")
    if called(call) == "grad":  # of each element: a sum keeps them apart
        if len(call.args) != 2 or isinstance(call.args[0], (ast.List, ast.Tuple, ast.Starred)):
            raise CannotWrite("the call has further arguments")
        task.draft.suffix(call.args[0], ".sum()")
        return
    if call.args or dotted(call.func).endswith("autograd.backward"):
        raise CannotWrite("the call has arguments")
    task.draft.suffix(receiver(call), ".mean()")


def fix_checkpoint_call(task: Task) -> None:
    """The checkpoint that does not go through a graph of its own."""
    call = only_call(task, "checkpoint", "checkpoint_sequential")
    for keyword in call.keywords:
        if keyword.arg == "use_reentrant":
            task.draft.rewrite(keyword.value, "False")
            return
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        last = max(task.draft.end(node) for node in [*call.args, *(k.value for k in call.keywords)])
        task.draft.replace(last, last, ", use_reentrant=False")
        return
    set_argument(task.draft, call, "use_reentrant", "False", 100)
