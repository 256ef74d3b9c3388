"""Edits of modules that work in place, and of weights that a lookup writes into."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.backward_calls import remove_argument
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, called

ACTIVATIONS = frozenset("ReLU ReLU6 SiLU Mish SELU CELU Hardswish Hardsigmoid".split())
"""Modules whose only argument by position is `inplace`."""


def own_result(task: Task) -> None:
    """`nn.ReLU(inplace=True)` of the line becomes `nn.ReLU()`."""
    found = _in_place(task.draft, task.statement)
    if not found:
        raise CannotWrite("the line makes no module that works in place")
    for call in found:
        _out_of_place(task.draft, call)


def own_results_everywhere(task: Task) -> None:
    """The same for all modules of the file, where the line makes one of them."""
    if not _in_place(task.draft, task.statement):
        raise CannotWrite("the line makes no module that works in place")
    for call in _in_place(task.draft, task.draft.tree):
        _out_of_place(task.draft, call)


def _in_place(draft: Draft, root: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in draft.walk(root)
        if isinstance(node, ast.Call) and called(node)[:1].isupper() and _asks(node)
    ]


def _asks(call: ast.Call) -> bool:
    if any(k.arg == "inplace" and _is_true(k.value) for k in call.keywords):
        return True
    return called(call) in ACTIVATIONS and len(call.args) == 1 and _is_true(call.args[0])


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _out_of_place(draft: Draft, call: ast.Call) -> None:
    for keyword in call.keywords:
        if keyword.arg == "inplace":
            remove_argument(draft, call, keyword)
            return
    draft.rewrite(call.args[0], "False")


def copy_of_table(task: Task) -> None:
    """`self.items.weight` of the line becomes `self.items.weight.clone()`."""
    draft, name = task.draft, task.diagnosis.facts.get("table")
    found = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
    ]
    if not name or len(found) != 1:
        raise CannotWrite("the line does not read the table once")
    draft.suffix(found[0], ".clone()")
