"""A gradient taken without `create_graph` and added to a loss: the term trains nothing.

Two things must agree. In the graph, a value without history is added to the loss at some line. In
the text, that line adds a name which comes from the result of the `autograd.grad` call. (A gradient
that only weights another term, or makes an adversarial example, is added to nothing.)
"""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import flow
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such `autograd.grad` line."""
    calls = watched.recorder.calls
    by_line: dict[Place, list[Call]] = {}
    for call in calls:
        place = call.log.place_of(call.stack)
        if call.kind == "grad" and not call.create and not call.nested and place is not None:
            by_line.setdefault(place, []).append(call)
    sums = _sums(watched)
    optimizers = watched.recorder.gradients.optimizers
    trained = {id(parameter) for each in optimizers for parameter in parameters_of(each)}
    found = []
    for place, taken in by_line.items():
        # a gradient of something that no optimizer trains is data
        if len(taken) < TIMES or not any(trained & set(call.versions) for call in taken):
            continue
        stack = taken[-1].log.places_of(taken[-1].stack)
        line = next((line for line in sums if _flows(stack, line, sums[line])), None)
        if line is not None:
            found.append(_diagnosis(place, stack, line, len(taken)))
    return found


Terms = list[tuple[bool, bool]]


def _sums(watched: Watched) -> dict[Place, Terms]:
    """The lines that add values without history to a loss, at least twice, and their additions."""
    seen: dict[Place, list[Terms]] = {}
    for index, nodes in watched.recorder.sums.items():
        log = watched.recorder.calls[index].log
        here: dict[Place, dict[int, Terms]] = {}
        for number, left, right, depth in nodes:
            stack = log.stack_of(number)
            if stack:
                by_depth = here.setdefault(stack[-1][1], {})
                by_depth.setdefault(depth, []).append((left, right))
        for place, by_depth in here.items():
            terms = by_depth[min(by_depth)]  # a line may have sums within its sum
            if any(left or right for left, right in terms):
                seen.setdefault(place, []).append(terms)
    return {place: all_terms[-1] for place, all_terms in seen.items() if len(all_terms) >= TIMES}


def _flows(stack: list[Place], line: Place, terms: Terms) -> bool:
    """Whether the line adds, as a constant, what comes from the value of the stack's last line."""
    called = "grad"
    for place in reversed(stack):
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        names = flow.names_from(scope, flow.names_kept(place))
        # `loss = fit + penalty(critic, real)`: the line that takes the gradient adds it as well
        inline = called if (line.file, line.line) == (place.file, place.line) else ""
        if line.file == place.file and _adds_one_of(line, names, terms, inline):
            return True
        if not flow.returns(scope, place, names):
            return False
        called = place.function.rpartition(".")[2]
    return False


def _adds_one_of(line: Place, names: set[str], additions: Terms, inline: str) -> bool:
    """Whether a term of the line uses the names, or calls `inline`, and is without history."""
    statement = source.statement_at(line.file, line.line)
    if statement is None:
        return False
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        return _comes_from(statement.value, names, inline) and additions[-1][1]
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            terms = _terms(node)
            # the first additions may be of constants alone, and leave no node
            before = len(terms) - 1 - len(additions)
            if before < 0:
                return False
            for position, term in enumerate(terms):
                if not _comes_from(term, names, inline):
                    continue
                if position <= before:
                    constant = additions[0][0]
                else:
                    constant = additions[position - before - 1][1]
                if constant:
                    return True
            return False  # the outermost sum of the line comes first
    return False


def _comes_from(term: ast.expr, names: set[str], inline: str) -> bool:
    calls = [node.func for node in ast.walk(term) if isinstance(node, ast.Call)]
    called = {getattr(function, "attr", getattr(function, "id", "")) for function in calls}
    if inline in ("__call__", "forward"):  # an object is called by its own name
        return flow.uses(term, names) or bool(called)
    return flow.uses(term, names) or inline in called


def _terms(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum, from left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [*_terms(node.left), node.right]
    return [node]


def _diagnosis(place: Place, stack: list[Place], line: Place, times: int) -> Diagnosis:
    return Diagnosis(
        cause="missing-create-graph",
        title=f"the gradient taken in line {place.line} is added to the loss without its history",
        why=f"autograd.grad() without create_graph=True gives numbers. What is computed from them "
        f"and added to the loss in line {line.line} is a constant there: it changes the value of "
        "the loss, but trains nothing.",
        error_line=line,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[Fix("create-graph", place, "take the gradient with create_graph=True")],
        spans=[Span("taken", place, stack), Span("added", line)],
        facts={"executions": times},
    )
