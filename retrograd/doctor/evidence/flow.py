"""Where a value goes, as the text says: the names computed from it within one function."""

from __future__ import annotations

import ast

from retrograd.doctor.evidence import source
from retrograd.doctor.model import Place


def names_from(scope: ast.AST, names: set[str]) -> set[str]:
    """All names computed from these in a function or module, in the order of its text.

    >>> sorted(names_from(ast.parse("b = a + 1\\nc = 2\\nd = f(b)"), {"a"}))
    ['a', 'b', 'd']
    """
    found = set(names)
    nodes = [n for n in ast.walk(scope) if isinstance(n, (ast.Assign, ast.AugAssign, ast.For))]
    for node in sorted(nodes, key=lambda n: n.lineno):
        if isinstance(node, ast.For):
            value: ast.expr = node.iter
            targets: list[ast.expr] = [node.target]
        else:
            value = node.value
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if uses(value, found):
            found.update(
                inner.id
                for target in targets
                for inner in ast.walk(target)
                if isinstance(inner, ast.Name)
            )
    return found


def uses(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression mentions one of the names."""
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def returns(scope: ast.AST, place: Place, names: set[str]) -> bool:
    """Whether a function hands one of the names, or the value of a line, to its caller."""
    if isinstance(source.statement_at(place.file, place.line), ast.Return):
        return True
    return any(
        isinstance(node, ast.Return) and node.value is not None and uses(node.value, names)
        for node in ast.walk(scope)
    )
