"""An edit of gradients that are asked for a model of which only a copy was used."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, called


def ask_for_the_copy(task: Task) -> None:
    """`grad(loss, meta_params)` becomes `grad(loss, list(learner.parameters()))`."""
    draft, name = task.draft, task.diagnosis.facts.get("copied")
    calls = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call) and called(node) == "grad"
    ]
    if not isinstance(name, str) or len(calls) != 1:
        raise CannotWrite("the line asks for no gradient of a copy's output")
    call = calls[0]
    asked = [keyword.value for keyword in call.keywords if keyword.arg == "inputs"]
    asked = asked or call.args[1:2]
    if len(asked) != 1 or isinstance(asked[0], ast.Starred):
        raise CannotWrite("it is not plain to see what the gradient is asked for")
    draft.rewrite(asked[0], f"list({name}.parameters())")
