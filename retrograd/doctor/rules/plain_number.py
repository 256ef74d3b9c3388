"""`backward()` of a Python number: the loss was taken out of its tensor on the way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

KINDS = ("float", "int", "numpy.float32", "numpy.float64", "numpy.ndarray")
TAKING = frozenset(("item", "float", "numpy", "tolist"))


def number_sent_back(watched: Watched) -> Diagnosis | None:
    """ "'float' object has no attribute 'backward'"."""
    texts = [f"'{kind}' object has no attribute 'backward'" for kind in KINDS]
    at = raised.find(watched, *texts)
    if at is None or not isinstance(at.error, AttributeError):
        return None
    statement = source.statement_at(at.place.file, at.place.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    taken = _taken(at.place, ast.unparse(owner))
    place = Place(at.place.file, taken, at.place.function) if taken else at.place
    return Diagnosis(
        cause="broken-graph",
        title=f"`{ast.unparse(owner)}` is a Python number: it has no graph to go back through",
        why=f"Line {place.line} takes the value out of its tensor. A number does not know what it "
        "was computed from; only a tensor has backward()."
        if taken
        else "A number does not know what it was computed from; only a tensor has backward().",
        error_line=at.place,
        created_at=list(dict.fromkeys([place, at.place])),
        fixes=[Fix("keep-graph", place, "keep the tensor; take its number for reports only")],
        error=at.message,
        tensor=ast.unparse(owner),
        spans=[
            *([Span("cut", place)] if taken else []),
            Span("sent back", at.place, at.stack, primary=True),
        ],
    )


def _taken(sent: Place, name: str) -> int:
    """The last line before it that makes a number of what goes into a variable; 0 if there is none.

    A list that numbers are appended to counts, if the variable is computed from it.
    """
    scope: ast.AST = source.function_around(sent.file, sent.line) or source.tree_of(sent.file)
    names = {name}
    for _ in range(3):
        for node in _statements(scope, sent.line):
            if names & set(_written_to(node)):
                read = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
                names |= {n.id for n in read if isinstance(n.ctx, ast.Load)}
    found = [
        node.lineno
        for node in _statements(scope, sent.line)
        if set(_written_to(node)) & names and any(_takes(each) for each in ast.walk(node))
    ]
    return found[-1] if found else 0


def _statements(scope: ast.AST, before: int) -> Iterator[ast.stmt]:
    found = [n for n in ast.walk(scope) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    yield from sorted((n for n in found if n.lineno < before), key=lambda node: node.lineno)


def _written_to(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign):
        yield from (ast.unparse(target) for target in node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield ast.unparse(node.target)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in ("append", "extend"):
            yield ast.unparse(function.value)


def _takes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return str(getattr(node.func, "attr", getattr(node.func, "id", ""))) in TAKING
