"""Edits for a table whose loss is computed in another function than its straight-through value.

`return z + (q - z).detach()` gives its gradient to `z` alone. A loss of what was returned, `mse(q,
z.detach())`, does not reach the table: the rows are kept beside, and the loss takes them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.doctor.fixes.straight import rows_of
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    Function,
    assigned,
    called,
    dotted,
    names_bound,
    names_of_scope,
)

_MOST_FUNCTIONS = 4  # that hand the value on


def loss_of_rows(task: Task) -> None:
    """The module keeps the rows as `self.rows`, and the loss takes them from there."""
    draft, statement = task.draft, task.statement
    function = draft.scope_of(statement)
    owner = next(draft.enclosing(statement, ast.ClassDef), None)
    if not isinstance(function, Function) or not isinstance(owner, ast.ClassDef):
        raise CannotWrite("no module makes the straight-through value")
    rows, position = _returned(function, statement)
    name = "rows"
    if f"self.{name}" in draft.text:
        raise CannotWrite("the name that the rows would get is taken")
    changed: list[ast.Name] = []
    for scope, variable in _reached(draft, function, position):
        for node in _compared(draft, scope, variable):
            module = _module_in(draft, scope, owner)
            draft.rewrite(node, f"{module}.{name}")
            changed.append(node)
    if not changed:
        raise CannotWrite("nothing compares it with what is detached")
    draft.insert_before(statement, f"self.{name} = {rows}")


def _returned(function: Function, statement: ast.stmt) -> tuple[str, int]:
    """The rows, and as which of its results a function returns the straight-through value."""
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        raise CannotWrite("the function does not return in one line")
    value = returns[0].value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    pair = assigned(statement)
    for position, part in enumerate(parts):
        if statement is returns[0]:
            found = rows_of(part)
        else:
            found = rows_of(pair[1]) if pair is not None and _same(part, pair[0]) else None
        if found is not None:
            return found[0], -1 if part is value else position
    raise CannotWrite("the line makes no straight-through value that is returned")


def _same(part: ast.expr, target: ast.expr) -> bool:
    return bool(dotted(part)) and dotted(part) == dotted(target)


def _reached(draft: Draft, function: Function, position: int) -> Iterator[tuple[ast.AST, str]]:
    """The variables that hold a result of a function, in its callers and in theirs."""
    waiting, seen = [(function, position)], 0
    while waiting and seen < _MOST_FUNCTIONS:
        source, place = waiting.pop(0)
        seen += 1
        for scope, variable in _bound_to(draft, source, place):
            yield scope, variable
            if isinstance(scope, Function):
                following = _position_in_return(scope, variable)
                if following is not None:
                    waiting.append((scope, following))


def _bound_to(draft: Draft, function: Function, position: int) -> Iterator[tuple[ast.AST, str]]:
    names = _names_for(draft, function)
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is None or not isinstance(pair[1], ast.Call):
            continue
        if called(pair[1]) not in names:
            continue
        target: ast.expr | None = pair[0]
        if position >= 0:
            parts = target.elts if isinstance(target, ast.Tuple) else []
            target = parts[position] if position < len(parts) else None
        if isinstance(target, ast.Name):
            yield draft.scope_of(node), target.id


def _names_for(draft: Draft, function: Function) -> set[str]:
    """What calls of a function are called: of a module's `forward` what holds the module."""
    if function.name not in ("forward", "__call__"):
        return {function.name}
    owner = draft.parents.get(function)
    return {path.rpartition(".")[2] for path in _holding(draft, owner)}


def _holding(draft: Draft, owner: ast.AST | None) -> set[str]:
    """`self.quantizer` and `model`: what a file sets to an instance of a class."""
    found = set()
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is None or not isinstance(owner, ast.ClassDef) or not dotted(pair[0]):
            continue
        calls = [n for n in ast.walk(pair[1]) if isinstance(n, ast.Call)]
        if any(called(call) == owner.name for call in calls):
            found.add(dotted(pair[0]))
    return found


def _position_in_return(function: Function, variable: str) -> int | None:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if isinstance(node.value, ast.Tuple):
                for position, part in enumerate(node.value.elts):
                    if dotted(part) == variable:
                        return position
            elif dotted(node.value) == variable:
                return -1
    return None


def _compared(draft: Draft, scope: ast.AST, variable: str) -> Iterator[ast.Name]:
    """Where a variable is compared with something detached, and is not detached itself."""
    for node in draft.walk(scope):
        if not isinstance(node, ast.Name) or node.id != variable:
            continue
        parent = draft.parents[node]
        others: list[ast.expr] = []
        if isinstance(parent, ast.Call) and node in parent.args:
            others = [each for each in parent.args if each is not node]
        elif isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
            others = [parent.right if parent.left is node else parent.left]
        if any(_is_detached(each) for each in others):
            yield node


def _is_detached(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "data"
    return isinstance(node, ast.Call) and called(node) == "detach"


def _module_in(draft: Draft, scope: ast.AST, owner: ast.ClassDef) -> str:
    """How a function reaches the module: `self.vq`, or `model.vq`."""
    own = next(draft.enclosing(scope, ast.ClassDef), None)
    held = _holding(draft, owner)
    for path in sorted(held):
        if _class_of(draft, path) is own and own is not None and path.startswith("self."):
            return path
        if not path.startswith("self.") and _knows(draft, scope, path):
            return path
    for path in sorted(held):
        outer = _class_of(draft, path)
        for around in sorted(_holding(draft, outer)):
            is_own = around.startswith("self.") and _class_of(draft, around) is own
            if is_own or (not around.startswith("self.") and _knows(draft, scope, around)):
                return f"{around}.{path.removeprefix('self.')}"
    raise CannotWrite("it is not known how the loss reaches the module")


def _class_of(draft: Draft, path: str) -> ast.AST | None:
    """The class that sets an attribute of its own."""
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and path.startswith("self.") and dotted(pair[0]) == path:
            return next(draft.enclosing(node, ast.ClassDef), None)
    return None


def _knows(draft: Draft, scope: ast.AST, name: str) -> bool:
    first = name.partition(".")[0]
    return first in names_of_scope(scope) or any(
        first in names_bound(node)
        for node in draft.tree.body
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
    )
