"""Edits of losses that are sent back one by one or twice: one step for all, each in one sum."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.losses import summand, uses_gradients
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)


# ---------------------------------------------------------------------- one step for a loop


def step_after_all(task: Task) -> None:
    """`for loss in losses: zero_grad(); loss.backward(); step()`: one step after all of them.

    The losses are of one forward pass, and a step between them changes what the others need.
    """
    draft, step = task.draft, task.statement
    loop = draft.parents[step]
    if call_statement(step, "step") is None or not isinstance(loop, ast.For) or loop.orelse:
        raise CannotWrite("the step is not a statement of a loop")
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in ast.walk(loop)):
        raise CannotWrite("the loop may be left early")
    calls = [call_statement(statement, "backward") for statement in loop.body]
    sent = [dotted(receiver(call)) for call in calls if call is not None]
    if not sent or not set(sent) <= names_bound(loop.target):
        raise CannotWrite("the loop does not send back what it goes over")
    _must_be_made(draft, loop)
    clears = [s for s in loop.body if call_statement(s, "zero_grad") is not None]
    if any(uses_gradients(s) for s in loop.body if s is not step and s not in clears):
        raise CannotWrite("the gradients are used inside the loop")
    if names_bound(loop) & (names_read(step) | {n for s in clears for n in names_read(s)}):
        raise CannotWrite("the loop has an optimizer for each loss")
    task.fix.text = "make one step, after all of these losses have been sent back"
    outer = draft.indentation(loop)
    for statement in [*clears, step]:
        start, end = draft.whole_lines(statement)
        text = draft.reindented([statement], draft.indentation(statement), outer)
        place = draft.whole_lines(loop)[statement is step]
        if not text.endswith(("\n", "\r")):
            raise CannotWrite("the file does not end with a line")
        draft.replace(start, end, "")
        draft.replace(place, place, text)


def _must_be_made(draft: Draft, loop: ast.For) -> None:
    """Refuse if what a loop goes over is not a collection that stands there before the loop."""
    over = loop.iter
    while isinstance(over, ast.Call):
        if called(over) in ("items", "values") and isinstance(over.func, ast.Attribute):
            over = over.func.value
        elif called(over) in ("enumerate", "zip", "reversed") and over.args:
            over = over.args[-1]
        else:
            raise CannotWrite("the losses are made while the loop runs")
    block = draft.block_of(loop)
    made = [
        pair[1]
        for statement in block[: block.index(loop)]
        if (pair := assigned(statement)) is not None and dotted(pair[0]) == dotted(over) != ""
    ]
    if not isinstance(over, _DISPLAYS) and not (made and isinstance(made[-1], _DISPLAYS)):
        raise CannotWrite("the losses are not known to be made before the loop")


# ----------------------------------------------------------------------- each in one sum only


def leave_out(task: Task) -> None:
    """`a.backward(); (a + b).backward()`: the second call sends back b alone."""
    draft, again = task.draft, task.statement
    spans = [span.place for span in task.diagnosis.spans if span.label == "sent back"]
    if task.diagnosis.cause != "same-loss-twice" or not spans or task.same_file(spans[0]) is None:
        raise CannotWrite("no two calls of this file send back the same")
    first, call = draft.statement_at(spans[0].line), call_statement(again, "backward")
    earlier, block = call_statement(first, "backward"), draft.block_of(again)
    if call is None or earlier is None or first not in block or first is again:
        raise CannotWrite("the two calls are not statements of one block")
    known, whole = receiver(earlier), receiver(call)
    maker = _maker(block[: block.index(again)], whole)
    value = whole if maker is None else maker[1]
    kept = [term for term in _terms(value) if ast.dump(term) != ast.dump(known)]
    if not kept or len(kept) != len(_terms(value)) - 1:
        raise CannotWrite("the loss is not one term of the other sum")
    since = block[min(block.index(first), block.index(maker[0] if maker else first)) + 1 :]
    until = since[: since.index(again)]
    read = names_read(known).union(*map(names_read, kept))
    if any(names_bound(statement) & read for statement in until):
        raise CannotWrite("a loss is replaced between the two calls")
    rest = " + ".join(summand(draft, term) for term in kept)
    alone = len(kept) == 1 and isinstance(kept[0], (ast.Name, ast.Attribute, ast.Call))
    draft.replace(*draft.bounds(whole), rest if alone else f"({rest})")
    if maker is not None and not _is_read_elsewhere(draft, whole):
        draft.remove(maker[0])


def _maker(earlier: list[ast.stmt], whole: ast.expr) -> tuple[ast.stmt, ast.expr] | None:
    """The one line that makes a sum, where the call is given its name."""
    if isinstance(whole, ast.BinOp):
        return None
    found = [
        (statement, pair[1])
        for statement in earlier
        if (pair := assigned(statement)) is not None and dotted(pair[0]) == dotted(whole) != ""
    ]
    if len(found) != 1:
        raise CannotWrite("the sum is not made by one line of the block")
    return found[0]


def _terms(value: ast.expr) -> list[ast.expr]:
    """The terms of a sum, from left to right."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [*_terms(value.left), *_terms(value.right)]
    return [value]


def _is_read_elsewhere(draft: Draft, use: ast.expr) -> bool:
    """Whether a variable is read in a further place; an attribute may be, by anyone."""
    if not isinstance(use, ast.Name):
        return True
    return any(
        isinstance(node, ast.Name)
        and node.id == use.id
        and isinstance(node.ctx, ast.Load)
        and node is not use
        for node in ast.walk(draft.scope_of(use))
    )
