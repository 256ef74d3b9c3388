"""Where a function that is called stores what it is given: `memory.set(ids, states)`.

The line of a fix may hand a value with history to a helper that keeps it. The caller's line does
not say what is kept; the helper has a line that does, and it is right for all who call it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.fixes.carried import ADDING
from retrograd.doctor.fixes.text import Function, assigned, called
from retrograd.doctor.model import Diagnosis
from retrograd.watching import source


def storing_lines(fix: Fix, diagnosis: Diagnosis) -> Iterator[Place]:
    """The one line of each function on the way from the line of a fix that keeps its argument."""
    for way in diagnosis.ways:
        lines = [(place.file, place.line) for place in way]
        if (fix.place.file, fix.place.line) not in lines[:-1]:
            continue
        for place in reversed(way[lines.index((fix.place.file, fix.place.line)) + 1 :]):
            function = source.function_around(place.file, place.line)
            found = [] if function is None else list(_stores_of_arguments(function))
            if len(found) == 1:
                yield Place(place.file, found[0].lineno, place.function)


def _stores_of_arguments(function: Function) -> Iterator[ast.stmt]:
    """The statements that put an argument, or a part of one, into an object or a collection."""
    given = {argument.arg for argument in [*function.args.posonlyargs, *function.args.args]}
    given -= {"self", "cls"}
    for node in ast.walk(function):
        if isinstance(node, ast.For) and _names(node.iter) & given:
            given |= _names(node.target)
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and (value := _kept(node)) is not None:
            while isinstance(value, ast.Subscript):
                value = value.value
            if isinstance(value, ast.Name) and value.id in given:
                yield node


def _kept(statement: ast.stmt) -> ast.expr | None:
    """v of `self.rows[i] = v`, `self.state = v` and `self.rows.append(v)`."""
    pair = assigned(statement)
    if pair is not None:
        return pair[1] if isinstance(pair[0], (ast.Subscript, ast.Attribute)) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and called(call) in ADDING and call.args:
        return call.args[-1] if isinstance(call.func, ast.Attribute) else None
    return None


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
