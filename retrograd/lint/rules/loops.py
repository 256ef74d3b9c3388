"""RGL202 to RGL204: what a loop or a closure walks again, though it was computed before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Binding, Loop, Scope, Step, dotted
from ..program import Program, keyword, mentions
from ..training import (
    Backward,
    backwards,
    expression_statement,
    is_optimized,
    optimizer_calls,
)
from ..values import Seen, Values


@rule("RGL202", "forward-outside-loop", "a loop sends back what was computed before it")
def forward_outside_loop(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        for backward in backwards(program, scope):
            step = backward.step
            if backward.keeps or step.guarded or not step.loops or backward.kind == "function":
                continue
            loop = step.loops[-1]
            if not step.always_in(loop) or may_stop_after_one(scope, loop):
                continue
            old = _from_before(program, scope, values, backward, loop)
            if old is not None:
                yield Found(
                    backward.call,
                    f"`{old.name}` was computed once, in line {old.step.node.lineno}, before the "
                    "loop; the first pass frees its graph",
                    (f"compute `{old.name}` in the loop", "or use it there as `.detach()`ed data"),
                )


def may_stop_after_one(scope: Scope, loop: Loop) -> bool:
    """Whether the loop is left without a condition, or goes over one element only."""
    if isinstance(loop, ast.For):
        given = loop.iter
        if isinstance(given, ast.List | ast.Tuple) and len(given.elts) < 2:
            return True
        if isinstance(given, ast.Call) and dotted(given.func) == "range" and len(given.args) == 1:
            count = given.args[0]
            if isinstance(count, ast.Constant) and count.value in (0, 1):
                return True
    return any(
        isinstance(step.node, ast.Break | ast.Return | ast.Raise) and step.always_in(loop)
        for step in scope.steps
    )


def _from_before(
    program: Program, scope: Scope, values: Values, backward: Backward, loop: Loop
) -> Binding | None:
    for seen in values.trail(backward.value, backward.step):
        binding = seen.binding
        if binding is None or not seen.certain or binding.how not in ("assign", "part"):
            continue
        if loop in binding.step.loops or any(
            loop in b.step.loops for b in scope.bindings(binding.name)
        ):
            continue
        if (
            binding.step.loops
            and binding.step.loops != backward.step.loops[:-1][: len(binding.step.loops)]
        ):
            continue
        if not isinstance(seen.node, ast.Call | ast.BinOp | ast.UnaryOp):
            continue
        if is_optimized(program, scope, binding.name):
            continue  # a result that was meant to be a leaf, which is RGL406
        surely = values.graph(seen.node, seen.step)
        if surely is None and backward.name == binding.name:
            surely = True  # it is sent back, so it is meant to have one
        if surely and values.saves(seen.node, seen.step):
            return binding
    return None


@rule(
    "RGL203",
    "state-carried-through-loop",
    "a state goes from one pass of the loop to the next with its graph",
    fix="unsafe",
)
def state_carried(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        for backward in backwards(program, scope):
            step = backward.step
            if backward.keeps or step.guarded or not step.loops:
                continue
            loop = step.loops[-1]
            if not step.always_in(loop) or may_stop_after_one(scope, loop):
                continue
            told: set[str] = set()
            for seen in values.trail(backward.value, step):
                if not seen.certain:
                    continue
                if isinstance(seen.node, ast.Name) and seen.node.id not in told:
                    if _carried_by_name(scope, values, seen, backward, loop):
                        told.add(seen.node.id)
                        yield _brings(seen.node, seen.node, seen.node.id)
                if not isinstance(seen.node, ast.Call):
                    continue
                state = _carried(program, scope, values, seen, loop)
                if state is None or (name := dotted(state) or "") in told:
                    continue
                told.add(name)
                recurrent = program.callee(seen.node, scope).path.rpartition(".")[2]
                yield _brings(seen.node, state, name, not recurrent.startswith("LSTM"))


def _brings(node: ast.AST, state: ast.expr, name: str, one_tensor: bool = True) -> Found:
    fix = repair(f"use {name}.detach()", (Change("method", state, "detach"),))
    return Found(
        node,
        f"`{name}` brings the graph of the pass before, which `backward()` has freed",
        (f"detach it between the passes: `{name} = {name}.detach()`",),
        fix if one_tensor else None,
    )


def _carried_by_name(
    scope: Scope, values: Values, seen: Seen, backward: Backward, loop: Loop
) -> bool:
    """Whether a name has the value of the pass before, with a part that this backward has freed.

    `h = tanh(x + h @ W)`: what the loss of one pass is computed from is in the next `h` again.
    """
    assert isinstance(seen.node, ast.Name)
    name, step = seen.node.id, seen.step
    if not step.always_in(loop) or name in scope.shared:
        return False
    if backward.name == name:
        return False  # a total that is itself sent back, which is RGL105
    inside = [b for b in scope.bindings(name) if loop in b.step.loops]
    first = [b for b in scope.bindings(name) if loop not in b.step.loops]
    if len(inside) != 1 or not first or first[0].step.index > inside[0].step.index:
        return False
    (given,) = inside
    if given.step.index < step.index or given.how != "assign" or given.value is None:
        return False
    if not given.step.always_in(loop) or given.step.grad_off or scope.grad_off:
        return False
    if not _touched_only_there(scope, name, given.step, loop):
        return False
    walked = {(s.node, s.step) for s in values.trail(backward.value, backward.step) if s.certain}
    return any(
        part.step.always_in(loop)
        and (part.node, part.step) in walked
        and values.keeps(part)
        and values.graph(part.node, part.step)
        for part in values.trail(given.value, given.step)
    )


def _carried(
    program: Program, scope: Scope, values: Values, seen: Seen, loop: Loop
) -> ast.expr | None:
    """The argument of a recurrent call that is its own result of the pass before."""
    step, call = seen.step, seen.node
    assert isinstance(call, ast.Call)
    if loop not in step.loops or step.grad_off or scope.grad_off:
        return None
    callee = program.callee(call, scope)
    if callee.kind != "module" or not callee.trains or not values.passes(callee):
        return None
    if (dotted(call.func) or "") in program.frozen:
        return None
    results = {binding.name for binding in step.bindings}
    for argument in (*call.args, *(k.value for k in call.keywords)):
        name = dotted(argument)
        if name is None or name not in results or "." in name:
            continue
        inside = [b for b in scope.bindings(name) if loop in b.step.loops]
        before = [b for b in scope.bindings(name) if loop not in b.step.loops]
        if len(inside) != 1 or not before or not _touched_only_there(scope, name, step, loop):
            continue
        return argument
    return None


def _touched_only_there(scope: Scope, name: str, at: Step, loop: Loop) -> bool:
    """Whether nothing else in the loop can detach a value in place: no method, no statement."""
    for step in scope.steps:
        if loop not in step.loops or step is at:
            continue
        for call in step.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
                if mentions(call.func.value, name):
                    return False
            if expression_statement(step) is call and dotted(call.func) != "print":
                if any(mentions(argument, name) for argument in call.args):
                    return False
        if any(mentions(part, name) for part in step.parts if isinstance(part, ast.ListComp)):
            return False
        if isinstance(step.node, ast.For) and mentions(step.node.iter, name):
            return False
    return not scope.used_inside(name)


@rule(
    "RGL204", "closure-without-forward", "an LBFGS closure sends back what was computed outside it"
)
def closure_without_forward(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for closure in scope.inner:
            assert not isinstance(closure.node, ast.Module)
            if not _given_to_lbfgs(program, scope, closure.node.name):
                continue
            inner = Values(program, closure)
            for backward in backwards(program, closure):
                if backward.keeps or backward.step.guarded:
                    continue
                old = _from_outside(program, scope, closure, inner, backward)
                if old is not None:
                    yield Found(
                        backward.call,
                        f"`{old.name}` was computed outside the closure, in line "
                        f"{old.step.node.lineno}; LBFGS calls the closure many times",
                        (f"compute `{old.name}` in the closure",),
                    )


def _given_to_lbfgs(program: Program, scope: Scope, name: str) -> bool:
    for call in optimizer_calls(program, scope):
        if call.kind == "step" and call.closure == name:
            made = program.optimizer(call.name, scope)
            if made is not None and (dotted(made.func) or "").endswith("LBFGS"):
                most = keyword(made, "max_iter")
                return not (isinstance(most, ast.Constant) and most.value == 1)
    return False


def _from_outside(
    program: Program, scope: Scope, closure: Scope, inner: Values, backward: Backward
) -> Binding | None:
    outer = Values(program, scope)
    for seen in inner.trail(backward.value, backward.step):
        if not seen.certain or not isinstance(seen.node, ast.Name):
            continue
        name = seen.node.id
        if name in closure.bound or name in closure.parameters or name in closure.shared:
            continue
        bindings = scope.bindings(name)
        if len(bindings) != 1 or bindings[0].how not in ("assign", "part"):
            continue
        binding = bindings[0]
        if binding.value is not None and outer.graph(binding.value, binding.step):
            if outer.saves(binding.value, binding.step):
                return binding
    return None


RULES = (forward_outside_loop, state_carried, closure_without_forward)
