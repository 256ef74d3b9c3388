"""A term of the loss that is computed without history: it is added, and trains nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2
SCOPES = ("no_grad", "inference_mode")
PARAMETERS = ("parameters", "named_parameters")


@dataclass(frozen=True)
class Term:
    """A variable that is added to a loss, and how it lost its history."""

    name: str
    cut: int  # the line
    scope: int  # the line of the `with`, 0 if there is none
    word: str  # ".item()", "no_grad"


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such term of a loss that is sent back."""
    seen: dict[Place, list[list[Place]]] = {}
    for call in watched.recorder.calls[:64]:
        stack = call.log.places_of(call.stack)
        if stack and call.kind == "backward":
            seen.setdefault(stack[-1], []).append(stack)
    found = []
    for sent, stacks in seen.items():
        for line, term in _terms(sent) if len(stacks) >= TIMES else ():
            found.append(_diagnosis(sent, line, term, stacks[-1]))
    return found


def _terms(sent: Place) -> Iterator[tuple[int, Term]]:
    """The terms of the loss that a line sends back: the line that adds one, and the term."""
    scope: ast.AST = source.function_around(sent.file, sent.line) or source.tree_of(sent.file)
    statement = source.statement_at(sent.file, sent.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    loss = call.func.value
    sums = [(sent.line, loss)]
    if isinstance(loss, ast.Name):
        made = [n for n in _assigning(scope, loss.id) if n.lineno < sent.line]
        sums = [(made[-1].lineno, made[-1].value)] if made else []
    for line, value in sums:
        for name in _added(value, sent.file):
            term = _without_history(sent.file, scope, name, line)
            if term is not None:
                yield line, term


def _assigning(scope: ast.AST, name: str) -> list[ast.Assign]:
    found = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return sorted(found, key=lambda node: node.lineno)


def _added(value: ast.expr, file: str) -> Iterator[str]:
    """The variables that a sum adds or subtracts, alone or with a number as their factor.

    Of two variables both may be factors on purpose: a weight is a number for most losses.
    """
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return
    for side in (value.left, value.right):
        if isinstance(side, ast.BinOp) and isinstance(side.op, (ast.Add, ast.Sub)):
            yield from _added(side, file)
        elif isinstance(side, ast.Name):
            yield side.id
        elif isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult):
            for factor, other in ((side.left, side.right), (side.right, side.left)):
                if isinstance(factor, ast.Name) and _is_number(other, file):
                    yield factor.id


def _is_number(node: ast.expr, file: str) -> bool:
    """Whether an expression is a number, or a variable that the text sets to numbers only."""
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Constant)
    made = [
        each.value
        for each in ast.walk(source.tree_of(file))
        if isinstance(each, ast.Assign)
        for target in each.targets
        if node.id in [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
    ]
    return bool(made) and all(isinstance(each, ast.Constant) for each in made)


def _without_history(file: str, scope: ast.AST, name: str, line: int) -> Term | None:
    """The one way in which the text computes a variable, if that leaves no history."""
    writing = [
        node
        for node in ast.walk(scope)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        and name in [getattr(target, "id", "") for target in _targets(node)]
    ]
    computing = [node for node in writing if not isinstance(node.value, ast.Constant)]
    if len(computing) != 1 or computing[0].lineno >= line:
        return None
    node = computing[0]
    for around in ast.walk(scope):
        if isinstance(around, ast.With) and _holds(around, node) and _is_scope(around):
            return Term(name, node.lineno, around.lineno, "no_grad")
    over = [n for n in ast.walk(scope) if isinstance(n, ast.For) and _holds(n, node)]
    through = any(_goes_over(n.iter) for n in over)
    for inner in ast.walk(node.value):
        if isinstance(inner, (ast.GeneratorExp, ast.ListComp)):
            through = through or any(_goes_over(each.iter) for each in inner.generators)
    words = [word for inner in ast.walk(node.value) if (word := _cut(inner))]
    return Term(name, node.lineno, 0, words[0]) if through and words else None


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return outer.lineno <= inner.lineno <= (outer.end_lineno or 0)


def _is_scope(node: ast.With) -> bool:
    return any(
        isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).rpartition(".")[2] in SCOPES
        for item in node.items
    )


def _goes_over(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in PARAMETERS


def _cut(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return ".data"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return {"item": ".item()", "detach": ".detach()"}.get(node.func.attr, "")
    return ""


def _diagnosis(sent: Place, line: int, term: Term, stack: list[Place]) -> Diagnosis:
    cut = Place(sent.file, term.cut, sent.function)
    where = Place(sent.file, term.scope or term.cut, sent.function)
    how = f"inside of {term.word}" if term.scope else f"with {term.word}"
    return Diagnosis(
        cause="no-grad-scope" if term.scope else "broken-graph",
        title=f"`{term.name}` is a term of the loss, but has no history: it trains nothing",
        why=f"Line {term.cut} computes `{term.name}` {how}, and line {line} adds it to the loss "
        f"that line {sent.line} sends back. Its value changes the number that is reported; no "
        "parameter gets a gradient for it.",
        error_line=sent,
        created_at=list(dict.fromkeys([cut, where, Place(sent.file, line, sent.function)])),
        fixes=[
            Fix("enable-grad", where, "compute the term with gradients")
            if term.scope
            else Fix("keep-graph", where, "stay with differentiable tensors here")
        ],
        spans=[Span("cut", cut), Span("sent back", sent, stack)],
        tensor=term.name,
        facts={"partly": True, "cut": term.word.strip(".()")},
    )
