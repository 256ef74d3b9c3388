"""Where a value goes, as the text says: the names computed from it within one function."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Place
from retrograd.watching import source

KEEPING = frozenset("append appendleft extend insert add put update setdefault".split())


def names_kept(place: Place) -> set[str]:
    """The names that get the value of a line: assigned ones, and collections it is put into."""
    statement = source.statement_at(place.file, place.line)
    return set() if statement is None else {n for _, names in _moves(statement) for n in names}


def _moves(scope: ast.AST) -> list[tuple[ast.AST, list[str]]]:
    """Each expression that is kept, with the names that get it, in the order of the text."""
    found: list[tuple[int, ast.AST, list[str]]] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            found.append((node.lineno, node.value, _written(node.targets)))
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            found.append((node.lineno, node.value, _written([node.target])))
        elif isinstance(node, ast.For):
            found.append((node.lineno, node.iter, _written([node.target])))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in KEEPING:
                for argument in node.args:
                    found.append((node.lineno, argument, _written([node.func.value])))
    return [(value, names) for _, value, names in sorted(found, key=lambda move: move[0])]


def _written(targets: list[ast.expr]) -> list[str]:
    """The names that are written to: `a`, and `a` of `a[0]`."""
    found = []
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            found += _written(target.elts)
    return found


def names_from(scope: ast.AST, names: set[str], as_tensors: bool = False) -> set[str]:
    """All names computed from these in a function or module, in the order of its text.

    as_tensors  leave out what is only a number by then, or cut off

    >>> sorted(names_from(ast.parse("b = a + 1\\nc = 2\\nd = f(b)\\ne.append(d)"), {"a"}))
    ['a', 'b', 'd', 'e']
    >>> sorted(names_from(ast.parse("b = a.item()\\nc = a * 2"), {"a"}, as_tensors=True))
    ['a', 'c']
    """
    found = set(names)
    for value, targets in _moves(scope):
        if uses(value, found) and not (as_tensors and leaves_tensors(value)):
            found.update(targets)
    return found


def leaves_tensors(value: ast.AST) -> bool:
    """Whether an expression turns the values into numbers: `.item()`, `float(...)`, `.detach()`."""
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
    names = {getattr(function, "attr", getattr(function, "id", "")) for function in calls}
    return not names.isdisjoint(("item", "float", "int", "tolist", "numpy", "detach", "len"))


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


def _scope_of(place: Place) -> ast.AST:
    return source.function_around(place.file, place.line) or source.tree_of(place.file)


def joins_loss(grad_line: Place, backward_line: Place) -> bool:
    """Whether what a line computes flows, as a tensor, into what another line sends back."""
    kept = names_kept(grad_line)
    if not kept:
        return False
    scope = _scope_of(grad_line)
    names = names_from(scope, kept, as_tensors=True)
    if isinstance(scope, ast.FunctionDef) and returns(scope, grad_line, names):
        # what the caller's line assigns goes on from there
        return _call_joins(scope.name, backward_line)
    return backward_line.file == grad_line.file and _mentions(backward_line, names)


def _call_joins(function: str, backward_line: Place) -> bool:
    """Whether the result of a call of `function` flows into the tensor of the backward line."""
    scope = _scope_of(backward_line)
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        if getattr(node.func, "attr", getattr(node.func, "id", "")) != function:
            continue
        place = Place(backward_line.file, node.lineno)
        kept, statement = names_kept(place), source.statement_at(place.file, place.line)
        if kept and statement is not None and not leaves_tensors(statement):
            return _mentions(backward_line, names_from(scope, kept, as_tensors=True))
    return False


def _mentions(place: Place, names: set[str]) -> bool:
    statement = source.statement_at(place.file, place.line)
    return statement is not None and any(
        isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
        for node in ast.walk(statement)
    )
