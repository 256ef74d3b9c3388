"""An edit of mixtures of experts whose router only chooses: its probabilities weigh the output."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.hard_choices import is_share
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, assigned, called, dotted, names_read

_CHOOSING = ("argmax", "max", "topk")


def weigh_by_share(task: Task) -> None:
    """`return out` becomes `return probs.max(dim=-1, keepdim=True).values * out`."""
    draft, statement = task.draft, task.statement
    call, dim = _choice_of(task, statement)
    pair = assigned(statement)
    assert pair is not None
    target = pair[0].elts[-1] if isinstance(pair[0], ast.Tuple) else pair[0]
    if not isinstance(target, ast.Name):
        raise CannotWrite("the choice has no name")
    scope = draft.scope_of(statement)
    if not _chooses_module(draft, scope, target.id):
        raise CannotWrite("no module is chosen by it")
    scores: ast.expr = call.func.value if isinstance(call.func, ast.Attribute) else call
    if dotted(scores) == task.torch():
        scores = call.args[0]
    if not isinstance(scores, ast.Name):
        raise CannotWrite("what is chosen from has no name")
    shares = scores.id
    if not is_share(draft, scores):
        shares = f"{task.torch()}.softmax({scores.id}, dim={dim})"
    returns = [n for n in ast.walk(scope) if isinstance(n, ast.Return) and n.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        raise CannotWrite("the function does not return in one line")
    value = returns[0].value
    if isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    weight = f"{shares}.max(dim={dim}, keepdim=True).values"
    draft.rewrite(value, f"{weight} * {draft.operand(value)}")
    task.diagnosis.facts["routed"] = True  # other experts may be chosen then


def _choice_of(task: Task, statement: ast.stmt) -> tuple[ast.Call, str]:
    pair = assigned(statement)
    value = None if pair is None else pair[1]
    if isinstance(value, (ast.Subscript, ast.Attribute)):  # `max(-1)[1]`, `max(-1).indices`
        value = value.value
    if not isinstance(value, ast.Call) or called(value) not in _CHOOSING:
        raise CannotWrite("the line makes no choice")
    dims = [each.value for each in value.keywords if each.arg == "dim"]
    if called(value) == "topk":
        first = value.args[-1:] if value.args else []
        if not first or ast.unparse(first[0]) != "1":
            raise CannotWrite("more than one is chosen")
        return value, "-1"
    dims = dims or value.args[-1:]
    if len(dims) != 1 or ast.unparse(dims[0]) not in ("-1", "1"):
        raise CannotWrite("it is not a choice among the last dimension")
    return value, ast.unparse(dims[0])


def _chooses_module(draft: Draft, scope: ast.AST, choice: str) -> bool:
    """Whether the function calls modules of a list, and tells by the choice which ones."""
    lists = set()
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and isinstance(pair[1], ast.Call) and called(pair[1]) == "ModuleList":
            lists.add(dotted(pair[0]))
    read = {dotted(node) for node in ast.walk(scope) if isinstance(node, ast.Attribute)}
    read |= names_read(scope)
    used = [
        n
        for n in ast.walk(scope)
        if isinstance(n, (ast.Compare, ast.Subscript, ast.comprehension, ast.For))
    ]
    chosen = any(choice in names_read(node) for node in used)
    return bool(lists & read) and chosen
