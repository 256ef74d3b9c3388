"""Faults in the graph: kept, reused, cut, overwritten."""

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
    names_read,
    names_written,
    receiver,
    target_of,
    value_of,
)

KEPT = "item-for-logging detach"
SAVING = {"tanh", "sigmoid", "exp", "softmax", "relu", "sqrt", "softplus", "elu"}


def detach_dropped(text: Text) -> Iterator[Fault]:
    """A `detach` is missing."""
    causes = "stale-state-carried shared-subgraph accumulated-history precomputed-outside-loop"
    for node in ast.walk(text.tree):
        if called(node) == "detach" and isinstance(node, ast.Call) and not node.args:
            assert isinstance(node.func, ast.Attribute)
            change = text.replaced(node, ast.unparse(node.func.value))
            yield fault(text, "detach dropped", [change], causes, "detach no-grad")
        elif isinstance(node, ast.Expr) and called(node) == "detach_":
            near = [node, *text.loops(node)]
            change = text.without(node)
            yield fault(text, "detach dropped", [change], causes, "detach no-grad", also=near)


def argument_changed(
    text: Text, name: str, new: str | None
) -> Iterator[tuple[ast.Call, list[Change]]]:
    """Calls with `name=True`, and the change that removes or renames it."""
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == name and ast.unparse(keyword.value) == "True":
                kept = [ast.unparse(each) for each in node.args]
                for each in node.keywords:
                    if each is not keyword:
                        kept.append(ast.unparse(each))
                    elif new is not None and all(k.arg != new for k in node.keywords):
                        kept.append(f"{new}=True")
                call = f"{ast.unparse(node.func)}({', '.join(kept)})"
                yield node, [text.replaced(node, call)]


def retain_dropped(text: Text) -> Iterator[Fault]:
    """A `retain_graph=True` that is needed is missing."""
    causes = "shared-subgraph same-loss-twice freed-by-grad-call"
    for _, changes in argument_changed(text, "retain_graph", None):
        fixes = "retain-graph combine-losses"
        yield fault(text, "retain_graph dropped", changes, causes, fixes)


def created_to_retained(text: Text) -> Iterator[Fault]:
    """`create_graph=True` became `retain_graph=True`: a penalty is a constant."""
    for _, changes in argument_changed(text, "create_graph", "retain_graph"):
        kind = "create_graph became retain_graph"
        yield fault(text, kind, changes, "missing-create-graph", "create-graph")


def hoisted(text: Text) -> Iterator[Fault]:
    """A forward stands before the loop that sends it back."""
    for node in ast.walk(text.tree):
        if not isinstance(node, (ast.For, ast.While)):
            continue
        if not any(is_backward(each) for each in node.body):
            continue
        roots = {ast.unparse(receiver(each) or each) for each in node.body if is_backward(each)}
        for statement in node.body:
            name = target_of(statement)
            if not name or not isinstance(value_of(statement), ast.Call):
                continue
            others = [each for each in node.body if each is not statement]
            bound = set().union(*map(names_written, others))
            bound |= names_written(node.target) if isinstance(node, ast.For) else set()
            if names_read(value_of(statement)) & bound or name in bound:
                continue
            taken = ast.unparse(statement)
            changes = [text.without(statement), text.before(node, taken)]
            causes = "precomputed-outside-loop" + " same-loss-twice" * (name in roots)
            yield fault(text, "forward before the loop", changes, causes, "recompute-forward")


def number_dropped(text: Text) -> Iterator[Fault]:
    """`losses.append(loss.item())`, `total += loss.item()` without `.item()`."""
    for node in ast.walk(text.tree):
        if called(node) != "item" or not isinstance(node, ast.Call) or node.args:
            continue
        statement = text.statement(node)
        stored = called(statement) in ("append", "update") or isinstance(
            statement, (ast.AugAssign, ast.Assign)
        )
        if stored and text.loops(node):
            assert isinstance(node.func, ast.Attribute)
            change = text.replaced(node, ast.unparse(node.func.value))
            yield fault(text, "item() dropped", [change], "accumulated-history", KEPT)


def _trained(text: Text) -> Iterator[tuple[list[ast.For | ast.While], ast.stmt, str]]:
    """Loops around a `loss.backward()` of their own body, the statement after it, the loss."""
    for block in text.blocks():
        for number, send in enumerate(block):
            root = receiver(send)
            if not is_backward(send) or not isinstance(root, ast.Name):
                continue
            loops = text.loops(send)
            if not loops or block is not loops[0].body:
                continue
            steps = [each for each in block[number:] if is_step(each)]
            yield loops, (steps[0] if steps else send), root.id


def loss_kept(text: Text) -> Iterator[Fault]:
    """Losses are kept in a list, a sum, for a few batches or for an epoch, with their graphs."""
    cause = "accumulated-history"
    for loops, last, loss in _trained(text):
        inner = loops[0]
        begin = text.before(inner, "kept_losses = []", guilty=())
        keep = text.after(last, f"kept_losses.append({loss})")
        yield fault(text, "losses kept in a list", [begin, keep], cause, KEPT)
        begin = text.before(inner, "running_total = 0.0", guilty=())
        keep = text.after(last, f"running_total = running_total + {loss}")
        yield fault(text, "running sum of losses", [begin, keep], cause, KEPT)
        begin = text.before(inner, "running_total, seen_batches = 0.0, 0", guilty=())
        keep = text.after(
            last,
            *(f"running_total += {loss}", "seen_batches += 1", "if seen_batches % 4 == 0:"),
            *("    print(float(running_total) / 4)", "    running_total = 0.0"),
            guilty=(0,),
        )
        yield fault(text, "running sum reset every few", [begin, keep], cause, KEPT)
        if len(loops) > 1:
            begin = text.before(inner, "epoch_losses = []", guilty=())
            keep = text.after(last, f"epoch_losses.append({loss})")
            end = text.after(inner, "print(sum(map(float, epoch_losses)))", guilty=())
            yield fault(text, "losses kept for an epoch", [begin, keep, end], cause, KEPT)


