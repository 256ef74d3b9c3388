"""RGL5xx: hints, off unless selected. What they find may well be meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import dotted
from ..program import Program
from .idle import VARIABLE
from .writes import UPDATES


@rule(
    "RGL501",
    "forward-called",
    "forward is called instead of the module",
    default=False,
    fix="unsafe",
)
def forward_called(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            for call in step.calls:
                if not (isinstance(call.func, ast.Attribute) and call.func.attr == "forward"):
                    continue
                name = dotted(call.func.value)
                if name is None or name in ("self", "cls"):
                    continue
                if program.instance(name, scope).kind in ("module", "loss"):
                    yield Found(
                        call,
                        f"`{name}.forward(...)` leaves out the hooks",
                        (f"call `{name}(...)`",),
                        repair("call the module", (Change("callee", call),)),
                    )


@rule("RGL502", "data-written", "a tensor is written through .data", default=False)
def data_written(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            targets: list[ast.expr] = []
            if isinstance(step.node, ast.Assign):
                targets = list(step.node.targets)
            elif isinstance(step.node, ast.AugAssign):
                targets = [step.node.target]
            for call in step.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr in UPDATES | {"normal_"}:
                    targets.append(call.func.value)
            for target in targets:
                while isinstance(target, ast.Subscript):
                    target = target.value
                if isinstance(target, ast.Attribute) and target.attr == "data":
                    name = dotted(target.value)
                    if name is not None and name != "self":
                        yield Found(
                            step.node,
                            f"`{name}.data` is written where autograd does not see it",
                            (f"`with torch.no_grad():` and `{name}` itself",),
                        )


@rule(
    "RGL503",
    "variable-leftover",
    "Variable does nothing since PyTorch 0.4",
    default=False,
    fix="unsafe",
)
def variable_leftover(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for step in scope.steps:
            for call in step.calls:
                if program.qualified(call.func, scope) in VARIABLE:
                    plain = len(call.args) == 1 and not call.keywords
                    yield Found(
                        call,
                        "`Variable` is not needed: a tensor is one",
                        ("use the tensor, with `requires_grad_()` if it is to be trained",),
                        repair("use the tensor", (Change("argument", call),)) if plain else None,
                    )


RULES = (forward_called, data_written, variable_leftover)
