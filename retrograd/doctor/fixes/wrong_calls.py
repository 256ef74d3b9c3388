"""Edits of calls that give an optimizer, a schedule, a hook or a module what it does not take."""

from __future__ import annotations

import ast
from collections.abc import Callable

from retrograd.doctor.fixes.backward_calls import set_argument
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)


def write(task: Task) -> None:
    """The edit that the diagnosis names."""
    edit = EDITS.get(str(task.diagnosis.facts.get("edit")))
    if edit is None:
        raise CannotWrite("there is no edit for it")
    edit(task)


# -------------------------------------------------------------------------------- optimizers


def _groups(task: Task) -> None:
    """`{"params": net.parameters()}` beside `net.head`'s: those that no later group names."""
    draft = task.draft
    groups = [
        value
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "params"
    ]
    calls = [g for g in groups if isinstance(g, ast.Call) and called(g) == "parameters"]
    owners = {ast.unparse(receiver(call)): call for call in calls}
    whole = [name for name in owners if all(o == name or o.startswith(f"{name}.") for o in owners)]
    if len(calls) != len(groups) or len(owners) != len(groups) or len(whole) != 1:
        raise CannotWrite("it is not known which group has too much")
    parts = [name.removeprefix(f"{whole[0]}.") + "." for name in owners if name != whole[0]]
    if not parts:
        raise CannotWrite("there is one group")
    tests = " and ".join(f'not name.startswith("{part}")' for part in parts)
    text = f"[p for name, p in {whole[0]}.named_parameters() if {tests}]"
    draft.rewrite(owners[whole[0]], text)


def _flatten(task: Task) -> None:
    """`[a.parameters(), b.parameters()]` becomes `[*a.parameters(), *b.parameters()]`."""
    draft = task.draft
    for node in draft.walk(task.statement):
        if isinstance(node, (ast.List, ast.Tuple)):
            calls = [e for e in node.elts if isinstance(e, ast.Call) and called(e) == "parameters"]
            for call in calls:
                draft.replace(draft.start(call), draft.start(call), "*")
            if calls:
                return
    raise CannotWrite("the line has no list of parameters()")


def _listed(task: Task) -> None:
    """`Adam(x)` becomes `Adam([x])`."""
    draft = task.draft
    calls = [n for n in draft.walk(task.statement) if isinstance(n, ast.Call) and n.args]
    if not calls or not isinstance(calls[0].args[0], (ast.Name, ast.Attribute, ast.Subscript)):
        raise CannotWrite("it is not known what the optimizer is given")
    draft.rewrite(calls[0].args[0], f"[{draft.written(calls[0].args[0])}]")


def _metrics(task: Task) -> None:
    """`schedule.step()` becomes `schedule.step(loss)`: what the loop sends back."""
    draft, statement = task.draft, task.statement
    call = call_statement(statement, "step")
    sent = [
        node
        for node in ast.walk(draft.scope_of(statement))
        if isinstance(node, ast.Call)
        and called(node) == "backward"
        and isinstance(node.func, ast.Attribute)
        and node.lineno < statement.lineno
    ]
    names = [dotted(receiver(each)) for each in sent]
    if call is None or call.args or not names or not names[-1]:
        raise CannotWrite("it is not known which value is meant")
    end = draft.end(call) - 1
    draft.replace(end, end, f"{names[-1]}.item()")


def _closure(task: Task) -> None:
    """The lines from `zero_grad` to `backward` become the closure that the step is given."""
    draft, step = task.draft, task.statement
    call = call_statement(step, "step")
    block = draft.block_of(step)
    owner = "" if call is None else dotted(receiver(call))
    earlier = block[: block.index(step)]
    sent = [s for s in earlier if call_statement(s, "backward") is not None]
    cleared = [s for s in earlier if call_statement(s, "zero_grad") is not None]
    if not owner or len(sent) != 1 or len(cleared) != 1:
        raise CannotWrite("the lines before the step do not clear and send back once each")
    backward = call_statement(sent[0], "backward")
    loss = "" if backward is None else dotted(receiver(backward))
    makers = [s for s in earlier if loss and loss in names_bound(s)]
    first = min(block.index(s) for s in [*makers, cleared[0]])
    last = max(block.index(sent[0]), block.index(cleared[0]))
    if not makers or last + 1 != block.index(step):
        raise CannotWrite("the loss is not computed there")
    body = block[first : last + 1]
    moved = [s for s in body if s is not cleared[0]]
    later = {name for s in block[block.index(step) + 1 :] for name in names_read(s)}
    lost = {name for s in moved for name in names_bound(s)} & later - {loss}
    if lost:
        raise CannotWrite("what is computed there is read after the step")
    space, unit = draft.indentation(step), draft.unit(step)
    newline = draft.newline(step)
    text = f"{space}def closure():{newline}"
    for statement in [cleared[0], *moved]:
        text += draft.reindented([statement], space, space + unit)
    text += f"{space}{unit}return {loss}{newline}"
    result = f"{loss} = " if loss in later else ""
    text += f"{space}{result}{owner}.step(closure){newline}"
    start, end = draft.whole_lines(body[0])[0], draft.whole_lines(step)[1]
    draft.replace(start, end, text)


