"""RGL40x: optimizers that are called in the wrong order, or hold the wrong parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Binding, Scope, Step, dotted
from ..program import Program, mentions, unwrapped
from ..torch_names import PASSING_METHODS, is_layer, is_optimizer
from ..training import (
    OptimizerCall,
    backwards,
    clears_gradients,
    expression_statement,
    given_tensors,
    local_calls,
    optimizer_calls,
)
from ..values import Values, is_leaf_that_requires_grad
from .loops import may_stop_after_one

_QUIET = frozenset(
    "print item float len clip_grad_norm_ clip_grad_value_ append format write parameters".split()
)
"""Functions and methods that surely send nothing back."""


@rule("RGL401", "cleared-before-step", "gradients are cleared between backward and step")
def cleared_before_step(program: Program) -> Iterator[Found]:
    for scope, zero, step in _cleared_then_stepped(program):
        if any(
            b.step.index < zero.step.index and _same_block(b.step, zero.step)
            for b in backwards(program, scope)
        ):
            yield Found(
                zero.call,
                f"the gradients are cleared before line {step.call.lineno} steps with them",
                (f"call `{zero.name}.zero_grad()` before `backward()`",),
            )


def _same_block(one: Step, other: Step) -> bool:
    return one.loops == other.loops and one.arms == other.arms


def _cleared_then_stepped(program: Program) -> Iterator[tuple[Scope, OptimizerCall, OptimizerCall]]:
    """`zero_grad()` and then `step()` of one optimizer, with surely no backward between them."""
    for scope in program.scopes:
        calls = optimizer_calls(program, scope)
        sent = backwards(program, scope)
        for zero in calls:
            if zero.kind != "zero_grad":
                continue
            step = next(
                (c for c in calls if c.name == zero.name and c.step.index > zero.step.index), None
            )
            if step is None or step.kind != "step" or step.call.args[1:] or step.closure:
                continue
            if not _same_block(zero.step, step.step) or not _plain(program, scope, zero.name):
                continue
            if any(zero.step.index < b.step.index < step.step.index for b in sent):
                continue
            if all(_quiet(program, scope, s) for s in scope.between(zero.step, step.step)):
                yield scope, zero, step


def _plain(program: Program, scope: Scope, name: str) -> bool:
    """An optimizer of torch.optim, or an argument that is called like one."""
    bindings = program.all_bindings(name, scope)
    if bindings is not None:
        return program.optimizer(name, scope) is not None
    return name in scope.parameters


def _quiet(program: Program, scope: Scope, step: Step) -> bool:
    """Whether a step surely sends nothing back and fills no gradient in."""
    for call in step.calls:
        name = dotted(call.func) or ""
        last = call.func.attr if isinstance(call.func, ast.Attribute) else name
        callee = program.callee(call, scope)
        if last in _QUIET or callee.kind in ("module", "loss"):
            continue
        if callee.kind == "torch" and not callee.path.startswith("torch.autograd"):
            continue
        if isinstance(call.func, ast.Attribute) and last in PASSING_METHODS | {"step"}:
            continue
        return False
    return not any(binding.name.endswith(".grad") for binding in step.bindings)


@rule("RGL403", "step-before-backward", "the step comes before backward, with cleared gradients")
def step_before_backward(program: Program) -> Iterator[Found]:
    for scope, zero, step in _cleared_then_stepped(program):
        sent = [b for b in backwards(program, scope) if _same_block(b.step, step.step)]
        before = any(b.step.index < zero.step.index for b in sent)
        after = [b for b in sent if b.step.index > step.step.index]
        if after and not before:
            yield Found(
                step.call,
                f"the step comes before `backward()` in line {after[0].call.lineno}: there are no "
                "gradients",
                (f"call `{step.name}.step()` after `backward()`",),
            )


@rule("RGL402", "gradients-not-cleared", "a training loop never clears the gradients", fix="unsafe")
def gradients_not_cleared(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for call in optimizer_calls(program, scope):
            if call.kind != "step" or call.closure or not call.step.loops or call.step.guarded:
                continue
            loop = call.step.loops[-1]
            if may_stop_after_one(scope, loop) or not call.step.always_in(loop):
                continue
            sent = [
                b
                for b in backwards(program, scope)
                if b.kind == "backward"
                and loop in b.step.loops
                and b.step.precedes(call.step)
                and b.step.always_in(loop)
            ]
            if not sent or not _plain(program, scope, call.name):
                continue
            if any(call.name == b.name for s in scope.steps if loop in s.loops for b in s.bindings):
                continue  # a new optimizer in every pass
            if clears_gradients(scope.node) or _handed_on(program, scope, call):
                continue
            if any(clears_gradients(other.node) for other in local_calls(program, loop)):
                continue
            first = sent[0]
            yield Found(
                call.call,
                "nothing in this loop clears the gradients: they add up over the passes",
                (f"call `{call.name}.zero_grad()` before `backward()`",),
                repair(
                    "clear the gradients before backward",
                    (Change("before", first.step.node, f"{call.name}.zero_grad()"),),
                ),
            )


def _handed_on(program: Program, scope: Scope, call: OptimizerCall) -> bool:
    """Whether something unknown gets the optimizer, the model, or is a method of self."""
    made = program.optimizer(call.name, scope)
    held = {call.name, *(program.trained_by(made) if made is not None else ())}
    for step in scope.steps:
        if call.step.loops[-1] not in step.loops:
            continue
        for other in step.calls:
            if other is call.call:
                continue
            callee = program.callee(other, scope)
            name = dotted(other.func) or ""
            if name.startswith("self.") and callee.kind == "unknown" and name.count(".") == 1:
                return True
            if callee.kind in ("unknown", "function") and not name.startswith("scaler."):
                if any(dotted(argument) in held for argument in other.args):
                    return True
    return False


@rule(
    "RGL404", "optimizer-of-old-parameters", "the model is replaced after the optimizer was built"
)
def optimizer_of_old_parameters(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            for built in step.bindings:
                if not isinstance(built.value, ast.Call) or built.how != "assign":
                    continue
                if not program.qualified(built.value.func, scope).startswith("torch.optim."):
                    continue
                for name in program.trained_by(built.value):
                    new = _replaced_after(program, scope, built, name)
                    if new is None or _built_again(scope, built, new):
                        continue
                    if not _stepped_after(program, scope, built.name, new.step):
                        continue
                    yield Found(
                        new.node,
                        f"`{built.name}` was built in line {step.node.lineno} with the parameters "
                        f"that `{name}` had before",
                        (f"build `{built.name}` after this line",),
                    )


def _replaced_after(program: Program, scope: Scope, built: Binding, name: str) -> Binding | None:
    for step in scope.steps[built.step.index + 1 :]:
        if not _same_block(step, built.step):
            continue
        for binding in step.bindings:
            value = binding.value
            if binding.how != "assign" or value is None or mentions(value, name):
                continue
            value = unwrapped(value)
            if not isinstance(value, ast.Call):
                continue
            path = program.qualified(value.func, scope)
            module = is_layer(path) or (dotted(value.func) or "") in program.module_classes
            if binding.name == name and module:
                return binding
            if binding.name.startswith(name + ".") and module:
                if program.makes_parameters(value, scope):
                    return binding
    return None


def _built_again(scope: Scope, built: Binding, new: Binding) -> bool:
    if any(b.step.index > new.step.index for b in scope.bindings(built.name)):
        return True
    return any(
        dotted(call.func) in (f"{built.name}.add_param_group", f"{built.name}.load_state_dict")
        for step in scope.steps[new.step.index :]
        for call in step.calls
    )


def _stepped_after(program: Program, scope: Scope, name: str, after: Step) -> bool:
    return any(
        call.kind == "step" and call.name == name and call.step.index > after.index
        for call in optimizer_calls(program, scope)
    )


@rule("RGL405", "step-not-called", "step or zero_grad is named, not called", fix="unsafe")
def step_not_called(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            node = expression_statement(step)
            if isinstance(node, ast.Attribute) and node.attr in ("step", "zero_grad"):
                yield Found(
                    node,
                    f"`{dotted(node) or node.attr}` is not called",
                    ("add the parentheses",),
                    repair("add parentheses", (Change("call", node),)),
                )


_NO_COPY = frozenset("to cpu cuda float double half bfloat16 contiguous type type_as".split())
"""Methods that give the tensor itself back where there is nothing to do."""


@rule(
    "RGL406", "optimizer-of-result", "an optimizer is given a tensor that an operation has computed"
)
def optimizer_of_result(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        for step in scope.steps:
            for call in step.calls:
                if not is_optimizer(program.qualified(call.func, scope)):
                    continue
                for name in given_tensors(call):
                    found = scope.reaching(name, step)
                    if found is None or len(found) != 1 or values.carried(name, step, found):
                        continue
                    if _is_result(program, scope, values, found[0]):
                        yield Found(
                            call,
                            f"`{name}` is not a leaf: line {found[0].step.node.lineno} computes it",
                            (f"make it one: `{name} = {name}.detach().requires_grad_()`",),
                        )


def _is_result(program: Program, scope: Scope, values: Values, binding: Binding) -> bool:
    value = binding.value
    if binding.how != "assign" or value is None:
        return False
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _NO_COPY
    ):
        value = value.func.value
    if isinstance(value, ast.Call):
        if is_leaf_that_requires_grad(program, value, scope):
            return False
    elif not isinstance(value, ast.BinOp | ast.UnaryOp):
        return False
    return values.graph(value, binding.step) is True


RULES = (
    cleared_before_step,
    gradients_not_cleared,
    step_before_backward,
    optimizer_of_old_parameters,
    step_not_called,
    optimizer_of_result,
)
