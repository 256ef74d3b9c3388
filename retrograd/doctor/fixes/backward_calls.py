"""Edits of backward and grad calls, and of the order of backward, step and zero_grad."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _only_call(task: Task, *names: str) -> ast.Call:
    calls = task.draft.calls_at(task.line, *names)
    if len(calls) != 1:
        raise CannotWrite("not exactly one such call is in the line")
    return calls[0]


def set_argument(draft: Draft, call: ast.Call, name: str, value: str, most_positional: int) -> None:
    """Give a call a keyword argument, or another value for the one it has."""
    for keyword in call.keywords:
        if keyword.arg is None:
            raise CannotWrite("arguments are handed on with **")
        if keyword.arg == name:
            draft.rewrite(keyword.value, value)
            return
    if len(call.args) > most_positional or any(isinstance(a, ast.Starred) for a in call.args):
        raise CannotWrite("the argument may be given by position")
    parts = _arguments(draft, call)
    if parts:
        draft.replace(parts[-1][1], parts[-1][1], f", {name}={value}")
    else:
        end = draft.end(call) - 1
        draft.replace(end, end, f"{name}={value}")


def _arguments(draft: Draft, call: ast.Call) -> list[tuple[int, int]]:
    """Where the arguments stand, in the order of the text; a parenthesis belongs to its own."""
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    parts = sorted((draft.start(node), draft.end(node)) for node in nodes)
    if not parts:
        return []
    widened = []
    for position, (start, end) in enumerate(parts):
        until = parts[position + 1][0] if position + 1 < len(parts) else draft.end(call) - 1
        rest = draft.text[end:until]
        closing = rest.split(",")[0].split("#")[0].rfind(")") + 1
        widened.append((start, end + closing))
    return widened


def remove_argument(draft: Draft, call: ast.Call, keyword: ast.keyword) -> None:
    """Take a keyword argument away, with its comma."""
    start, end = draft.start(keyword), draft.end(keyword)
    parts = _arguments(draft, call)
    position = next(i for i, part in enumerate(parts) if part[0] == start)
    if position + 1 < len(parts):
        draft.replace(start, parts[position + 1][0], "")
    elif position:
        draft.replace(parts[position - 1][1], end, "")
    else:
        draft.replace(start, parts[0][1], "")


def _add(task: Task, name: str) -> None:
    call = _only_call(task, "backward", "grad")
    if called(call) == "grad" and not isinstance(call.func, (ast.Attribute, ast.Name)):
        raise CannotWrite("it is not a call of autograd.grad")
    allowed = 1 if called(call) == "backward" else 3
    if dotted(call.func).endswith("autograd.backward"):
        allowed = 2
    set_argument(task.draft, call, name, "True", allowed)


def retain_graph(task: Task) -> None:
    """The call keeps its graph."""
    _add(task, "retain_graph")


def create_graph(task: Task) -> None:
    """The call's results get a graph of their own."""
    _add(task, "create_graph")


def drop_retain(task: Task) -> None:
    """The call no longer keeps or makes a graph."""
    call = _only_call(task, "backward", "grad")
    found = [k for k in call.keywords if k.arg in ("retain_graph", "create_graph")]
    if not found:
        raise CannotWrite("the argument is not given by name")
    if any(not (isinstance(k.value, ast.Constant) and k.value.value is True) for k in found):
        raise CannotWrite("the argument is not simply True")
    if len(found) == len(call.keywords) and not call.args:
        draft = task.draft
        parts = _arguments(draft, call)
        draft.replace(parts[0][0], parts[-1][1], "")
        return
    if len(found) > 1:
        raise CannotWrite("both arguments are given beside others")
    remove_argument(task.draft, call, found[0])


def remove_extra_backward(task: Task) -> None:
    """Take one of two backward calls away, or the one in a loop out of it."""
    statement, diagnosis = task.statement, task.diagnosis
    if call_statement(statement, "backward") is None and not _leads_to_a_call(task, statement):
        raise CannotWrite("the backward call is part of a larger statement")
    if diagnosis.freed_at is not None and diagnosis.freed_at == diagnosis.error_line:
        _out_of_loop(task, statement)
        return
    task.draft.remove(statement)


