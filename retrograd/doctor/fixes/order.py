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
                if task.diagnosis.facts.get("shared"):
                    _clear_before_all(task.draft, step, backward)
                if not clears:
                    owner = owner_of(task.draft, step)
                    task.fix.cost = task.fix.cost or (
                        f"{owner}.step() then also uses what the later backward adds to the "
                        "gradients of its parameters"
                    )
                return
    _move_writing_after(task, backwards)


def _clear_before_all(draft: Draft, step: ast.stmt, backward: ast.stmt) -> None:
    """Two optimizers share parameters: what clears them between two losses goes before both."""
    block = draft.block_of(step)
    earlier = _sent_in(block[: block.index(step)])
    between = block[block.index(step) : block.index(backward)]
    clearing = [s for s in between if call_statement(s, "zero_grad") is not None]
    if not clearing:
        return
    if not earlier:
        raise CannotWrite("the gradients of the first loss would be cleared")
    place, _ = draft.whole_lines(earlier[-1])
    for statement in clearing:
        start, end = draft.whole_lines(statement)
        draft.replace(start, end, "")
        draft.replace(place, place, draft.text[start:end])


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
    owner = owner_of(draft, step)
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


def clear_after_step(task: Task) -> None:
    """Each pass clears, and only some of them step: what clears goes to behind the step."""
    draft, clearing = task.draft, task.statement
    error = task.same_file(task.diagnosis.error_line)
    if call_statement(clearing, "zero_grad") is None or error is None:
        raise CannotWrite("the line does nothing but clear, for a step of this file")
    step = draft.statement_at(error.line)
    branch = draft.parents.get(step)
    while isinstance(branch, ast.With):  # what stands around a step in a branch
        branch = draft.parents.get(branch)
    block = draft.block_of(clearing)
    if not owner_of(draft, step):
        raise CannotWrite("the line makes no step")
    if not _is_left_before(block, step):
        if not isinstance(branch, ast.If):
            raise CannotWrite("no branch makes the step")
        around = next((s for s in [branch, *draft.enclosing(branch, ast.If)] if s in block), None)
        if around is None or len(block) == 1:
            raise CannotWrite("step and zero_grad are not statements of one loop")
    last = step
    for other in draft.block_of(step)[draft.block_of(step).index(step) + 1 :]:
        if call_statement(other, "step") is None and call_statement(other, "update") is None:
            break
        last = other  # the steps of other optimizers, of a scaler and of a schedule
    text = draft.written(clearing)
    draft.remove(clearing)
    draft.insert_after(last, text)


def clear_behind_other_step(task: Task) -> None:
    """A helper clears in each pass, and its caller steps in some: what clears goes behind that."""
    draft, clearing = task.draft, task.statement
    error = task.same_file(task.diagnosis.error_line)
    if call_statement(clearing, "zero_grad") is None or error is None:
        raise CannotWrite("the line does nothing but clear, for a step of this file")
    step = draft.statement_at(error.line)
    owner = owner_of(draft, step)
    if not owner or draft.scope_of(step) is draft.scope_of(clearing):
        raise CannotWrite("no other function makes the step")
    if not any(draft.enclosing(step, ast.If)):
        raise CannotWrite("no branch makes the step")
    own = call_statement(clearing, "zero_grad")
    assert own is not None
    text, cleared = draft.written(clearing), dotted(receiver(own))
    if cleared.partition(".")[0] != "self" or not owner.startswith("self."):
        text = f"{owner}.zero_grad()"
    draft.remove(clearing)
    draft.insert_after(step, text)


def _is_left_before(block: list[ast.stmt], step: ast.stmt) -> bool:
    """Whether a block has the step behind an `if ...: continue`."""
    earlier = block[: block.index(step)] if step in block else []
    return any(
        isinstance(each, ast.If) and each.body and isinstance(each.body[-1], ast.Continue)
        for each in earlier
    )


def clear_by_hand(task: Task) -> None:
    """`x.grad = None` behind the update that uses `x.grad`, in a program without an optimizer."""
    draft, updating = task.draft, task.statement
    owners = {
        dotted(node.value)
        for node in ast.walk(updating)
        if isinstance(node, ast.Attribute) and node.attr == "grad"
    }
    if task.diagnosis.facts.get("calls") is None or len(owners) != 1 or "" in owners:
        raise CannotWrite("the line updates nothing by its gradient")
    owner = owners.pop()
    for node in ast.walk(draft.scope_of(updating)):
        if isinstance(node, ast.Call) and dotted(node.func) == f"{owner}.grad.zero_":
            raise CannotWrite("it is cleared somewhere")
    last = draft.block_of(updating)[-1]
    if isinstance(last, (ast.Return, ast.Continue, ast.Break, ast.Raise)):
        raise CannotWrite("the block is left at its end")
    draft.insert_after(last, f"{owner}.grad = None")


