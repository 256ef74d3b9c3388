"""Edits of an optimizer that took only what required grad when it was built."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, assigned, called, dotted


def hold_frozen_too(task: Task) -> None:
    """`filter(lambda p: p.requires_grad, model.parameters())` becomes `model.parameters()`.

    A step passes over what is frozen: it has no gradient.
    """
    draft = task.draft
    built = task.same_file(task.diagnosis.error_line)
    if not task.diagnosis.facts.get("unfrozen") or built is None:
        raise CannotWrite("nothing was unfrozen later")
    statement = draft.statement_at(built.line)
    found = list(_filtered(draft, statement))
    if not found:
        pair = assigned(statement)
        call = None if pair is None else pair[1]
        given = dotted(call.args[0]) if isinstance(call, ast.Call) and call.args else ""
        for other in ast.walk(draft.scope_of(statement)):
            made = assigned(other) if isinstance(other, ast.stmt) else None
            if made is not None and given and dotted(made[0]) == given:
                found += _filtered(draft, other)
    if not found:
        raise CannotWrite("the line shows no choice by requires_grad")
    for node, text in found:
        draft.rewrite(node, text)


def _filtered(draft: Draft, statement: ast.AST) -> list[tuple[ast.expr, str]]:
    """The expressions that choose by `requires_grad`, each without its condition."""
    found: list[tuple[ast.expr, str]] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and called(node) == "filter" and len(node.args) == 2:
            if _asks(node.args[0]):
                found.append((node, draft.written(node.args[1])))
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            over = node.generators[0]
            if len(over.ifs) == 1 and _asks(over.ifs[0]):
                found.append((node, _without_condition(draft, node)))
    return found


def _without_condition(draft: Draft, node: ast.ListComp | ast.GeneratorExp) -> str:
    over = node.generators[0]
    given, element = draft.written(over.iter), ast.unparse(node.elt)
    text = f"[{element} for {ast.unparse(over.target)} in {given}]"
    if isinstance(node.elt, ast.Name) and element == ast.unparse(over.target):
        text = f"list({given})" if isinstance(node, ast.ListComp) else given
    around = draft.parents.get(node)
    # the parentheses of a call may be those of its only argument, too
    shared = isinstance(around, ast.Call) and draft.end(around) == draft.end(node)
    return f"({text})" if shared else text


def _asks(node: ast.expr) -> bool:
    inner = node.body if isinstance(node, ast.Lambda) else node
    return isinstance(inner, ast.Attribute) and inner.attr == "requires_grad"
