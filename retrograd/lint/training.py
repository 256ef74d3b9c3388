"""The calls of a training loop: backward, step, zero_grad, and the functions that make them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .flow import Scope, Step, dotted, walk_here
from .program import Program, keyword
from .torch_names import is_optimizer

_ENGINES = re.compile(
    r"(^|\.|_)(accelerator|fabric|engine|model_engine|booster|manager|strategy|trainer)$"
)


@dataclass(frozen=True)
class Backward:
    """A call that walks a graph: `loss.backward()`, `torch.autograd.grad(loss, ...)`."""

    step: Step
    call: ast.Call
    value: ast.expr  # what is sent back
    keeps: bool  # the graph is kept, or that is not known
    kind: str  # backward, grad, function (of this program, which does it)

    @property
    def name(self) -> str | None:
        """The name of what is sent back, if it is one."""
        return dotted(self.value)


def backwards(program: Program, scope: Scope) -> list[Backward]:
    """The calls of a scope that walk a graph, in order."""
    cache = program.kept("backwards")
    if scope not in cache:
        cache[scope] = [b for step in scope.steps for b in _in_step(program, scope, step)]
    found: list[Backward] = cache[scope]
    return found


def _in_step(program: Program, scope: Scope, step: Step) -> Iterator[Backward]:
    for call in step.calls:
        path = program.qualified(call.func, scope)
        if path in ("torch.autograd.backward", "torch.autograd.grad"):
            given = call.args[0] if call.args else None
            if given is not None:
                kind = path.rpartition(".")[2]
                parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
                for part in parts:
                    yield Backward(step, call, part, _keeps(call), kind)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            value = _sent_back(call)
            if value is not None and not path:
                yield Backward(step, call, value, _keeps(call), "backward")
        else:
            yield from _by_function(program, scope, step, call)


def _sent_back(call: ast.Call) -> ast.expr | None:
    assert isinstance(call.func, ast.Attribute)
    receiver = call.func.value
    name = dotted(receiver)
    if name in ("self", "ctx", "cls"):
        return None
    if name is not None and _ENGINES.search(name):
        return call.args[0] if call.args else None
    # scaler.scale(loss).backward()
    if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute):
        if receiver.func.attr == "scale" and len(receiver.args) == 1:
            return receiver.args[0]
        if (
            isinstance(receiver.func.value, ast.Call)
            and dotted(receiver.func.value.func) == "super"
        ):
            return None
    if isinstance(receiver, ast.Call) and dotted(receiver.func) == "super":
        return None
    return receiver


def _keeps(call: ast.Call) -> bool:
    retain, create = keyword(call, "retain_graph"), keyword(call, "create_graph")
    positional = any(isinstance(a, ast.Constant) and a.value is True for a in call.args)
    unknown = any(k.arg is None for k in call.keywords)
    for value in (retain, create):
        if value is not None and not (isinstance(value, ast.Constant) and not value.value):
            return True
    return positional or unknown


def _by_function(program: Program, scope: Scope, step: Step, call: ast.Call) -> Iterator[Backward]:
    """A call of a function of this program that walks the graph of an argument, and frees it."""
    name = dotted(call.func)
    function = program.functions.get(name or "")
    if function is None or function is scope or program.callee(call, scope).kind != "function":
        return
    for inner in _always(program, function):
        if inner.name in function.parameters and not function.bindings(inner.name or ""):
            place = function.parameters.index(inner.name or "")
            if place < len(call.args) and not isinstance(call.args[place], ast.Starred):
                yield Backward(step, call, call.args[place], False, "function")


def _always(program: Program, function: Scope) -> list[Backward]:
    """What the function itself sends back in every call, freeing it."""
    return [
        found
        for step in function.steps
        if not step.arms and not step.loops and not step.guarded
        for found in _direct(program, function, step)
        if not found.keeps
    ]


def _direct(program: Program, scope: Scope, step: Step) -> Iterator[Backward]:
    for call in step.calls:
        path = program.qualified(call.func, scope)
        if path == "torch.autograd.grad" and call.args:
            yield Backward(step, call, call.args[0], _keeps(call), "grad")
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and not path:
            value = _sent_back(call)
            if value is not None:
                yield Backward(step, call, value, _keeps(call), "backward")


@dataclass(frozen=True)
class OptimizerCall:
    """`optimizer.step()` or `optimizer.zero_grad()`, also through a gradient scaler."""

    step: Step
    call: ast.Call
    name: str
    kind: str  # step, zero_grad
    closure: str = ""  # the function that `step` was given


def optimizer_calls(program: Program, scope: Scope) -> list[OptimizerCall]:
    """The calls of optimizers in a scope, in order."""
    cache = program.kept("optimizer calls")
    if scope not in cache:
        cache[scope] = list(_find_optimizer_calls(program, scope))
    found: list[OptimizerCall] = cache[scope]
    return found


def _find_optimizer_calls(program: Program, scope: Scope) -> Iterator[OptimizerCall]:
    for step in scope.steps:
        for call in step.calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            name = dotted(call.func.value)
            kind = call.func.attr
            if name is None or kind not in ("step", "zero_grad"):
                continue
            if program.looks_like_optimizer(name, scope):
                closure = dotted(call.args[0]) if call.args and kind == "step" else None
                yield OptimizerCall(step, call, name, kind, closure or "")
            elif kind == "step" and len(call.args) == 1 and "scaler" in name.lower():
                given = dotted(call.args[0])
                if given is not None:
                    yield OptimizerCall(step, call, given, "step")


def given_tensors(made: ast.Call) -> list[str]:
    """The names in `Adam([a, b])`."""
    given = made.args[0] if made.args else None
    parts = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    return [part.id for part in parts if isinstance(part, ast.Name)]


def is_optimized(program: Program, scope: Scope, name: str) -> bool:
    """Whether an optimizer of this scope is given a tensor of this name."""
    return any(
        name in given_tensors(call)
        for step in scope.steps
        for call in step.calls
        if is_optimizer(program.qualified(call.func, scope))
    )


def clears_gradients(node: ast.AST) -> bool:
    """Whether something in it clears gradients, or may."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in (
            *("zero_grad", "zero_grad_", "grad", "main_grad", "_zero_grad", "clear_grad"),
            *("optimizer_zero_grad", "zero_grads", "register_post_accumulate_grad_hook"),
        ):
            return True
        if isinstance(part, ast.Constant) and part.value in ("grad", "zero_grad"):
            return True
    return False


def local_calls(program: Program, node: ast.AST) -> Iterator[Scope]:
    """The functions and methods of this program that are called in a part of it, and theirs."""
    waiting: list[ast.AST] = [node]
    done: set[Scope] = set()
    while waiting:
        part = waiting.pop()
        for call in walk_here(part):
            if not isinstance(call, ast.Call):
                continue
            last = (dotted(call.func) or "").rpartition(".")[2]
            for other in _by_last_name(program).get(last, ()):
                if other not in done:
                    done.add(other)
                    yield other
                    waiting += other.node.body


def _by_last_name(program: Program) -> dict[str, list[Scope]]:
    cache: dict[str, list[Scope]] = program.kept("by last name")
    if not cache:
        for scope in program.scopes[1:]:
            assert not isinstance(scope.node, ast.Module)
            cache.setdefault(scope.node.name, []).append(scope)
    return cache


def expression_statement(step: Step) -> ast.expr | None:
    """The expression, if the statement is nothing else."""
    return step.node.value if isinstance(step.node, ast.Expr) else None
