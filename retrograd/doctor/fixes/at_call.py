"""Edits in the line that calls a function, where the line of the fix lies inside of it.

A helper may be right for all its callers but one; and two calls of one helper can only be made one
where they are called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.fixes.losses import summand, uses_gradients
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    Function,
    assigned,
    called,
    dotted,
    names_bound,
    names_read,
)
from retrograd.doctor.model import Diagnosis
from retrograd.watching import source


def callers(fix: Fix, diagnosis: Diagnosis) -> Iterator[tuple[Place, Place]]:
    """The line of a fix and those that led to it, innermost first, each with what it led to."""
    for stack in [*diagnosis.ways, *(span.stack for span in diagnosis.spans)]:
        for position, place in enumerate(stack):
            if (place.file, place.line) == (fix.place.file, fix.place.line):
                yield from reversed(list(pairwise(stack[: position + 2])))
                return


# ------------------------------------------------------------------------------- arguments


def on_argument(suffix: str) -> Callable[[Task], None]:
    """A writer that hangs a method call on the argument that the called line is about."""

    def write(task: Task) -> None:
        draft, statement = task.draft, task.statement
        argument = _argument(task, statement)
        if suffix == ".clone()" and isinstance(statement, ast.Expr):
            if not isinstance(argument, ast.Name):
                raise CannotWrite("what is handed over has no name")
            # nobody takes the result: the caller goes on with what the function has changed
            draft.insert_before(statement, f"{argument.id} = {argument.id}.clone()")
            return
        draft.suffix(argument, suffix)

    return write


def _argument(task: Task, statement: ast.stmt) -> ast.expr:
    inner = task.inner
    if inner is None:
        raise CannotWrite("it is not known what the line calls")
    function = source.function_around(inner.file, inner.line)
    reading = source.statement_at(inner.file, inner.line)
    if function is None or reading is None:
        raise CannotWrite("the line calls no function of the program")
    given = _arguments(_call_of(task.draft, statement, function), function)
    own = [value for name, value in given.items() if name == task.variable]
    named = own or [value for value in given.values() if task.stands_for_value(value)]
    read = names_read(reading)
    found = named or [value for name, value in given.items() if name in read]
    if len(found) != 1 or not isinstance(
        found[0], (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
    ):
        raise CannotWrite("it is not known which argument is meant")
    return found[0]


def _call_of(draft: Draft, statement: ast.stmt, function: Function) -> ast.Call:
    """The one call of a function in a statement; a module's `forward` is called by its name."""
    calls = [node for node in draft.walk(statement) if isinstance(node, ast.Call)]
    found = [call for call in calls if called(call) == function.name]
    if not found and function.name in ("forward", "__call__"):
        wanted = len(_parameters(function))
        found = [c for c in calls if dotted(c.func) and len(c.args) + len(c.keywords) == wanted]
    if len(found) != 1 or hasattr(statement, "body"):
        raise CannotWrite("not exactly one call of the function is in the line")
    return found[0]


