"""RGL2xx: graphs that are walked after they were freed, or not at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ..declare import Change, Found, repair, rule
from ..flow import Binding, Scope, Step, dotted
from ..program import Program, names_in
from ..training import Backward, backwards, expression_statement, optimizer_calls
from ..values import Values


@rule("RGL201", "backward-twice", "one loss is sent back twice, and the first time frees its graph")
def backward_twice(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        found = backwards(program, scope)
        values = Values(program, scope)
        for place, second in enumerate(found):
            for first in found[:place]:
                if first.keeps or first.name is None or first.name != second.name:
                    continue
                if first.call is second.call or first.step.guarded or second.step.guarded:
                    continue
                if not first.step.precedes(second.step) or second.step.arms != first.step.arms:
                    continue
                if _bound_between(scope, first.name, first.step, second.step):
                    continue
                if not values.saves(first.value, first.step):
                    continue
                how = "sent back" if first.kind == "backward" else "walked"
                yield Found(
                    second.call,
                    f"`{first.name}` was {how} in line {first.call.lineno}, which freed its graph",
                    (
                        "compute it again before the second call, or leave one of the two out",
                        "if both are needed on one graph: `retain_graph=True` on the first",
                    ),
                )
                break


def _bound_between(scope: Scope, name: str, first: Step, last: Step) -> bool:
    return any(first.index <= b.step.index < last.index for b in scope.bindings(name))


@rule("RGL205", "backward-not-called", "backward is named, not called", fix="unsafe")
def backward_not_called(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            node = expression_statement(step)
            if isinstance(node, ast.Attribute) and node.attr == "backward":
                yield Found(
                    node,
                    f"`{dotted(node) or 'backward'}` is not called",
                    ("add the parentheses",),
                    repair("add parentheses", (Change("call", node),)),
                )


@rule(
    "RGL206",
    "result-sent-back-twice",
    "two losses of one forward pass are sent back one after the other",
    fix="unsafe",
)
def result_sent_back_twice(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        found = [b for b in backwards(program, scope) if b.kind == "backward"]
        for first, second in pairwise(found):
            if (
                first.keeps
                or first.name == second.name
                or first.step.guarded
                or second.step.guarded
            ):
                continue
            if first.step.arms != second.step.arms or first.step.loops != second.step.loops:
                continue
            shared = _shared(program, scope, values, first, second)
            if shared is None:
                continue
            binding, used = shared
            edit = None
            stepped = _optimizer_after(program, scope, first, second)
            maker = dotted(binding.value.func) if isinstance(binding.value, ast.Call) else None
            if stepped is not None and maker is not None and used is not None:
                made = program.optimizer(stepped, scope)
                trained = program.trained_by(made) if made is not None else []
                if trained and maker not in trained:
                    text = f"use {binding.name}.detach() in the first loss"
                    edit = repair(text, (Change("method", used, "detach"),))
            yield Found(
                second.call,
                f"`{binding.name}` is part of this loss and of the one that line "
                f"{first.call.lineno} sent back, which freed its graph",
                (
                    f"if the first loss is not to train what made `{binding.name}`: "
                    f"`{binding.name}.detach()` there",
                    "or add the losses up and call `backward()` once",
                ),
                edit,
            )


def _shared(
    program: Program, scope: Scope, values: Values, first: Backward, second: Backward
) -> tuple[Binding, ast.expr | None] | None:
    """The result of a module that both losses come from, and where the first one used it."""
    one: dict[Binding, ast.expr | None] = {}
    uses: dict[tuple[str, Step], ast.expr] = {}
    for seen in values.trail(first.value, first.step):
        if isinstance(seen.node, ast.Name) and seen.certain:
            uses.setdefault((seen.node.id, seen.step), seen.node)
        if seen.binding is not None and seen.certain:
            used = [node for (name, _), node in uses.items() if name == seen.binding.name]
            one[seen.binding] = used[0] if len(used) == 1 else None
    for seen in values.trail(second.value, second.step):
        binding = seen.binding
        if binding is None or not seen.certain or binding not in one:
            continue
        if binding.step.index > first.step.index or not isinstance(seen.node, ast.Call):
            continue
        if binding.step.loops != first.step.loops:
            continue
        callee = program.callee(seen.node, scope)
        if callee.kind == "module" and values.graph(seen.node, seen.step):
            return binding, one[binding]
    return None


def _optimizer_after(
    program: Program, scope: Scope, first: Backward, second: Backward
) -> str | None:
    for call in optimizer_calls(program, scope):
        if call.kind == "step" and first.step.index < call.step.index < second.step.index:
            return call.name
    return None


@rule(
    "RGL207",
    "step-before-other-backward",
    "an optimizer changes parameters that a later backward still needs",
)
def step_before_other_backward(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        values = Values(program, scope)
        found = [b for b in backwards(program, scope) if b.kind == "backward"]
        steps = [c for c in optimizer_calls(program, scope) if c.kind == "step"]
        for backward in found:
            for call in steps:
                if not call.step.precedes(backward.step) or call.step.arms != backward.step.arms:
                    continue
                if call.step.loops != backward.step.loops or backward.step.guarded:
                    continue
                if not any(b is not backward and b.step.precedes(call.step) for b in found):
                    continue
                made = program.optimizer(call.name, scope)
                trained = program.trained_by(made) if made is not None else []
                used = _module_before(program, scope, values, backward, call.step, trained)
                if used is not None:
                    yield Found(
                        backward.call,
                        f"line {call.call.lineno} changes the parameters of `{used}`, which this "
                        "backward pass still needs as they were",
                        (
                            f"call `{call.name}.step()` after this `backward()`",
                            "or compute the loss after the step",
                        ),
                    )
                    break


def _module_before(
    program: Program, scope: Scope, values: Values, backward: Backward, at: Step, trained: list[str]
) -> str | None:
    """The stepped module that computed the loss before the step, from an input with a graph."""
    for seen in values.trail(backward.value, backward.step):
        if not isinstance(seen.node, ast.Call) or not seen.certain or seen.step.index > at.index:
            continue
        if seen.step.loops != at.loops:
            continue
        name = dotted(seen.node.func)
        callee = program.callee(seen.node, scope)
        if callee.kind == "function" and callee.function is not None:
            inner = [
                dotted(call.func) or ""
                for step in callee.function.steps
                for call in step.calls
                if dotted(call.func) in trained and "." not in (dotted(call.func) or "")
            ]
            given = [values.graph(argument, seen.step) for argument in seen.node.args]
            if inner and any(given) and _each_result_uses(callee.function, inner[0]):
                return inner[0]
        elif name in trained and callee.kind == "module" and callee.trains:
            if any(values.graph(argument, seen.step) for argument in seen.node.args):
                return name
    return None


def _each_result_uses(function: Scope, module: str) -> bool:
    """Whether every result of a function was computed with what a module gave."""
    tainted = {module}
    for step in function.steps:
        for binding in step.bindings:
            if binding.value is not None and names_in(binding.value) & tainted:
                tainted.add(binding.name)
    for step in function.steps:
        if isinstance(step.node, ast.Return) and step.node.value is not None:
            value = step.node.value
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            if not all(names_in(part) & tainted for part in parts):
                return False
    return True


RULES = (backward_twice, backward_not_called, result_sent_back_twice, step_before_other_backward)
