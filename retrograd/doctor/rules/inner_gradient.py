"""Inner gradients that are constants for the outer loss, where the text says that they are not.

`fast = weight - rate * autograd.grad(loss, weight)[0]` without `create_graph` gives the first-order
meta-gradient, which is a method of its own. Only words tell whether it is meant.
"""

from __future__ import annotations

import ast
import re

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import flow
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call

TIMES = 2

PROMISED = re.compile(
    r"second.?order|second.derivative|hessian|through the (inner|update|gradient|adaptation)"
    r"|differentiat\w+ through|stays? a function of|unrolled"
)
DENIED = re.compile(r"first.?order|fo.?maml|reptile|no second|without second|create_graph")


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such line."""
    optimizers = watched.recorder.gradients.optimizers
    trained = {id(parameter) for each in optimizers for parameter in parameters_of(each)}
    by_line: dict[Place, list[Call]] = {}
    for call in watched.recorder.calls:
        place = call.log.place_of(call.stack)
        if call.kind == "grad" and not call.create and not call.nested and place is not None:
            by_line.setdefault(place, []).append(call)
    return [
        _diagnosis(place, calls)
        for place, calls in by_line.items()
        if len(calls) >= TIMES
        and any(trained & set(call.versions) for call in calls)
        and _is_promised(calls[-1])
        and _updates(place)
    ]


def _is_promised(call: Call) -> bool:
    """Whether the functions that led to a call, or the module, speak of the second order."""
    text = []
    for place in call.log.places_of(call.stack):
        function = source.function_around(place.file, place.line)
        text.append(ast.get_docstring(source.tree_of(place.file)) or "")
        if function is not None:
            lines = range(function.lineno - 1, (function.end_lineno or function.lineno) + 1)
            text += [source.text_at(place.file, line) for line in lines]
    whole = " ".join(text).lower()
    return bool(PROMISED.search(whole)) and not DENIED.search(whole)


def _updates(place: Place) -> bool:
    """Whether the gradient makes new weights that the function goes on with: `w - rate * g`."""
    function = source.function_around(place.file, place.line)
    scope: ast.AST = source.tree_of(place.file) if function is None else function
    names = flow.names_from(scope, flow.names_kept(place))
    for node in ast.walk(scope):
        if isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
            for each in node.generators:
                if flow.uses(each.iter, names):
                    bound = (n for n in ast.walk(each.target) if isinstance(n, ast.Name))
                    names |= {n.id for n in bound}
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.right, ast.BinOp)
        and isinstance(node.right.op, ast.Mult)
        and flow.uses(node.right, names)
        for node in ast.walk(scope)
    )


def _diagnosis(place: Place, calls: list[Call]) -> Diagnosis:
    stack = calls[-1].log.places_of(calls[-1].stack)
    return Diagnosis(
        cause="missing-create-graph",
        title=f"the gradients of line {place.line} are constants for the loss behind them",
        why="autograd.grad() without create_graph=True gives numbers without history. New weights "
        "are computed from them, and the loss of these weights is sent back as if the gradients "
        "did not depend on the old ones: that is the first-order gradient, and the program speaks "
        "of the second order.",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[Fix("create-graph", place, "take the gradient with create_graph=True")],
        spans=[Span("taken", place, stack)],
        facts={"calls": len(calls)},
    )
