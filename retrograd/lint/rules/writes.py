"""RGL302 and RGL308: writes that autograd does not see, or does not allow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Scope, Step, dotted
from ..program import Program
from ..training import expression_statement
from ..values import is_leaf_that_requires_grad

UPDATES = frozenset(
    "add_ sub_ mul_ div_ copy_ fill_ zero_ clamp_ clip_ pow_ addcmul_ addcdiv_ lerp_ relu_".split()
)


@rule(
    "RGL302",
    "data-update",
    "parameters are updated through .data instead of under no_grad",
    fix="unsafe",
)
def data_update(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            node = step.node
            if not (isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute)):
                continue
            if node.target.attr != "data" or not _reads_gradient(node.value):
                continue
            name = dotted(node.target.value) or "p"
            edits = [Change("drop-data", node.target)]
            module = _torch_name(program, scope)
            if module is not None and not step.grad_off and not scope.grad_off:
                edits.append(Change("block", node, f"{module}.no_grad()"))
            yield Found(
                node,
                f"`{name}.data` is written where autograd does not see it",
                (f"`with torch.no_grad(): {name} -= ...`", "or use an optimizer of torch.optim"),
                repair("write under torch.no_grad()", tuple(edits)) if module is not None else None,
            )


def _reads_gradient(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "grad" for part in ast.walk(node))


def _torch_name(program: Program, scope: Scope) -> str | None:
    """What `torch` is called in a scope."""
    at: Scope | None = scope
    while at is not None:
        for name, path in at.imported.items():
            if path == "torch":
                return name
        at = at.outer
    return None


@rule("RGL308", "leaf-written", "a leaf that requires a gradient is written in place")
def leaf_written(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        if scope.grad_off or program.switches_grad_mode:
            continue
        for step in scope.steps:
            if step.grad_off or step.guarded:
                continue
            name = _written(step)
            if name is None:
                continue
            found = scope.reaching(name, step)
            if not found or not all(
                b.how == "assign"
                and isinstance(b.value, ast.Call)
                and is_leaf_that_requires_grad(program, b.value, scope)
                for b in found
            ):
                continue
            if _let_go(scope, name, found[-1].step, step):
                continue
            yield Found(
                step.node,
                f"`{name}` is a leaf that requires a gradient, and is written in place",
                (
                    "an update: `with torch.no_grad():`",
                    f"a computation: a new name for `{name} + ...`",
                ),
            )


def _written(step: Step) -> str | None:
    node = step.node
    if isinstance(node, ast.AugAssign):
        target = node.target
        if isinstance(target, ast.Subscript):
            return dotted(target.value)
        return dotted(target)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return dotted(node.targets[0].value)
    call = expression_statement(step)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr in UPDATES:
            return dotted(call.func.value)
    return None


def _let_go(scope: Scope, name: str, made: Step, step: Step) -> bool:
    """Whether something between may have made it a tensor that requires nothing."""
    for between in scope.between(made, step):
        for call in between.calls:
            if isinstance(call.func, ast.Attribute) and dotted(call.func.value) == name:
                if call.func.attr in ("requires_grad_", "detach_", "set_", "swap_"):
                    return True
    return bool(scope.bindings(name + ".requires_grad"))


RULES = (data_update, leaf_written)
