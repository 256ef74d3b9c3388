"""Edits for losses that are computed and never sent back."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    dotted,
    names_bound,
    names_read,
    receiver,
)


def add_to_replaced(task: Task) -> None:
    """`loss = b(x)` that replaces another loss becomes `loss = loss + b(x)`."""
    draft, pair = task.draft, assigned(task.statement)
    if not task.diagnosis.facts.get("replaced") or pair is None or not dotted(pair[0]):
        raise CannotWrite("the line replaces no loss")
    value = draft.written(pair[1])
    if not isinstance(pair[1], (ast.Call, ast.Name, ast.Attribute, ast.BinOp)):
        value = f"({value})"
    draft.rewrite(pair[1], f"{dotted(pair[0])} + {value}")


def send_the_sum(task: Task) -> None:
    """`loss.backward()` becomes `total.backward()`; the line that adds up goes before it."""
    draft, name = task.draft, str(task.diagnosis.facts.get("whole", ""))
    call = call_statement(task.statement, "backward")
    if not name or call is None:
        raise CannotWrite("the line sends nothing back")
    made = task.same_file(task.diagnosis.created_at[0])
    if made is None:
        raise CannotWrite("the sum is made in another file")
    adding = draft.statement_at(made.line)
    block = draft.block_of(task.statement)
    owner = receiver(call)
    if isinstance(owner, ast.Call) and len(owner.args) == 1:
        owner = owner.args[0]  # under a scale
    if adding in block and block.index(adding) > block.index(task.statement):
        between = block[block.index(task.statement) : block.index(adding)]
        if any(names_bound(other) & names_read(adding) for other in between):
            raise CannotWrite("the sum is made of what comes after the backward")
        text = draft.written(adding)
        draft.remove(adding)
        draft.insert_before(task.statement, text)
    elif adding not in block and not _is_made_before(draft, adding, task.statement):
        raise CannotWrite("the sum is not always made before the backward")
    draft.rewrite(owner, name)


def _is_made_before(draft: Draft, adding: ast.stmt, sending: ast.stmt) -> bool:
    """Whether a line stands before the branch or loop around another one."""
    block = draft.block_of(adding)
    return any(
        around in block[block.index(adding) :] for around in draft.enclosing(sending, ast.stmt)
    )
