"""Faults in the order of clearing, sending back and stepping, and in what optimizers hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.doctor.mutation.editing import (
    Change,
    Fault,
    Text,
    called,
    fault,
    is_backward,
    is_step,
    is_zero_grad,
    names_read,
    receiver,
    target_of,
    value_of,
)

MISUSE = "zero-grad-misuse"
ORDER = "zero-grad reorder-step"


def training(text: Text, near: ast.stmt) -> list[ast.stmt]:
    """The statements around which gradients are cleared and used, in the function if it has any."""
    statements = [node for node in ast.walk(text.tree) if isinstance(node, ast.stmt)]
    found = [each for each in statements if is_backward(each) or is_step(each)]
    here = [each for each in found if text.function(each) is text.function(near)]
    return [*(here or found), *text.loops(near)]


def zero_grad_dropped(text: Text) -> Iterator[Fault]:
    """`optimizer.zero_grad()` is missing."""
    for block in text.blocks():
        for statement in filter(is_zero_grad, block):
            near = [statement, *training(text, statement)]
            change = text.without(statement)
            yield fault(text, "zero_grad dropped", [change], MISUSE, ORDER, also=near)


def _ordered(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt, ast.stmt]]:
    """`zero_grad` (or the first statement), `backward`, `step` of one optimizer, in this order."""
    for number, step in enumerate(block):
        if not is_step(step):
            continue
        sent = [each for each in block[:number] if is_backward(each)]
        name = ast.unparse(receiver(step) or step)
        cleared = [
            each
            for each in block[:number]
            if is_zero_grad(each) and ast.unparse(receiver(each) or each) == name
        ]
        if sent:
            yield (cleared[-1] if cleared else step), sent[-1], step


def cleared_between(text: Text) -> Iterator[Fault]:
    """`zero_grad()` stands between `backward()` and `step()`."""
    for block in text.blocks():
        for clear, send, step in _ordered(block):
            if clear is not step and clear.lineno < send.lineno:
                moved = Change(step.lineno, step.lineno - 1, text.taken(clear))
                changes = [text.without(clear), moved]
                kind = "zero_grad between backward and step"
                yield fault(text, kind, changes, MISUSE, ORDER, also=[send, step])


def stepped_on_nothing(text: Text) -> Iterator[Fault]:
    """`zero_grad(); step(); backward()`: the step finds nothing."""
    for block in text.blocks():
        for clear, send, step in _ordered(block):
            if clear is not step and clear.lineno < send.lineno:
                moved = Change(send.lineno, send.lineno - 1, text.taken(step))
                changes = [text.without(step), moved]
                kind = "zero_grad, step, backward"
                yield fault(text, kind, changes, MISUSE, ORDER, also=[clear, send])


def stepped_before(text: Text) -> Iterator[Fault]:
    """`step()` before `backward()`, where gradients are cleared later or elsewhere."""
    for block in text.blocks():
        for clear, send, step in _ordered(block):
            if clear is step:
                moved = Change(send.lineno, send.lineno - 1, text.taken(step))
                later = [each for each in block if is_zero_grad(each)]
                causes = f"param-updated-before-backward {MISUSE}"
                changes = [text.without(step), moved]
                yield fault(
                    text, "step before backward", changes, causes, ORDER, also=[send, *later]
                )


def backward_twice(text: Text) -> Iterator[Fault]:
    """The same loss is sent back twice; a sum is written out both times."""
    for block in text.blocks():
        for number, send in enumerate(block):
            root = receiver(send)
            if not is_backward(send) or root is None or "retain_graph" in ast.unparse(send):
                continue
            kind, call = "backward twice", ast.unparse(send)
            if isinstance(root, ast.Name):
                made = [each for each in block[:number] if target_of(each) == root.id]
                sums = made and isinstance(value_of(made[-1]), ast.BinOp)
                # `loss = loss + penalty` written out once more would add it twice
                if sums and root.id not in names_read(value_of(made[-1])):
                    total = ast.unparse(value_of(made[-1]))
                    kind, call = "backward twice on a sum", f"({total}).{call.split('.', 1)[1]}"
            elif isinstance(root, ast.BinOp):
                kind = "backward twice on a sum"
            twice = Change(
                send.lineno,
                send.end_lineno or send.lineno,
                (text.indent(send) + call, text.indent(send) + call),
            )
            yield fault(text, kind, [twice], "same-loss-twice", "remove-extra-backward")


def needless_retain(text: Text) -> Iterator[Fault]:
    """`retain_graph=True` where nothing needs it."""
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Expr) and is_backward(node) and "_graph" not in ast.unparse(node):
            call = node.value
            assert isinstance(call, ast.Call)
            given = ", ".join(map(ast.unparse, call.args)) + ", " * bool(call.args)
            new = f"{ast.unparse(call.func)}({given}retain_graph=True)"
            changes = [text.replaced(call, new)]
            yield fault(text, "needless retain_graph", changes, "needless-retain", "drop-retain")


def other_parameters(text: Text) -> Iterator[Fault]:
    """The optimizer holds the parameters of a copy, or the model is replaced after it was built."""
    for node in ast.walk(text.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        arguments = node.value.args
        if not arguments or called(arguments[0]) != "parameters":
            continue
        call = arguments[0]
        assert isinstance(call, ast.Call)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or "optim" not in ast.unparse(node).lower():
            continue
        cause, fix = "stale-optimizer-params", "rebuild-optimizer"
        copied = text.replaced(owner, f"copy.deepcopy({owner.id})")
        first = text.before(node, "import copy", guilty=())
        kind = "optimizer over a copy"
        yield fault(text, kind, [first, copied], cause, fix)
        replaced = text.after(node, "import copy", f"{owner.id} = copy.deepcopy({owner.id})")
        kind = "model replaced after the optimizer"
        yield fault(text, kind, [replaced], cause, fix, also=[node])


OPERATORS = (
    zero_grad_dropped,
    cleared_between,
    stepped_on_nothing,
    stepped_before,
    backward_twice,
    needless_retain,
    other_parameters,
)
