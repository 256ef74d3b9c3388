"""RGL3xx: the path from the loss to the parameters is cut, or what was meant to cut it does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Scope, Step, dotted
from ..program import Program, is_true, keyword, mentions
from ..torch_names import CREATING_FUNCTIONS
from ..training import Backward, backwards, expression_statement
from ..values import Values, is_leaf_that_requires_grad
from .idle import VARIABLE, is_tensor


@rule(
    "RGL303",
    "requires-grad-on-loss",
    "requires_grad is set on a loss that was computed",
    fix="unsafe",
)
def requires_grad_on_loss(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        sent = {b.name: b for b in backwards(program, scope) if b.kind == "backward"}
        for step in scope.steps:
            name = _switched_on(program, scope, step)
            if name is None or name not in sent or sent[name].step.index < step.index:
                continue
            if step.guarded or not _computed(program, scope, step, name):
                continue
            only = isinstance(step.node, ast.Expr | ast.Assign) and len(step.bindings) <= 1
            removable = only and not any(b.name == name for b in step.bindings)
            yield Found(
                step.node,
                f"`{name}` was computed; making it require a gradient connects it to nothing",
                ("remove this line, and find where the path to the parameters is cut",),
                repair("remove the statement", (Change("remove", step.node),))
                if removable
                else None,
            )


def _switched_on(program: Program, scope: Scope, step: Step) -> str | None:
    node = step.node
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and is_true(value):
            return dotted(target.value)
        if isinstance(value, ast.Call) and value.args:
            path = program.qualified(value.func, scope)
            if path in VARIABLE:
                if is_true(keyword(value, "requires_grad")) and dotted(target) == dotted(
                    value.args[0]
                ):
                    return dotted(target)
        node_value: ast.expr | None = value
    else:
        node_value = expression_statement(step)
    if isinstance(node_value, ast.Call) and isinstance(node_value.func, ast.Attribute):
        if node_value.func.attr == "requires_grad_":
            off = node_value.args and not is_true(node_value.args[0])
            off = off or any(not is_true(k.value) for k in node_value.keywords)
            return None if off else dotted(node_value.func.value)
    return None


def _computed(program: Program, scope: Scope, step: Step, name: str) -> bool:
    """Whether a value is the result of a computation, not something new."""
    found = scope.reaching(name, step)
    if not found:
        return False
    for binding in found:
        value = binding.value
        if binding.how == "augmented":
            continue
        if binding.how != "assign" or not isinstance(value, ast.Call | ast.BinOp):
            return False
        if isinstance(value, ast.Call):
            callee = program.callee(value, scope)
            if callee.kind == "unknown" and not isinstance(value.func, ast.Attribute):
                return False
            if callee.path in CREATING_FUNCTIONS and callee.path != "torch.tensor":
                return False
            method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
            if method in ("clone", "detach", "to", "cuda", "requires_grad_"):
                return False
            if callee.path == "torch.tensor" and not _has_tensor(program, scope, step, value):
                return False
    return True


@rule(
    "RGL304",
    "tensor-from-tensor",
    "torch.tensor is given tensors, whose graph it drops",
    fix="safe",
)
def tensor_from_tensor(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            for call in step.calls:
                if program.qualified(call.func, scope) != "torch.tensor" or not call.args:
                    continue
                if step.guarded or not _has_tensor(program, scope, step, call):
                    continue
                given = call.args[0]
                if isinstance(given, ast.List | ast.Tuple):
                    yield Found(
                        call,
                        "`torch.tensor` copies the numbers: the graphs of the tensors are lost",
                        ("`torch.stack([...])` keeps it", "or say so: `.item()` on each"),
                    )
                    continue
                text = dotted(given) or "x"
                fix = repair(
                    f"use {text}.detach().clone()", (Change("argument", call, "detach().clone()"),)
                )
                yield Found(
                    call,
                    f"`torch.tensor({text})` copies the numbers: the graph of `{text}` is lost",
                    (f"for a copy `{text}.detach().clone()`; to keep the graph `{text}` itself",),
                    repair(fix.text, fix.changes, safe=True)
                    if len(call.args) == 1 and not call.keywords
                    else None,
                )


def _has_tensor(program: Program, scope: Scope, step: Step, call: ast.Call) -> bool:
    values = Values(program, scope)
    given = call.args[0] if call.args else None
    if isinstance(given, ast.List | ast.Tuple):
        return any(values.graph(part, step) for part in given.elts)
    if given is None:
        return False
    if values.graph(given, step):
        return True
    name = dotted(given)
    return name is not None and is_tensor(program, scope, step, name)


@rule("RGL305", "loss-under-no-grad", "a loss computed with gradients off is sent back")
def loss_under_no_grad(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for backward in backwards(program, scope):
            if backward.kind != "backward" or backward.name is None or backward.step.guarded:
                continue
            found = scope.reaching(backward.name, backward.step)
            if not found or _made_to_require(scope, backward.name):
                continue
            for binding in found:
                off = binding.step.grad_off or scope.grad_off
                if not off or binding.how != "assign" or not _known(program, scope, binding.value):
                    break
            else:
                yield Found(
                    backward.call,
                    f"`{backward.name}` was computed with gradients off, in line "
                    f"{found[0].step.node.lineno}: it has no graph",
                    ("compute it outside `torch.no_grad()`",),
                )


def _known(program: Program, scope: Scope, value: ast.expr | None) -> bool:
    """Whether a value is surely computed under the scope's own grad mode."""
    if isinstance(value, ast.BinOp):
        return _known(program, scope, value.left) or _known(program, scope, value.right)
    if not isinstance(value, ast.Call):
        return False
    callee = program.callee(value, scope)
    if callee.kind == "module":
        return callee.seen and (callee.own is None or not callee.own.cuts)
    if callee.kind == "loss" or callee.path.startswith("torch.nn.functional."):
        return True
    return isinstance(value.func, ast.Attribute) and _known(program, scope, value.func.value)