def step_after_own(task: Task) -> None:
    """The step goes right behind the backward whose gradients it is for."""
    draft, step, own = task.draft, task.statement, task.diagnosis.facts.get("own")
    if not owner_of(draft, step) or own is None:
        raise CannotWrite("it is not known which backward the step is for")
    backward, block = draft.statement_at(int(own)), draft.block_of(step)
    if backward not in block or call_statement(backward, "backward") is None:
        raise CannotWrite("backward and step are not statements of one block")
    if block.index(backward) + 1 >= block.index(step):
        raise CannotWrite("nothing stands between backward and step")
    _move_after(draft, step, backward)


def step_into_loop(task: Task) -> None:
    """A step behind the loop that clears and sends back goes into the loop."""
    draft, clearing = task.draft, task.statement
    error = task.same_file(task.diagnosis.error_line)
    step = None if error is None else draft.statement_at(error.line)
    loop = draft.parents.get(clearing)
    if step is None or not owner_of(draft, step) or not isinstance(loop, ast.For):
        raise CannotWrite("no step follows a loop that clears")
    block, body = draft.block_of(step), loop.body
    if loop not in block or block.index(step) <= block.index(loop):
        raise CannotWrite("the step does not stand behind the loop")
    sent = _sent_in(body)
    if (
        call_statement(clearing, "zero_grad") is None
        or not sent
        or sent[0].lineno < clearing.lineno
    ):
        raise CannotWrite("the loop does not clear and send back")
    text = draft.reindented([step], draft.indentation(step), draft.indentation(sent[-1]))
    _, place = draft.whole_lines(sent[-1])
    start, end = draft.whole_lines(step)
    if place == start:
        draft.replace(start, end, text)
        return
    draft.remove(step)
    draft.replace(place, place, text)


def clear_before_passes(task: Task) -> None:
    """The line that clears goes before the loop whose gradients a step behind it uses."""
    draft, clearing = task.draft, task.statement
    error = task.same_file(task.diagnosis.error_line)
    if call_statement(clearing, "zero_grad") is None or error is None:
        raise CannotWrite("the line does nothing but clear")
    step = draft.statement_at(error.line)
    if draft.scope_of(step) is not draft.scope_of(clearing):
        raise CannotWrite("another function makes the step")
    around = set(draft.enclosing(step, ast.For, ast.While))
    loops = [n for n in draft.enclosing(clearing, ast.For, ast.While) if n not in around]
    if not loops or not isinstance(loop := loops[-1], (ast.For, ast.While)):
        raise CannotWrite("the step is in the loop that clears")
    if loop.lineno > step.lineno or draft.parents[clearing] is not loops[0]:
        raise CannotWrite("the loop does not clear in each pass, before the step")
    if names_read(clearing) & names_bound(loop):
        raise CannotWrite("each pass clears something else")
    text = draft.reindented([clearing], draft.indentation(clearing), draft.indentation(loop))
    draft.remove(clearing)
    place, _ = draft.whole_lines(loop)
    draft.replace(place, place, text)


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
        steps = [s for s in steps if not is_schedule(draft, s) and draft.scope_of(s) is scope]
    owners = {owner_of(draft, step) for step in steps}
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
    if task.diagnosis.cause == "same-loss-twice":
        earlier = [statement]  # the calls before it gave gradients to look at
    for candidate in earlier:
        if call_statement(candidate, "backward") is not None:
            draft.insert_before(candidate, f"{owner}.zero_grad()")
            return
    draft.insert_after(step, f"{owner}.zero_grad()")


def owner_of(draft: Draft, statement: ast.stmt) -> str:
    """The optimizer of a step; `scaler.step(optimizer)` is one of the optimizer."""
    call = call_statement(statement, "step")
    if call is None:
        return ""
    owner = dotted(receiver(call))
    if len(call.args) == 1 and (_is_made_by(draft, owner, "Scaler") or "scaler" in owner.lower()):
        return dotted(call.args[0])
    return owner


def is_schedule(draft: Draft, statement: ast.stmt) -> bool:
    owner = owner_of(draft, statement)
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
