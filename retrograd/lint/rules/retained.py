"""RGL103 and RGL104: graphs that are kept on purpose, for nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Scope, Step, dotted, walk_here
from ..program import Program, is_true, keyword
from ..torch_names import CUTTING_METHODS, PASSING_METHODS
from ..training import Backward, backwards
from ..values import Values
from .memory import HARMLESS


@rule(
    "RGL103",
    "needless-retain-graph",
    "retain_graph=True where the graph is made anew in every step and walked once",
    fix="safe",
)
def needless_retain_graph(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        found = backwards(program, scope)
        for backward in found:
            retain = keyword(backward.call, "retain_graph")
            if backward.kind != "backward" or not is_true(retain) or len(found) != 1:
                continue
            if keyword(backward.call, "create_graph") is not None or backward.step.guarded:
                continue
            name = backward.name
            if name is None or "." in name or not backward.step.loops:
                continue
            if _all_made_in(program, scope, backward) and _stays_here(scope, name):
                yield Found(
                    backward.call,
                    "`retain_graph=True` keeps a graph that nothing walks again",
                    ("leave it out: the next pass makes its own graph",),
                    repair(
                        "remove retain_graph=True",
                        (Change("keyword", backward.call, "retain_graph"),),
                        safe=True,
                    ),
                )


def _all_made_in(program: Program, scope: Scope, backward: Backward) -> bool:
    """Whether all of a loss's graph is known and made in the same pass of the loop."""
    loop = backward.step.loops[-1]
    values = Values(program, scope)
    for seen in values.trail(backward.value, backward.step):
        if not seen.certain:
            return False
        if seen.binding is not None and loop not in seen.binding.step.loops:
            if values.graph(seen.node, seen.step) is not False:
                return False
        if isinstance(seen.node, ast.Call):
            callee = program.callee(seen.node, scope)
            if callee.kind in ("unknown", "function"):
                if not _known_method(seen.node):
                    return False
            elif callee.kind == "module" and not callee.seen:
                return False
            elif callee.kind == "module" and callee.own is not None:
                if callee.own.keeps_state or _graph_in_init(callee.own.text):
                    return False
        elif isinstance(seen.node, ast.Name) and not scope.reaching(seen.node.id, seen.step):
            bindings = program.all_bindings(seen.node.id, scope)
            plain = bindings is not None and all(
                isinstance(b.value, ast.Constant) for b in bindings
            )
            if not plain and program.instance(seen.node.id, scope).kind == "unknown":
                return False
        elif isinstance(seen.node, ast.Attribute):
            return False
    return True


def _known_method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in (
        PASSING_METHODS | CUTTING_METHODS
    )


def _graph_in_init(text: str) -> bool:
    return "softmax(" in text.partition("def forward")[0]


def _stays_here(scope: Scope, name: str) -> bool:
    """Whether a loss goes nowhere else: no unknown function, no list, no result gets it."""
    for step in scope.steps:
        if isinstance(step.node, ast.Return) and step.node.value is not None:
            if any(dotted(part) == name for part in ast.walk(step.node.value)):
                return False
        for call in step.calls:
            given = (*call.args, *(k.value for k in call.keywords))
            if dotted(call.func) not in HARMLESS and any(dotted(a) == name for a in given):
                return False
        for binding in step.bindings:
            if binding.name != name and binding.value is not None:
                if dotted(binding.value) == name:
                    return False
    return not scope.used_inside(name)


@rule(
    "RGL104",
    "needless-create-graph",
    "create_graph=True where the gradients are not differentiated again",
    fix="unsafe",
)
def needless_create_graph(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        for backward in backwards(program, scope):
            call = backward.call
            if backward.kind != "grad" or not is_true(keyword(call, "create_graph")):
                continue
            names = _results_of(backward.step, call)
            if names is None or any(_used_with_graph(scope, name) for name in names):
                continue
            yield Found(
                call,
                "`create_graph=True`, but the gradients are not differentiated again",
                ("leave it out, or use the gradients in a loss",),
                repair("remove create_graph=True", (Change("keyword", call, "create_graph"),)),
            )


def _results_of(step: Step, call: ast.Call) -> list[str] | None:
    """The names of a call's results; None if they go somewhere else."""
    node = step.node
    if isinstance(node, ast.Expr) and node.value is call:
        return []
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.Subscript):
        value = value.value
    if value is not call:
        return None
    names = [binding.name for binding in step.bindings]
    return names if names and all("." not in name for name in names) else None


def _used_with_graph(scope: Scope, name: str) -> bool:
    """Whether a name is used other than as `name.detach()` and the like, or may be."""
    if scope.used_inside(name):
        return True
    parents: dict[ast.AST, ast.AST] = {}
    for step in scope.steps:
        for part in step.parts:
            for node in walk_here(part):
                parents.update((child, node) for child in ast.iter_child_nodes(node))
                if isinstance(node, ast.Name) and node.id == name:
                    if isinstance(node.ctx, ast.Store):
                        continue
                    above = parents.get(node)
                    if isinstance(above, ast.Attribute) and (
                        above.attr in ("detach", "item", "data", "shape", "tolist", "size")
                    ):
                        continue
                    return True
    return False


RULES = (needless_retain_graph, needless_create_graph)