def _leads_to_a_call(task: Task, statement: ast.stmt) -> bool:
    """Whether the statement does nothing but call a function that sends the loss back."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    spans = [span for span in task.diagnosis.spans if span.label in ("freed", "used again")]
    return any(task.fix.place in span.stack for span in spans)


def _out_of_loop(task: Task, statement: ast.stmt) -> None:
    """`for o in optimizers: o.zero_grad(); loss.backward(); o.step()`: once, between two loops."""
    draft = task.draft
    loop = next(draft.enclosing(statement, *_LOOPS), None)
    if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse:
        raise CannotWrite("the call is not a statement of the loop itself")
    if draft.scope_of(statement) is not draft.scope_of(loop):
        raise CannotWrite("the call is in a function of its own")
    if any(isinstance(node, (ast.Break, ast.Continue)) for node in ast.walk(loop)):
        raise CannotWrite("the loop may be left early")
    if names_read(statement) & names_bound(loop):
        raise CannotWrite("the loop sets what is sent back")
    position = loop.body.index(statement)
    before, after = loop.body[:position], loop.body[position + 1 :]
    bound = {name for s in before for name in names_bound(s)}
    if any(bound & names_read(s) for s in after) or not (before or after):
        raise CannotWrite("the rest of the loop needs what comes before the call")
    outer, inner = draft.indentation(loop), draft.indentation(statement)
    head = draft.text[draft.start(loop) : draft.start(loop.body[0])].split("\n")[0].rstrip()
    if not head.endswith(":"):
        raise CannotWrite("the head of the loop is a long one")
    newline = draft.newline(loop)
    call = draft.reindented([statement], inner, outer)
    if not call.endswith(("\n", "\r")):
        call += newline
    start, end = draft.whole_lines(statement)
    again = f"{outer}{head}{newline}" if before and after else ""
    if before:
        draft.replace(start, end, call + again)
    else:
        place, _ = draft.whole_lines(loop)
        draft.replace(start, end, "")
        draft.replace(place, place, call)


def reduce_loss(task: Task) -> None:
    """Send the mean back; of a grad call, differentiate the sum."""
    call = _only_call(task, "backward", "grad")
    if called(call) == "grad":  # of each element: a sum keeps them apart
        if len(call.args) != 2 or isinstance(call.args[0], (ast.List, ast.Tuple, ast.Starred)):
            raise CannotWrite("the call has further arguments")
        task.draft.suffix(call.args[0], ".sum()")
        return
    if call.args or dotted(call.func).endswith("autograd.backward"):
        raise CannotWrite("the call has arguments")
    task.draft.suffix(receiver(call), ".mean()")


def fix_checkpoint_call(task: Task) -> None:
    """The checkpoint that does not go through a graph of its own."""
    call = _only_call(task, "checkpoint", "checkpoint_sequential")
    for keyword in call.keywords:
        if keyword.arg == "use_reentrant":
            task.draft.rewrite(keyword.value, "False")
            return
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        last = max(task.draft.end(node) for node in [*call.args, *(k.value for k in call.keywords)])
        task.draft.replace(last, last, ", use_reentrant=False")
        return
    set_argument(task.draft, call, "use_reentrant", "False", 100)


# ------------------------------------------------------------------------------- one backward


def combine_losses(task: Task) -> None:
    """One backward on the sum, instead of two in a block or one in each pass of a loop."""
    draft, diagnosis = task.draft, task.diagnosis
    freed, failed = task.same_file(diagnosis.freed_at), task.same_file(diagnosis.error_line)
    if freed is None or failed is None:
        raise CannotWrite("the two calls are in different files")
    first, second = draft.statement_at(freed.line), draft.statement_at(failed.line)
    calls = [call_statement(statement, "backward") for statement in (first, second)]
    if calls[0] is None or calls[1] is None:
        raise CannotWrite("a backward call is part of a larger statement")
    for call in calls:
        assert call is not None
        if call.args or any(k.arg not in ("retain_graph",) for k in call.keywords):
            raise CannotWrite("a backward call has arguments")
    if first is second:
        _sum_over_loop(task, first, calls[0])
        return
    block = draft.block_of(second)
    if first not in block or block.index(first) > block.index(second):
        raise CannotWrite("the two calls are not statements of one block")
    between = block[block.index(first) + 1 : block.index(second)]
    loss, other = receiver(calls[0]), receiver(calls[1])
    for statement in between:
        if names_bound(statement) & names_read(loss):
            raise CannotWrite("the first loss is replaced before the second call")
        if _uses_gradients(statement):
            raise CannotWrite("the gradients are used between the two calls")
    draft.remove(first)
    draft.replace(*draft.bounds(other), f"({_summand(draft, loss)} + {_summand(draft, other)})")


def _summand(draft: Draft, node: ast.expr) -> str:
    text = draft.written(node)
    plain = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.Add))
    return text if plain else draft.operand(node)


def _uses_gradients(statement: ast.stmt) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and called(node) in ("step", "zero_grad", "unscale_"):
            return True
        if isinstance(node, ast.Call) and called(node).startswith("clip_grad"):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            return True
    return False


def _sum_over_loop(task: Task, statement: ast.stmt, call: ast.Call) -> None:
    draft = task.draft
    loop = next(draft.enclosing(statement, *_LOOPS), None)
    if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse:
        raise CannotWrite("the call is not a statement of the loop itself")
    if draft.scope_of(statement) is not draft.scope_of(loop):
        raise CannotWrite("the call is in a function of its own")
    if any(_uses_gradients(other) for other in loop.body if other is not statement):
        raise CannotWrite("the gradients are used inside the loop")
    if any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop)):
        raise CannotWrite("the loop may be left early")
    known = names_bound(draft.scope_of(statement)) | names_bound(draft.tree)
    names = ("total_loss", "summed_loss", "loss_sum", "total_of_losses")
    name = next((name for name in names if name not in known), None)
    if name is None:
        raise CannotWrite("there is no free name for the sum")
    draft.insert_before(loop, f"{name} = 0.0")
    draft.rewrite(statement, f"{name} = {name} + {_summand(draft, receiver(call))}")
    draft.insert_after(loop, f"{name}.backward()")


# --------------------------------------------------------------------------- step, zero_grad


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
                        f"{_owner(step)}.step() then also uses what the later backward adds to the "
                        "gradients of its parameters"
                    )
                return
    _move_writing_after(task, backwards)


def _move_writing_after(task: Task, backwards: list[ast.stmt]) -> None:
    """Another statement that changes parameters: a function that restores them, a loop."""
    draft, written = task.draft, task.statement
    for statement in [written, *draft.enclosing(written, ast.stmt)]:
        assert isinstance(statement, ast.stmt)
        if statement is not written and not isinstance(statement, (ast.With, ast.For)):
            break
        if any(isinstance(n, ast.Call) and called(n) == "backward" for n in ast.walk(statement)):
            break
        block = draft.block_of(statement)
        for backward in backwards:
            if backward not in block or block.index(statement) >= block.index(backward):
                continue
            between = block[block.index(statement) + 1 : block.index(backward) + 1]
            bound = names_bound(statement)
            if any(bound & names_read(other) for other in between):
                raise CannotWrite("what the statement sets is used before the backward")
            _move_after(draft, statement, backward)
            return
    raise CannotWrite("what changes the parameters and backward are not of one block")


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
        steps = [s for s in steps if not _is_schedule(s) and draft.scope_of(s) is scope]
    owners = {_owner(step) for step in steps}
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


def _owner(statement: ast.stmt) -> str:
    """The optimizer of a step; `scaler.step(optimizer)` is one of the optimizer."""
    call = call_statement(statement, "step")
    if call is None:
        return ""
    owner = dotted(receiver(call))
    scaled = "scaler" in owner.lower() and len(call.args) == 1
    return dotted(call.args[0]) if scaled else owner


def _is_schedule(statement: ast.stmt) -> bool:
    return "sched" in _owner(statement).lower() or "scaler" in _owner(statement).lower()
