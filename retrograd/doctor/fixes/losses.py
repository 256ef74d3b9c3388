"""Edits of losses that share a graph: one backward for them, or one that keeps it for the rest."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.backward_calls import only_call, set_argument
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
from retrograd.doctor.fixes.unnoticed import send_after_loop
from retrograd.watching import source

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def remove_extra_backward(task: Task) -> None:
    """Take one of two backward calls away, or the one in a loop out of it."""
    statement, diagnosis = task.statement, task.diagnosis
    if call_statement(statement, "backward") is None and not _leads_to_a_call(task, statement):
        raise CannotWrite("the backward call is part of a larger statement")
    if diagnosis.facts.get("in_loop"):
        send_after_loop(task)
        return
    if diagnosis.freed_at is not None and diagnosis.freed_at == diagnosis.error_line:
        _out_of_loop(task, statement)
        return
    if task.fix.place == diagnosis.error_line and _may_be_left_out(task):
        raise CannotWrite("the other call is not made in every pass")
    task.draft.remove(statement)


def _may_be_left_out(task: Task) -> bool:
    """Whether the call that would stay is left out by passes that make this one.

    An `if` is around it, or `if step % 10: return` stands before it in its function.
    """
    kept = task.diagnosis.freed_at
    if kept is None:
        return False
    around: ast.AST | None
    if task.same_file(kept) is None:
        around, together = source.function_around(kept.file, kept.line), False
    else:
        around = task.draft.scope_of(task.draft.statement_at(kept.line))
        together = task.draft.scope_of(task.statement) is around
    for node in ast.walk(around or ast.Module([], [])):
        if not isinstance(node, ast.If) or _sends_in_both(node):
            continue
        branch = range(node.lineno, (node.end_lineno or 0) + 1)
        if kept.line in branch and not (together and task.line in branch):
            return True
        leaves = any(isinstance(inner, ast.Return) for inner in ast.walk(node))
        if leaves and node.lineno < kept.line and not together:
            return True
    return False


def _sends_in_both(branch: ast.If) -> bool:
    """Whether something is sent back, whatever the test says: by a scaler, or without one."""
    arms = [[n for s in arm for n in ast.walk(s)] for arm in (branch.body, branch.orelse)]
    return all(any(isinstance(n, ast.Call) and called(n) == "backward" for n in a) for a in arms)


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
        if uses_gradients(statement):
            raise CannotWrite("the gradients are used between the two calls")
    draft.remove(first)
    draft.replace(*draft.bounds(other), f"({summand(draft, loss)} + {summand(draft, other)})")


def summand(draft: Draft, node: ast.expr) -> str:
    """An expression as a part of a sum."""
    text = draft.written(node)
    plain = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.Add))
    return text if plain else draft.operand(node)


def uses_gradients(statement: ast.stmt) -> bool:
    """Whether a statement steps, clears, clips or reads gradients."""
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
    if any(uses_gradients(other) for other in loop.body if other is not statement):
        raise CannotWrite("the gradients are used inside the loop")
    if any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop)):
        raise CannotWrite("the loop may be left early")
    known = names_bound(draft.scope_of(statement)) | names_bound(draft.tree)
    names = ("total_loss", "summed_loss", "loss_sum", "total_of_losses")
    name = next((name for name in names if name not in known), None)
    if name is None:
        raise CannotWrite("there is no free name for the sum")
    draft.insert_before(loop, f"{name} = 0.0")
    draft.rewrite(statement, f"{name} = {name} + {summand(draft, receiver(call))}")
    draft.insert_after(loop, f"{name}.backward()")


# ------------------------------------------------------------------- all losses but the last


def retain_until_the_last(task: Task) -> None:
    """A loop sends its losses back one by one: all but the last keep the graph for the next."""
    diagnosis = task.diagnosis
    if diagnosis.freed_at is None or diagnosis.freed_at != diagnosis.error_line:
        raise CannotWrite("two lines send something back")
    _keep_until_the_last(task)


def drop_retain_of_the_last(task: Task) -> None:
    """`retain_graph=True` in a loop, where only the last call has no need of it."""
    if not task.diagnosis.facts.get("all_but_last"):
        raise CannotWrite("no call has need of it")
    _keep_until_the_last(task)


def _keep_until_the_last(task: Task) -> None:
    draft, call = task.draft, only_call(task, "backward")
    loop = next(draft.enclosing(call, *_LOOPS), None)
    if loop is None or draft.scope_of(loop) is not draft.scope_of(call):
        raise CannotWrite("no loop is around the call")
    if any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop)):
        raise CannotWrite("the loop may be left early")
    if isinstance(loop, ast.While):
        condition = _until_empty(draft, loop, call)
    elif isinstance(loop, ast.For):
        condition = _until_last_item(draft, loop)
    else:
        raise CannotWrite("the number of passes is not known")
    set_argument(draft, call, "retain_graph", condition, 1)


def _until_empty(draft: Draft, loop: ast.While, call: ast.Call) -> str:
    """`while losses: loss = losses.pop(); loss.backward(retain_graph=bool(losses))`."""
    name = dotted(loop.test)
    taken = [
        node.lineno
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and called(node) in ("pop", "popleft")
        and isinstance(node.func, ast.Attribute)
        and dotted(node.func.value) == name
    ]
    if not name or len(taken) != 1 or taken[0] >= call.lineno:
        raise CannotWrite("the number of passes is not known")
    return f"bool({name})"


def _until_last_item(draft: Draft, loop: ast.For) -> str:
    target, over = loop.target, loop.iter
    if isinstance(over, ast.Call) and called(over) == "enumerate" and len(over.args) == 1:
        if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            return f"{target.elts[0].id} < {_length(draft, over.args[0])} - 1"
    if isinstance(over, ast.Call) and called(over) == "range" and isinstance(target, ast.Name):
        if len(over.args) == 1 and isinstance(over.args[0], (ast.Name, ast.Call, ast.Constant)):
            return f"{target.id} < {draft.written(over.args[0])} - 1"
        raise CannotWrite("the range has a start or a step")
    if isinstance(target, ast.Name):
        if isinstance(over, (ast.List, ast.Tuple)) and over.elts:
            last = over.elts[-1]
            if isinstance(last, ast.Name):
                return f"{target.id} is not {last.id}"
        elif _is_list(draft, over):
            return f"{target.id} is not {draft.written(over)}[-1]"
    length, name = _length(draft, over), "index"
    if name in names_bound(draft.scope_of(loop)) | names_bound(draft.tree):
        raise CannotWrite("there is no free name for the number of the pass")
    own = draft.written(target)
    if isinstance(target, ast.Tuple) and not own.startswith("("):
        own = f"({own})"
    draft.rewrite(target, f"{name}, {own}")
    draft.rewrite(over, f"enumerate({draft.written(over)})")
    return f"{name} < {length} - 1"


def _is_list(draft: Draft, over: ast.expr) -> bool:
    """Whether an expression is a variable that the file binds to lists only."""
    name, found = dotted(over), []
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and name and dotted(pair[0]) == name:
            value = pair[1]
            is_list = isinstance(value, (ast.List, ast.Tuple, ast.ListComp))
            found.append(is_list or (isinstance(value, ast.Call) and called(value) == "list"))
    return bool(found) and all(found)


def _length(draft: Draft, over: ast.expr) -> str:
    """How many passes a loop over something makes."""
    if isinstance(over, ast.Call) and called(over) == "zip" and over.args:
        return _length(draft, over.args[0])
    if isinstance(over, ast.Call) and called(over) in ("items", "values", "keys"):
        if isinstance(over.func, ast.Attribute) and dotted(over.func.value) and not over.args:
            return f"len({dotted(over.func.value)})"
    if dotted(over):
        return f"len({dotted(over)})"
    raise CannotWrite("the number of passes is not known")


def send_in_loop(task: Task) -> None:
    """`loss = f(x)` in a loop is added up: `loss = loss + f(x)`, from zero before the loop."""
    draft, statement = task.draft, task.statement
    name, pair = task.diagnosis.facts.get("dropped"), assigned(statement)
    loop = draft.parents.get(statement)
    if not name or pair is None or dotted(pair[0]) != name or not isinstance(loop, ast.For):
        raise CannotWrite("the line drops no loss")
    value = pair[1]
    tight = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.BinOp))
    text = draft.written(value) if tight else f"({draft.written(value)})"
    draft.rewrite(value, f"{name} + {text}")
    draft.insert_before(loop, f"{name} = 0.0")
