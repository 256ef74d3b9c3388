"""A gradient taken without `create_graph` and added to a loss: the term trains nothing.

Two things must agree. In the graph, a value without history is added to the loss at some line. In
the text, that line adds a name which comes from the result of the `autograd.grad` call. (A gradient
that only weights another term, or makes an adversarial example, is added to nothing.)
"""

from __future__ import annotations

import ast

from retrograd.doctor.evidence import source
from retrograd.doctor.model import Diagnosis, Fix, Place, Span
from retrograd.doctor.session import Watched
from retrograd.doctor.watching.records import Call

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such `autograd.grad` line."""
    calls = watched.recorder.calls
    by_line: dict[Place, list[Call]] = {}
    for call in calls:
        place = call.log.place_of(call.stack)
        if call.kind == "grad" and not call.create and not call.nested and place is not None:
            by_line.setdefault(place, []).append(call)
    adding = _adding_lines(watched)
    found = []
    for place, taken in by_line.items():
        if len(taken) < TIMES:
            continue
        stack = taken[-1].log.places_of(taken[-1].stack)
        line = next((line for line in adding if _flows(stack, line)), None)
        if line is not None:
            found.append(_diagnosis(place, stack, line, len(taken)))
    return found


def _adding_lines(watched: Watched) -> list[Place]:
    """The lines that added a value without history to a loss, at least twice."""
    seen: dict[Place, int] = {}
    for index, numbers in watched.recorder.constants.items():
        log = watched.recorder.calls[index].log
        for number in numbers:
            stack = log.stack_of(number)
            if stack:
                place = stack[-1][1]
                seen[place] = seen.get(place, 0) + 1
    return [place for place, times in seen.items() if times >= TIMES]


def _flows(stack: list[Place], line: Place) -> bool:
    """Whether the line adds a name that comes from the value made by the stack's last line."""
    names: set[str] = set()
    for place in reversed(stack):
        names |= _assigned(place)
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        names = _tainted(scope, names)
        if line.file == place.file and _adds_one_of(line, names):
            return True
        if not any(
            isinstance(node, ast.Return) and node.value is not None and _uses(node.value, names)
            for node in ast.walk(scope)
        ) and not _returns(place):
            return False
        names = set()
    return False


def _assigned(place: Place) -> set[str]:
    return set(source.assigned_names(place.file, place.line))


def _returns(place: Place) -> bool:
    return isinstance(source.statement_at(place.file, place.line), ast.Return)


def _tainted(scope: ast.AST, names: set[str]) -> set[str]:
    """All names computed from these in a function or module, in the order of its text."""
    names = set(names)
    assigns = [n for n in ast.walk(scope) if isinstance(n, (ast.Assign, ast.AugAssign, ast.For))]
    for node in sorted(assigns, key=lambda n: n.lineno):
        if isinstance(node, ast.For):
            value: ast.AST = node.iter
            targets: list[ast.expr] = [node.target]
        else:
            value = node.value
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if _uses(value, names):
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        names.add(inner.id)
    return names


def _uses(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def _adds_one_of(line: Place, names: set[str]) -> bool:
    statement = source.statement_at(line.file, line.line)
    if statement is None:
        return False
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        if _uses(statement.value, names):
            return True
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Add, ast.Sub))
        and (_uses(node.left, names) != _uses(node.right, names))
        for node in ast.walk(statement)
    )


def _diagnosis(place: Place, stack: list[Place], line: Place, times: int) -> Diagnosis:
    return Diagnosis(
        cause="missing-create-graph",
        summary=f"the gradient taken in line {place.line} is added to the loss without its history",
        why=f"autograd.grad() without create_graph=True gives numbers. What is computed from them "
        f"and added to the loss in line {line.line} is a constant there: it changes the value of "
        "the loss, but trains nothing.",
        error_line=line,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[Fix("create-graph", place, "take the gradient with create_graph=True")],
        spans=[Span("taken", place, stack), Span("added", line)],
        facts={"executions": times},
    )
