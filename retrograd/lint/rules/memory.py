"""RGL1xx: graphs that are kept longer than anyone needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Binding, Loop, Scope, Step, dotted, walk_here
from ..program import Program, mentions
from ..training import Backward, backwards
from ..values import Values

HARMLESS = frozenset("print float int str repr format len round isinstance".split())


def sent_back_in(program: Program, scope: Scope, loop: Loop) -> list[Backward]:
    """What is sent back in a loop, not counting inner functions."""
    return [b for b in backwards(program, scope) if loop in b.step.loops and b.kind == "backward"]


def _keeps_graph_of(node: ast.expr, names: set[str]) -> ast.expr | None:
    """The part of an expression that carries the graph of one of the names, if one does."""
    if isinstance(node, ast.Name | ast.Attribute) and dotted(node) in names:
        return node
    if isinstance(node, ast.BinOp):
        return _keeps_graph_of(node.left, names) or _keeps_graph_of(node.right, names)
    if isinstance(node, ast.UnaryOp):
        return _keeps_graph_of(node.operand, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("mean", "sum", "cpu", "clone", "to", "float", "double", "cuda"):
            return _keeps_graph_of(node.func.value, names)
    return None


def _starts_outside(scope: Scope, name: str, loop: Loop) -> bool:
    """Whether a total lives longer than one pass of a loop: nothing in the loop starts it again."""
    return not any(
        loop in binding.step.loops and binding.how != "augmented" and not _adds_to_itself(binding)
        for binding in scope.bindings(name)
    )


def _adds_to_itself(binding: Binding) -> bool:
    return (
        binding.how == "assign"
        and isinstance(binding.value, ast.BinOp)
        and isinstance(binding.value.op, ast.Add)
        and mentions(binding.value, binding.name)
    )


def _added(binding: Binding) -> ast.expr | None:
    """What is added to a total: `total += ADDED`, `total = total + ADDED`."""
    if binding.how == "augmented":
        node = binding.node
        plus = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)
        return binding.value if plus else None
    if _adds_to_itself(binding):
        assert isinstance(binding.value, ast.BinOp)
        left, right = binding.value.left, binding.value.right
        if dotted(left) == binding.name:
            return right
        if dotted(right) == binding.name:
            return left
    return None


@rule(
    "RGL101",
    "loss-accumulated",
    "a running total keeps the graph of every loss that is added to it",
    fix="safe",
)
def loss_accumulated(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        all_sent = {b.name for b in backwards(program, scope)}
        for step in scope.steps:
            for binding in step.bindings:
                added = _added(binding)
                if added is None or not step.loops or step.grad_off or scope.grad_off:
                    continue
                if binding.name in all_sent or _feeds(program, scope, binding.name):
                    continue
                found = _loss_in(program, scope, step, binding.name, added)
                if found is None:
                    continue
                loss, text = found, dotted(found)
                method = "item" if _is_a_number(scope, binding.name) else "detach"
                yield Found(
                    step.node,
                    f"`{binding.name}` keeps the graph of every `{text}` added to it",
                    (f"add `{text}.item()`, or `{text}.detach()` to stay on the device",),
                    repair(f"add .{method}()", (Change("method", loss, method),), safe=True),
                )


def _loss_in(
    program: Program, scope: Scope, step: Step, total: str, added: ast.expr
) -> ast.expr | None:
    """The loss of the innermost loop that is sent back there and outlived by the total."""
    for loop in reversed(step.loops):
        if not _starts_outside(scope, total, loop):
            return None
        sent = {b.name for b in sent_back_in(program, scope, loop) if b.name is not None}
        made = {name for name in sent if _made_in(scope, name, loop)}
        found = _keeps_graph_of(added, made - {total})
        if found is not None:
            return found
    return None


def _made_in(scope: Scope, name: str, loop: Loop) -> bool:
    return any(loop in binding.step.loops for binding in scope.bindings(name))


def _feeds(program: Program, scope: Scope, name: str) -> bool:
    """Whether a value is sent back after all: it is part of something that is."""
    values = Values(program, scope)
    return any(
        isinstance(seen.node, ast.Name | ast.Attribute) and dotted(seen.node) == name
        for backward in backwards(program, scope)
        for seen in values.trail(backward.value, backward.step)
    )


def _is_a_number(scope: Scope, name: str) -> bool:
    """Whether a total began as a number and nothing asks it for what only a tensor has."""
    starts = [b for b in scope.bindings(name) if b.how == "assign" and not _adds_to_itself(b)]
    if not starts or not all(isinstance(b.value, ast.Constant) for b in starts):
        return False
    for step in scope.steps:
        for part in step.parts:
            for node in walk_here(part):
                if isinstance(node, ast.Attribute) and dotted(node.value) == name:
                    return False
                if isinstance(node, ast.Return) and node.value is not None:
                    if mentions(node.value, name):
                        return isinstance(node.value, ast.Call)
                if isinstance(node, ast.Call) and dotted(node.func) not in HARMLESS:
                    if any(dotted(argument) == name for argument in node.args):
                        return False
    return True


@rule(
    "RGL102",
    "graph-kept-in-list",
    "a list keeps the graph of every loss that is appended to it",
    fix="safe",
)
def graph_kept_in_list(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            if step.grad_off or scope.grad_off:
                continue
            for call in step.calls:
                found = _appended(program, scope, step, call)
                if found is None:
                    continue
                name, value = found
                text = dotted(value)
                yield Found(
                    call,
                    f"`{name}` keeps the graph of every `{text}` in it",
                    (f"append `{text}.item()`, or `{text}.detach()`",),
                    repair("add .detach()", (Change("method", value, "detach"),), safe=True),
                )


def _appended(
    program: Program, scope: Scope, step: Step, call: ast.Call
) -> tuple[str, ast.expr] | None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "append"):
        return None
    name = dotted(call.func.value)
    if name is None or len(call.args) != 1 or _feeds(program, scope, name):
        return None
    if not any(_is_empty_list(b) for b in scope.bindings(name)):
        return None
    for loop in reversed(step.loops):
        if any(loop in b.step.loops for b in scope.bindings(name)) or _cleared(scope, name, loop):
            return None
        sent = [b for b in sent_back_in(program, scope, loop) if not b.keeps]
        names = {b.name for b in sent if b.name is not None and _made_in(scope, b.name, loop)}
        value = _keeps_graph_of(call.args[0], names)
        if value is not None:
            return name, value
    return None


def _is_empty_list(binding: Binding) -> bool:
    value = binding.value
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and dotted(value.func) == "list" and not value.args


def _cleared(scope: Scope, name: str, loop: Loop) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("clear", "pop", "popleft")
        and dotted(call.func.value) == name
        for step in scope.steps
        if loop in step.loops
        for call in step.calls
    )


@rule(
    "RGL105",
    "total-sent-back-each-step",
    "a total that grows over the steps is sent back in every one of them",
)
def total_sent_back(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for backward in backwards(program, scope):
            name, step = backward.name, backward.step
            if backward.kind != "backward" or name is None or backward.keeps or step.guarded:
                continue
            if not step.loops or not step.always_in(step.loops[-1]):
                continue
            loop = step.loops[-1]
            inside = [b for b in scope.bindings(name) if loop in b.step.loops]
            if not inside or not all(_added(b) is not None for b in inside):
                continue
            if loop in scope.leaves_loops or _detached(scope, name, loop):
                continue
            if not any(b.step.loops == step.loops and b.step.index < step.index for b in inside):
                continue
            if not any(loop not in b.step.loops for b in scope.bindings(name)):
                continue
            if not any(_saving(program, scope, b) for b in inside):
                continue
            yield Found(
                backward.call,
                f"`{name}` is sent back in every pass, with the losses of the passes before",
                (
                    "send back the loss of this pass, and add its `.item()` to the total",
                    f"or start `{name}` again in every pass",
                ),
            )


def _saving(program: Program, scope: Scope, binding: Binding) -> bool:
    added = _added(binding)
    return added is not None and Values(program, scope).graph(added, binding.step) is not False


def _detached(scope: Scope, name: str, loop: Loop) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "detach_"
        and dotted(call.func.value) == name
        for step in scope.steps
        if loop in step.loops
        for call in step.calls
    )


RULES = (loss_accumulated, graph_kept_in_list, total_sent_back)
