"""Edits of the order of backward, step and zero_grad."""

from __future__ import annotations

import ast

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


def _places(task: Task) -> list[int]:
    """The lines of the file that the diagnosis names."""
    diagnosis = task.diagnosis
    places = [task.fix.place, diagnosis.error_line, diagnosis.freed_at, *diagnosis.created_at]
    places += [span.place for span in diagnosis.spans]
    found = [place.line for place in places if task.same_file(place) is not None and place]
    return list(dict.fromkeys(found))


def _named(task: Task, method: str) -> list[ast.stmt]:
    """The statements that call a method, in lines that the diagnosis names."""
    found: list[ast.stmt] = []
    for line in _places(task):
        try:
            statement = task.draft.statement_at(line)
        except CannotWrite:
            continue
        if call_statement(statement, method) is not None and statement not in found:
            found.append(statement)
    return found


def reorder_step(task: Task) -> None:
    """Move the step behind the backward that needs the old values, or zero_grad before it."""
    clears = task.diagnosis.cause == "zero-grad-misuse"
    if clears and call_statement(task.statement, "step") is None:
        _zero_before_backward(task)
        return
    steps, backwards = _named(task, "step"), _named(task, "backward")
    for step in steps:
        block = task.draft.block_of(step)
        for backward in backwards:
            if backward in block and block.index(step) < block.index(backward):
                _move_after(task.draft, step, backward)
                if not clears:
                    task.fix.cost = task.fix.cost or (
                        f"{_owner(task.draft, step)}.step() then also uses what the later backward "
                        "adds to the gradients of its parameters"
                    )
                return
    _move_writing_after(task, backwards)


def _move_writing_after(task: Task, backwards: list[ast.stmt]) -> None:
    """Another statement that changes parameters: a function that restores them, a loop."""
    draft, written = task.draft, task.statement
    silent = task.diagnosis.cause == "inplace-after-save"  # nothing failed that could be named
    for statement in [written, *draft.enclosing(written, ast.stmt)]:
        assert isinstance(statement, ast.stmt)
        if statement is not written and not isinstance(statement, (ast.With, ast.For)):
            break
        if any(isinstance(n, ast.Call) and called(n) == "backward" for n in ast.walk(statement)):
            break
        block = draft.block_of(statement)
        for backward in _sent_in(block) if silent else backwards:
            if backward not in block or block.index(statement) >= block.index(backward):
                continue
            between = block[block.index(statement) + 1 : block.index(backward) + 1]
            bound = names_bound(statement)
            if any(bound & names_read(other) for other in between):
                raise CannotWrite("what the statement sets is used before the backward")
            if not silent:
                _move_after(draft, statement, backward)
                return
            steps = [s for s in block[block.index(backward) :] if call_statement(s, "step")]
            if not steps:
                raise CannotWrite("no step follows the backward")
            _move_after(draft, statement, steps[0])
            return
    raise CannotWrite("what changes the parameters and backward are not of one block")


def _sent_in(block: list[ast.stmt]) -> list[ast.stmt]:
    return [statement for statement in block if call_statement(statement, "backward") is not None]


def _move_after(draft: Draft, statement: ast.stmt, other: ast.stmt) -> None:
    start, end = draft.whole_lines(statement)
    _, place = draft.whole_lines(other)
    text = draft.text[start:end]
    if not draft.text[:place].endswith(("\n", "\r")):
        raise CannotWrite("the file does not end with a line")
    draft.replace(start, end, "")
    draft.replace(place, place, text)


def _zero_before_backward(task: Task) -> None:
    draft = task.draft
    zeros = _named(task, "zero_grad")
    for zero in zeros:
        block = draft.block_of(zero)
        earlier = block[: block.index(zero)]
        for statement in earlier:
            if call_statement(statement, "backward") is not None:
                start, end = draft.whole_lines(zero)
                place, _ = draft.whole_lines(statement)
                draft.replace(start, end, "")
                draft.replace(place, place, draft.text[start:end])
                return
    raise CannotWrite("zero_grad and backward are not statements of one block")


def clear_where_sent(task: Task) -> None:
    """A function called between backward and step clears: the line goes to before the backward."""
    draft, clearing = task.draft, task.statement
    error = task.same_file(task.diagnosis.error_line)
    if call_statement(clearing, "zero_grad") is None or error is None:
        raise CannotWrite("the line does nothing but clear, for a step of this file")
    step = draft.statement_at(error.line)
    owner = _owner(draft, step)
    if not owner or draft.scope_of(step) is draft.scope_of(clearing):
        raise CannotWrite("no other function makes the step")
    block = draft.block_of(step)
    earlier = block[: block.index(step)]
    for before in earlier[::-1]:
        if call_statement(before, "step") is not None:
            earlier = earlier[earlier.index(before) + 1 :]
            break
    sent = _sent_in(earlier)
    if not sent:
        raise CannotWrite("backward and step are not statements of one block")
    draft.remove(clearing)
    draft.insert_before(sent[0], f"{owner}.zero_grad()")


def zero_grad(task: Task) -> None:
    """Clear the gradients before the first backward that goes into a step."""
    draft, statement = task.draft, task.statement
    scope = draft.scope_of(statement)
    steps = [s for s in _named(task, "step") if draft.scope_of(s) is scope]
    if not steps:
        steps = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.stmt) and call_statement(node, "step") is not None
        ]
        steps = [s for s in steps if not _is_schedule(draft, s) and draft.scope_of(s) is scope]
    owners = {_owner(draft, step) for step in steps}
    if len(owners) != 1 or "" in owners:
        raise CannotWrite("it is not known which optimizer is meant")
    owner = owners.pop()
    step = next((s for s in steps if s is statement), steps[0])
    block = draft.block_of(step)
    earlier = block[: block.index(step)]
    if call_statement(statement, "backward") is not None:
        block = draft.block_of(statement)
        earlier = block[: block.index(statement) + 1]
    for before in earlier[::-1]:
        if call_statement(before, "step") is not None:  # what comes after it is for this one
            earlier = earlier[earlier.index(before) + 1 :]
            break
    for candidate in earlier:
        if call_statement(candidate, "backward") is not None:
            draft.insert_before(candidate, f"{owner}.zero_grad()")
            return
    draft.insert_after(step, f"{owner}.zero_grad()")


def _owner(draft: Draft, statement: ast.stmt) -> str:
    """The optimizer of a step; `scaler.step(optimizer)` is one of the optimizer."""
    call = call_statement(statement, "step")
    if call is None:
        return ""
    owner = dotted(receiver(call))
    if len(call.args) == 1 and (_is_made_by(draft, owner, "Scaler") or "scaler" in owner.lower()):
        return dotted(call.args[0])
    return owner


def _is_schedule(draft: Draft, statement: ast.stmt) -> bool:
    owner = _owner(draft, statement)
    return "sched" in owner.lower() or _is_made_by(draft, owner, "LR")


def _is_made_by(draft: Draft, name: str, words: str) -> bool:
    """Whether the file binds a variable to what a class with these words in its name makes."""
    own = name.rpartition(".")[2]
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and own and dotted(pair[0]).rpartition(".")[2] == own:
            if isinstance(pair[1], ast.Call) and words in called(pair[1]):
                return True
    return False
