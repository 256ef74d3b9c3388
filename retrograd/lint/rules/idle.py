"""RGL301 and RGL307: statements and arguments that do nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Scope, Step, dotted
from ..program import Program, keyword
from ..torch_names import CREATING_FUNCTIONS
from ..training import backwards, expression_statement

VARIABLE = ("torch.autograd.Variable", "torch.autograd.variable.Variable")


_CUT = frozenset(["detach"])


_COPIES = frozenset(
    "to cpu cuda float double half bfloat16 long int contiguous clone squeeze unsqueeze".split()
)


@rule(
    "RGL301", "result-dropped", "a method that changes nothing has its result dropped", fix="unsafe"
)
def result_dropped(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            call = expression_statement(step)
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            method, name = call.func.attr, dotted(call.func.value)
            if name is None or name in ("self", "super") or step.guarded:
                continue
            surely = method in _CUT or (method in _COPIES and is_tensor(program, scope, step, name))
            if not surely or (method in _CUT and (call.args or call.keywords)):
                continue
            if (
                program.qualified(call.func, scope)
                or program.instance(name, scope).kind != "unknown"
            ):
                continue
            if method in _CUT and _may_be_other(program, scope, name):
                continue
            yield Found(
                call,
                f"`{name}.{method}()` changes nothing: its result is dropped",
                (
                    f"`{name} = {name}.{method}(...)`"
                    if call.args
                    else f"`{name} = {name}.{method}()`",
                ),
                repair("assign the result", (Change("assign", step.node, name),)),
            )


def is_tensor(program: Program, scope: Scope, step: Step, name: str) -> bool:
    """Whether a name is surely a tensor: made by torch, or sent back."""
    if any(b.name == name for b in backwards(program, scope)):
        return True
    found = scope.reaching(name, step)
    if not found:
        return False
    for binding in found:
        value = binding.value
        if binding.how not in ("assign", "part") or not isinstance(value, ast.Call):
            return False
        callee = program.callee(value, scope)
        made = callee.path in CREATING_FUNCTIONS or callee.path.startswith("torch.nn.functional.")
        if binding.how == "part" or not (made or callee.kind in ("module", "loss")):
            return False
        if callee.kind == "module" and (callee.own is not None or not callee.seen):
            return False  # it may give anything
        if callee.kind == "module" and callee.path.rpartition(".")[2] in ("RNN", "GRU", "LSTM"):
            return False
    return True


def _may_be_other(program: Program, scope: Scope, name: str) -> bool:
    """Whether a name may stand for something else that has a method `detach`."""
    for inner in program.scopes:
        if not isinstance(inner.node, ast.Module) and inner.node.name == "detach":
            return True
    if name.rpartition(".")[2] in ("process", "handle", "stream", "client", "thread", "session"):
        return True
    for binding in program.all_bindings(name, scope) or ():
        if isinstance(binding.value, ast.Call):
            path = program.qualified(binding.value.func, scope)
            if path and not path.startswith("torch"):
                return True
    return False


@rule("RGL307", "volatile-ignored", "volatile is ignored since PyTorch 0.4")
def volatile_ignored(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            places: list[ast.AST] = [
                b.node
                for b in step.bindings
                if b.name.endswith(".volatile") and isinstance(b.value, ast.Constant)
            ]
            for call in step.calls:
                path = program.qualified(call.func, scope)
                if path in VARIABLE and keyword(call, "volatile") is not None:
                    places.append(call)
            for place in places:
                yield Found(
                    place,
                    "`volatile` is ignored: a graph is recorded",
                    ("compute under `with torch.no_grad():`",),
                )


RULES = (result_dropped, volatile_ignored)