def _made_to_require(scope: Scope, name: str) -> bool:
    return bool(scope.bindings(name + ".requires_grad")) or any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "requires_grad_"
        and dotted(call.func.value) == name
        for step in scope.steps
        for call in step.calls
    )


@rule("RGL306", "loss-of-numbers", "a loss is computed from plain numbers, and then sent back")
def loss_of_numbers(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        for backward in backwards(program, scope):
            if backward.kind != "backward" or backward.step.guarded or scope.grad_off:
                continue
            value, step = backward.value, backward.step
            found = scope.reaching(backward.name, step) if backward.name else None
            if found is not None and len(found) == 1 and found[0].value is not None:
                value, step = found[0].value, found[0].step
                if found[0].how != "assign" or step.grad_off:
                    continue
            if not _leaves_graph(program, scope, value):
                continue
            cut = values.graph(_without_requires_grad(value), step) is False
            if cut and not _made_to_require(scope, backward.name or ""):
                yield Found(
                    backward.call,
                    "the loss has no graph: every part of it is a plain number or was detached",
                    (f"line {value.lineno}: compute it from the tensors themselves",),
                )


def _leaves_graph(program: Program, scope: Scope, value: ast.expr) -> bool:
    """Whether something in an expression takes a number out of a tensor."""
    for part in ast.walk(value):
        if isinstance(part, ast.Call):
            method = part.func.attr if isinstance(part.func, ast.Attribute) else ""
            if method in ("item", "numpy", "detach", "tolist", "argmax"):
                return True
            if dotted(part.func) == "float" and part.args:
                return not isinstance(part.args[0], ast.Constant)
    return False


def _without_requires_grad(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Call) and keyword(value, "requires_grad") is not None:
        rest = [k for k in value.keywords if k.arg != "requires_grad"]
        return ast.copy_location(ast.Call(value.func, value.args, rest), value)
    return value


@rule(
    "RGL309", "data-in-loss", "a loss is computed through .data, which cuts its graph", fix="unsafe"
)
def data_in_loss(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        reported: set[ast.expr] = set()
        for backward in backwards(program, scope):
            if backward.kind != "backward" or backward.step.guarded:
                continue
            for node in _data_in(values, backward):
                name = dotted(node.value)
                if node in reported or name is None:
                    continue
                reported.add(node)
                yield Found(
                    node,
                    f"`{name}.data` cuts the graph of the loss that is sent back",
                    (f"`{name}` keeps it; where the cut is meant, write `{name}.detach()`",),
                    repair("use .detach()", (Change("detach", node),)),
                )


def _data_in(values: Values, backward: Backward) -> Iterator[ast.Attribute]:
    for seen in values.trail(backward.value, backward.step):
        node = seen.node
        if isinstance(node, ast.Attribute) and node.attr == "data":
            if values.graph(node.value, seen.step) and not _is_parameter(values, node.value):
                yield node


def _is_parameter(values: Values, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return True
    found = [b.value for b in values.scope.bindings(dotted(node) or "")]
    return any(
        (
            isinstance(value, ast.Call)
            and is_leaf_that_requires_grad(values.program, value, values.scope)
        )
        or (value is not None and mentions(value, "data"))
        for value in found
    )


RULES = (
    requires_grad_on_loss,
    tensor_from_tensor,
    loss_under_no_grad,
    loss_of_numbers,
    data_in_loss,
)