def rewrapped(text: Text) -> Iterator[Fault]:
    """The loss is made anew from its number, and asked for gradients."""
    forms = (
        "{0} = torch.tensor({0}.item(), requires_grad=True)",
        "{0} = torch.tensor({0}, requires_grad=True)",
        "{0} = {0}.detach().requires_grad_()",
    )
    for block in text.blocks():
        for send in filter(is_backward, block):
            root = receiver(send)
            if isinstance(root, ast.Name):
                for number, form in enumerate(forms):
                    change = text.before(send, form.format(root.id))
                    kind = "loss detached and required" if number == 2 else "loss rewrapped"
                    yield fault(text, kind, [change], "broken-graph", "keep-graph detach")


def _forwards(text: Text) -> Iterator[ast.stmt]:
    """Assignments of what a call or a formula gives, in functions that train or are a forward."""
    for block in text.blocks():
        sends = any(map(is_backward, block))
        for statement in block:
            if not target_of(statement):
                continue
            function = text.function(statement)
            inside = getattr(function, "name", "") in ("forward", "encode", "decode", "step")
            value = value_of(statement)
            if (sends or inside) and isinstance(value, ast.Call):
                if not ast.unparse(value).startswith(("torch.rand", "torch.zeros", "torch.optim")):
                    yield statement


def under_no_grad(text: Text) -> Iterator[Fault]:
    """A forward under `no_grad`."""
    for statement in _forwards(text):
        indent = text.indent(statement)
        lines = (
            indent + "with torch.no_grad():",
            *("    " + line for line in text.taken(statement)),
        )
        change = Change(statement.lineno, statement.end_lineno or 0, lines)
        yield fault(text, "forward under no_grad", [change], "no-grad-scope", "enable-grad")


def cut(text: Text) -> Iterator[Fault]:
    """`.data`, `.item()`, NumPy on the way from parameters to the loss."""
    forms = {
        "cut by .data": "({0}).data",
        "cut by item()": "torch.tensor(({0}).item())",
        "cut by NumPy": "torch.from_numpy(({0}).detach().numpy())",
    }
    for statement in _forwards(text):
        value = value_of(statement)
        for kind, form in forms.items():
            new = f"{target_of(statement)} = {form.format(ast.unparse(value))}"
            change = Change(
                statement.lineno, statement.end_lineno or 0, (text.indent(statement) + new,)
            )
            yield fault(text, kind, [change], "broken-graph", "keep-graph")


def forward_reused(text: Text) -> Iterator[Fault]:
    """A second forward is missing: what the first has made is used again (a GAN's fake)."""
    causes = "shared-subgraph stale-state-carried"
    for block in text.blocks():
        for number, second in enumerate(block):
            if not target_of(second) or not isinstance(value_of(second), ast.Call):
                continue
            for position, first in enumerate(block[:number]):
                if not target_of(first) or not isinstance(value_of(first), ast.Call):
                    continue
                made = _callee(value_of(first))
                between = [each for each in block[position:number] if is_backward(each)]
                if made != _callee(value_of(second)) or made.startswith("torch") or not between:
                    continue
                if any(ast.unparse(receiver(each) or each) == target_of(first) for each in between):
                    continue  # a loss in the place of another: nobody could tell which was meant
                use = f"{target_of(second)} = {target_of(first)}"
                change = Change(second.lineno, second.end_lineno or 0, (text.indent(second) + use,))
                users = [
                    each
                    for each in block
                    if names_read(each) & {target_of(first), target_of(second)}
                ]
                fixes = "detach recompute-forward retain-graph"
                also = [first, *between, *users]
                yield fault(text, "forward reused", [change], causes, fixes, also=also)


def _callee(value: ast.expr) -> str:
    assert isinstance(value, ast.Call)
    return ast.unparse(value.func)


def written_in_place(text: Text) -> Iterator[Fault]:
    """A value that backward needs is overwritten."""
    signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
    cause, fix = "inplace-after-save", "clone-before-inplace clone"
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Assign) or not target_of(node):
            continue
        name, value = target_of(node), node.value
        if isinstance(value, ast.BinOp) and type(value.op) in signs:
            if ast.unparse(value.left) == name:
                new = f"{name} {signs[type(value.op)]}= {ast.unparse(value.right)}"
                line = (text.indent(node) + new,)
                change = Change(node.lineno, node.end_lineno or 0, line)
                yield fault(text, "written in place", [change], cause, fix)
        elif called(value) in SAVING:
            change = text.after(node, f"{name}.mul_(0.9)")
            healthy = text.after(node, f"{name} = {name} * 0.9")
            yield fault(
                text, "written in place", [change], cause, fix, reference=[healthy], also=[node]
            )


OPERATORS = (
    detach_dropped,
    retain_dropped,
    created_to_retained,
    hoisted,
    number_dropped,
    loss_kept,
    rewrapped,
    under_no_grad,
    cut,
    forward_reused,
    written_in_place,
)
