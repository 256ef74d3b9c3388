"""Edits of a list that a hook, or a forward pass, fills for the loss of the same iteration."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.carried import must_be_known
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    receiver,
)


def keep_the_last(task: Task) -> None:
    """`self.outputs.append(output)` becomes `self.outputs[:] = [output]`: nobody reads others."""
    draft, call = task.draft, call_statement(task.statement, "append")
    if not task.diagnosis.facts.get("reads_last") or call is None or len(call.args) != 1:
        raise CannotWrite("more than the newest item is read")
    if _is_deque(draft, dotted(receiver(call)).rpartition(".")[2]):
        raise CannotWrite("a deque has no slices")
    owner, value = draft.written(receiver(call)), draft.written(call.args[0])
    draft.rewrite(task.statement, f"{owner}[:] = [{value}]")


def _is_deque(draft: Draft, name: str) -> bool:
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and isinstance(pair[1], ast.Call) and called(pair[1]) == "deque":
            if name and dotted(pair[0]).rpartition(".")[2] == name:
                return True
    return False


def empty_after_step(task: Task) -> None:
    """`store["maps"].clear()` behind the step that has used what is in it."""
    draft, path = task.draft, str(task.diagnosis.facts.get("list", ""))
    sent = task.same_file(task.diagnosis.spans[0].place) if task.diagnosis.spans else None
    lines = [task.diagnosis.facts.get("sent")]
    if not path or sent is None or not isinstance(lines[0], int):
        raise CannotWrite("it is not known what is filled")
    backward = draft.statement_at(lines[0])
    block = draft.block_of(backward)
    for statement in block[block.index(backward) :]:
        if call_statement(statement, "step") is not None:
            if path.split("[")[0].split(".")[0].isidentifier():
                must_be_known(draft, statement, path.split("[")[0])
            draft.insert_after(statement, f"{path}.clear()")
            return
    raise CannotWrite("no step follows the backward")