# ----------------------------------------------------------------------------------- results


def _closure_returns(task: Task) -> None:
    """`return loss` at the end of a function."""
    draft = task.draft
    function = draft.scope_of(task.statement)
    if not isinstance(function, ast.FunctionDef):
        raise CannotWrite("the line is in no function")
    last = function.body[-1]
    sent = [
        dotted(receiver(node))
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and called(node) == "backward"
        and isinstance(node.func, ast.Attribute)
    ]
    pair = assigned(last)
    name = sent[-1] if sent else dotted(pair[0]) if pair is not None else ""
    if not name:
        raise CannotWrite("it is not known what is to be returned")
    draft.insert_after(last, f"return {name}")


def _unpack(task: Task) -> None:
    """`loss = f(x)` becomes `loss, *_ = f(x)`."""
    pair = assigned(task.statement)
    if pair is None or not isinstance(pair[0], ast.Name):
        raise CannotWrite("the line does not assign one variable")
    end = task.draft.end(pair[0])
    task.draft.replace(end, end, ", *_")


def _zero(task: Task) -> None:
    """`w.grad.zero_()` only where there is a gradient."""
    draft, statement = task.draft, task.statement
    call = call_statement(statement, "zero_")
    if call is None:
        raise CannotWrite("the line does nothing but clear")
    draft.wrap(statement, f"if {draft.written(receiver(call))} is not None:")


def _hook(task: Task) -> None:
    """`return scaled, None` becomes `return (scaled,)`: one gradient for one input."""
    statement = task.statement
    words = str(task.diagnosis.error)
    if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Tuple):
        raise CannotWrite("the line returns no tuple")
    if "expected 1" not in words:
        raise CannotWrite("it is not known which gradients are meant")
    task.draft.rewrite(statement.value, f"({task.draft.written(statement.value.elts[0])},)")


# ----------------------------------------------------------------------------------- modules


def _parameter(task: Task) -> None:
    """`layer.weight = w` becomes `layer.weight.copy_(w)` under no_grad."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None or not isinstance(pair[0], ast.Attribute):
        raise CannotWrite("the line does not assign a parameter")
    space, newline = draft.indentation(statement), draft.newline(statement)
    text = f"{draft.written(pair[0])}.copy_({draft.written(pair[1])})"
    if "\n" in text:
        raise CannotWrite("the value stands in several lines")
    start, end = draft.whole_lines(statement)
    head = f"{space}with {task.torch()}.no_grad():{newline}"
    draft.replace(start, end, f"{head}{space}{draft.unit(statement)}{text}{newline}")


def _super(task: Task) -> None:
    """`super().__init__()` goes to the head of `__init__`, or is added there."""
    draft = task.draft
    function = draft.scope_of(task.statement)
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
        raise CannotWrite("the line is not in __init__")
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # behind the docstring
    for statement in body:
        if call_statement(statement, "__init__") is not None:
            draft.remove(statement)
    draft.insert_before(body[0], "super().__init__()")


# ------------------------------------------------------------------ errors with a code of their own


def detach_view(task: Task) -> None:
    """`b.detach_()` becomes `b = b.detach()`."""
    draft, statement = task.draft, task.statement
    call = call_statement(statement, "detach_")
    name = "" if call is None else dotted(receiver(call))
    if not name:
        raise CannotWrite("the line does nothing but detach")
    draft.rewrite(statement, f"{name} = {name}.detach()")


def numbers_with_fractions(task: Task) -> None:
    """`tensor([1, 2], requires_grad=True)` gets a dtype, `arange(4)` of a parameter `.float()`."""
    draft = task.draft
    for node in draft.walk(task.statement):
        if not isinstance(node, ast.Call):
            continue
        asks = any(k.arg == "requires_grad" for k in node.keywords)
        if asks and any(k.arg == "dtype" for k in node.keywords):
            raise CannotWrite("the line chooses the type itself")
        if asks and called(node) != "Parameter":
            set_argument(draft, node, "dtype", f"{task.torch()}.get_default_dtype()", 100)
            return
        if called(node) == "Parameter" and node.args:
            draft.suffix(node.args[0], ".float()")
            return
    raise CannotWrite("the line makes no leaf")


def random_in_vmap(task: Task) -> None:
    """`vmap(f)` becomes `vmap(f, randomness="different")`."""
    draft = task.draft
    calls = [n for n in ast.walk(draft.tree) if isinstance(n, ast.Call) and called(n) == "vmap"]
    if len(calls) != 1:
        raise CannotWrite("not exactly one vmap is in the file")
    set_argument(draft, calls[0], "randomness", '"different"', 100)


EDITS: dict[str, Callable[[Task], None]] = {
    "groups": _groups,
    "flatten": _flatten,
    "listed": _listed,
    "metrics": _metrics,
    "closure": _closure,
    "closure_returns": _closure_returns,
    "returns": _closure_returns,
    "unpack": _unpack,
    "zero": _zero,
    "hook": _hook,
    "parameter": _parameter,
    "super": _super,
    "detach_view": detach_view,
    "fractions": numbers_with_fractions,
    "randomness": random_in_vmap,
}
"""The edits by the names that findings know them by."""
