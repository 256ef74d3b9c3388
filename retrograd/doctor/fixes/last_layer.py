"""Edits of programs that freeze all of a model: its last layer is left trainable."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, called, dotted, names_bound

_GOING_THROUGH = (
    *("parameters", "named_parameters", "modules", "named_modules"),
    *("children", "named_children", "requires_grad_"),
)


def name_the_last(task: Task) -> None:
    """`if not name.startswith("fc")`, where nothing has this name: the name of the last layer."""
    draft, statement, facts = task.draft, task.statement, task.diagnosis.facts
    names, last = facts.get("names"), facts.get("last")
    if not isinstance(names, list) or not isinstance(last, str):
        raise CannotWrite("it is not known which layer is the last")
    test: ast.AST = statement
    branch = draft.parents.get(statement)
    if isinstance(branch, ast.If):
        test = branch.test
    unknown = [
        node
        for node in draft.walk(test)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value
        and not any(node.value in name for name in names)
    ]
    if not unknown:
        raise CannotWrite("no name in the condition is unknown to the model")
    for node in unknown:
        draft.rewrite(node, f'"{_with_end_of(str(node.value), last)}"')


def _with_end_of(wanted: str, last: str) -> str:
    """`head.weight` for `fc.weight`."""
    if "." not in wanted.rstrip("."):
        return last + "." * wanted.endswith(".")
    end = wanted.rpartition(".")[2]
    return f"{last}.{end}" if end in ("weight", "bias") else last


def unfreeze_the_last(task: Task) -> None:
    """`model.head.requires_grad_(True)` behind what froze all, or before the optimizer is built."""
    draft, statement = task.draft, task.statement
    path = task.diagnosis.facts.get("path")
    if not isinstance(path, str):
        raise CannotWrite("it is not known which layer is the last")
    loops = list(draft.enclosing(statement, ast.For))
    own = _model_in(statement)
    if own and own not in {name for each in loops for name in names_bound(each)}:
        line = f"{own}{path}.requires_grad_(True)"
        if any(
            isinstance(n, ast.Call) and called(n) == "requires_grad_" for n in _calls(statement)
        ):
            draft.insert_after(statement, line)
        else:
            draft.insert_before(statement, line)
        return
    for loop in loops:
        assert isinstance(loop, ast.For)
        model = _model_in(loop.iter)
        if model:
            draft.insert_after(loop, f"{model}{path}.requires_grad_(True)")
            return
    raise CannotWrite("the line goes through no model")


def _calls(node: ast.AST) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _model_in(node: ast.AST) -> str:
    """`model` of `model.named_parameters()`."""
    if hasattr(node, "body"):
        return ""
    for call in _calls(node):
        if isinstance(call.func, ast.Attribute) and called(call) in _GOING_THROUGH:
            owner = call.func.value
            if called(call) == "requires_grad_" and not _is_model(node, call):
                continue
            if dotted(owner):
                return dotted(owner)
    return ""


def _is_model(statement: ast.AST, call: ast.Call) -> bool:
    """Whether `x.requires_grad_(False)` stands by itself, of a module: no loop gives `x`."""
    return isinstance(statement, ast.Expr) and statement.value is call
