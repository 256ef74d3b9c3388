"""Edits of functions that the program hands to autograd: custom Functions, hooks, `func.grad`."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, call_statement, dotted, receiver


def return_gradients(task: Task) -> None:
    """None for the arguments that are left out: those without a gradient, or the last ones."""
    draft, statement, facts = task.draft, task.statement, task.diagnosis.facts
    if not isinstance(statement, ast.Return) or statement.value is None or "want" not in facts:
        raise CannotWrite("the line returns no gradients")
    value, want, needs = statement.value, facts["want"], facts["needs"]
    given = value.elts if isinstance(value, ast.Tuple) else [value]
    if len(given) != facts["got"] or any(isinstance(each, ast.Starred) for each in given):
        raise CannotWrite("the gradients are not listed in the line")
    if len(given) > want:
        raise CannotWrite("it is not known which gradient is one too many")
    if len(needs) != want:
        raise CannotWrite("it is not known which arguments need a gradient")
    texts = [draft.written(each) for each in given]
    if not any(needs[len(given) :]):
        texts += ["None"] * (want - len(given))
    elif sum(needs) == len(given):
        texts = [texts.pop(0) if each else "None" for each in needs]
    else:
        raise CannotWrite("it is not known for which arguments the gradients are")
    start, end = draft.start(value), draft.end(value)
    braces = isinstance(value, ast.Tuple) and draft.text[start] == "("
    joined = ", ".join(texts)
    draft.replace(start, end, f"({joined})" if braces else joined)


def drop_once_differentiable(task: Task) -> None:
    """The line of the decorator goes."""
    if not task.diagnosis.facts.get("fit"):
        raise CannotWrite("backward reads what has no history")
    draft = task.draft
    line = draft.lines[task.line - 1]
    if not line.strip().startswith("@"):
        raise CannotWrite("the line holds more than the decorator")
    start = draft.starts[task.line - 1]
    draft.replace(start, start + len(line), "")


def reduce_result(task: Task) -> None:
    """`return losses` becomes `return losses.mean()` in the function that `grad` is given."""
    draft, statement = task.draft, task.statement
    if not isinstance(statement, ast.Return) or statement.value is None:
        raise CannotWrite("the line returns nothing")
    if isinstance(statement.value, ast.Tuple):
        raise CannotWrite("the function returns several values")
    draft.suffix(statement.value, ".mean()")


def require_before_hook(task: Task) -> None:
    """`maps.requires_grad_()` before the line that puts a hook on `maps`."""
    draft, statement = task.draft, task.statement
    calls = [n for n in draft.walk(statement) if isinstance(n, ast.Call)]
    hooked = [n for n in calls if isinstance(n.func, ast.Attribute) and _is_hook(n.func.attr)]
    if len(hooked) != 1 or call_statement(statement, "requires_grad_") is not None:
        raise CannotWrite("the line puts no hook on a tensor")
    name = dotted(receiver(hooked[0]))
    if not name:
        raise CannotWrite("the tensor has no name")
    draft.insert_before(statement, f"{name}.requires_grad_()")


def _is_hook(name: str) -> bool:
    return name in ("register_hook", "retain_grad")