def _parameters(function: Function) -> list[str]:
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _arguments(call: ast.Call, function: Function) -> dict[str, ast.expr]:
    """What a call gives to the parameters of a function, as far as it says so itself."""
    found: dict[str, ast.expr] = {}
    for name, value in zip(_parameters(function), call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        found[name] = value
    found.update((k.arg, k.value) for k in call.keywords if k.arg is not None)
    return found


# ----------------------------------------------------------------------------- two calls as one


def combine_losses(task: Task) -> None:
    """`send(a); send(b)`, where both end in one backward: `send(a + b)`."""
    draft = task.draft
    first, second = parting(task)
    one, two = _helper_call(first), _helper_call(second)
    if one is None or two is None or ast.dump(one.func) != ast.dump(two.func):
        raise CannotWrite("the two calls are not of one function")
    block = draft.block_of(second)
    if first not in block or block.index(first) >= block.index(second):
        raise CannotWrite("the two calls are not statements of one block")
    if len(one.args) != len(two.args) or one.keywords or two.keywords:
        raise CannotWrite("the two calls have other arguments")
    differing = [
        (a, b) for a, b in zip(one.args, two.args, strict=True) if ast.dump(a) != ast.dump(b)
    ]
    if len(differing) != 1:
        raise CannotWrite("the two calls differ in more than the loss")
    loss, other = differing[0]
    for statement in block[block.index(first) + 1 : block.index(second)]:
        if names_bound(statement) & names_read(loss) or uses_gradients(statement):
            raise CannotWrite("something is done with the first loss or its gradients in between")
    draft.remove(first)
    draft.rewrite(other, f"{summand(draft, loss)} + {summand(draft, other)}")


def _helper_call(statement: ast.stmt) -> ast.Call | None:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return call if isinstance(call, ast.Call) and called(call) != "backward" else None


def parting(task: Task) -> tuple[ast.stmt, ast.stmt]:
    """The statements where the ways to the earlier and to the failing call part."""
    spans = {span.label: span.stack for span in task.diagnosis.spans}
    early = spans.get("freed") or spans.get("stepped") or spans.get("written") or []
    late = spans.get("used again") or spans.get("needed") or []
    for before, after in zip(early, late, strict=False):
        if (before.file, before.line) == (after.file, after.line):
            continue
        if task.same_file(before) is None or task.same_file(after) is None:
            break
        return task.draft.statement_at(before.line), task.draft.statement_at(after.line)
    raise CannotWrite("the ways to the two calls do not part in this file")


# --------------------------------------------------------------------------- computed later


def recompute_between(task: Task) -> None:
    """What the second call is given is computed after the first one, not before it."""
    draft = task.draft
    first, second = parting(task)
    block = draft.block_of(second)
    if first not in block or block.index(first) >= block.index(second):
        raise CannotWrite("the two calls are not statements of one block")
    earlier = block[: block.index(first)]
    between = block[block.index(first) + 1 : block.index(second)]
    needed = names_read(second) - {name for s in between for name in names_bound(s)}
    makers = [
        statement
        for statement in earlier
        if assigned(statement) is not None
        and names_bound(statement) & needed
        and any(isinstance(node, ast.Call) for node in ast.walk(statement))
    ]
    if len(makers) != 1:
        raise CannotWrite("not exactly one line makes what the second call is given")
    compute_later(draft, makers, second)


def compute_later(draft: Draft, makers: list[ast.stmt], user: ast.stmt) -> None:
    """Put lines right before the one that needs them; those that nothing reads before it move."""
    block = draft.block_of(user)
    place, _ = draft.whole_lines(user)
    bound = {name for maker in makers for name in names_bound(maker)}
    since = block[block.index(makers[0]) : block.index(user)]
    others = [s for s in since if s not in makers]
    if any(names_bound(s) & ({n for m in makers for n in names_read(m)} | bound) for s in others):
        raise CannotWrite("what it is computed from has changed in between")
    staying = list(others)
    for maker in reversed(makers):
        if any(names_read(statement) & names_bound(maker) for statement in staying):
            staying.append(maker)
    for maker in makers:
        start, end = draft.whole_lines(maker)
        if maker not in staying:
            draft.replace(start, end, "")
            text = draft.text[start:end]
        else:
            text = _only_for(draft, maker, user, makers)
        draft.replace(place, place, text)


def _only_for(draft: Draft, maker: ast.stmt, user: ast.stmt, makers: list[ast.stmt]) -> str:
    """The lines of an assignment that sets only what is needed: `_, actor_loss = losses(batch)`.

    What else it sets has been used already, and may be reported as it was.
    """
    start, end = draft.whole_lines(maker)
    text = draft.text[start:end]
    pair = assigned(maker)
    if pair is None or not isinstance(pair[0], ast.Tuple):
        return text
    needed = {name for other in [*makers, user] for name in names_read(other)}
    for part in reversed(pair[0].elts):
        if isinstance(part, ast.Name) and part.id not in needed:
            at = draft.start(part) - start
            text = text[:at] + "_" + text[at + len(part.id) :]
    return text
