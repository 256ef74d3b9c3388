"""Edits of a backward that is for the gradient of an input, and not for those of parameters."""

from __future__ import annotations

from retrograd.doctor.fixes.backward_calls import set_argument
from retrograd.doctor.fixes.carried import must_be_known
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, call_statement


def for_input_alone(task: Task) -> None:
    """`score.backward()` becomes `score.backward(inputs=[image])`: nothing else gets a gradient."""
    draft, name = task.draft, str(task.diagnosis.facts.get("input", ""))
    call = call_statement(task.statement, "backward")
    if not name or call is None:
        raise CannotWrite("it is not known which input the call is for")
    if any(keyword.arg == "inputs" for keyword in call.keywords):
        raise CannotWrite("the call names its inputs")
    must_be_known(draft, task.statement, name)
    set_argument(draft, call, "inputs", f"[{name}]", 3)
