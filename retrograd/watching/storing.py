"""Which line keeps a value: one that adds to itself, or that puts it into a collection."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType

from retrograd.diagnostics.report import Place
from retrograd.watching import source

ADDS = frozenset(
    "append appendleft extend insert add put put_nowait update setdefault push".split()
)


def accumulator(made: list[Place], name: str) -> tuple[Place | None, bool]:
    """The line that computes a value from itself; whether it is `name += value`."""
    for place in reversed(made):
        statement = source.statement_at(place.file, place.line)
        if isinstance(statement, ast.AugAssign) and _is_of(statement.target, name):
            return place, True
        value: ast.expr | None = None
        if isinstance(statement, ast.Assign) and any(_targets(t, name) for t in statement.targets):
            value = statement.value
        elif isinstance(statement, ast.Expr) and _changes_in_place(statement.value):
            value = statement.value
        elif isinstance(statement, ast.Expr) and _sets_from_itself(statement.value):
            return place, False
        if value is not None:
            same = {name, *_names_read_from(place, name)}
            if any(_is_of(inner, each) for inner in ast.walk(value) for each in same):
                return place, False
    return None, False


def items_of_last(pattern: str) -> int:
    """How many brackets a path ends with.

    >>> items_of_last("self.tables[][]"), items_of_last("self.rows[].table")
    (2, 0)
    """
    return (len(pattern) - len(re.sub(r"(\[\])+$", "", pattern))) // 2


def written_into(made: list[Place], name: str, items: int) -> Place | None:
    """The line `name[index] = value` that writes into a tensor, which so gets a longer history.

    The tensor itself has `items` brackets in its path; one more writes into it. With as many the
    line puts a tensor into a collection.
    """
    for place in reversed(made):
        statement = source.statement_at(place.file, place.line)
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            depth, inner = 0, target
            while isinstance(inner, ast.Subscript):
                depth, inner = depth + 1, inner.value
            if depth > items and _is_of(inner, name):
                return place
    return None


def _targets(target: ast.expr, name: str) -> bool:
    """Whether an assignment writes to a name, alone or among others: `total, n = ...`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_targets(each, name) for each in target.elts)
    return _is_of(target, name)


def _sets_from_itself(node: ast.expr) -> bool:
    """`setattr(self, key, 0.9 * getattr(self, key) + value)`."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "setattr":
        return False
    where = [ast.dump(argument) for argument in node.args[:2]]
    return any(
        isinstance(inner, ast.Call)
        and getattr(inner.func, "id", "") == "getattr"
        and [ast.dump(argument) for argument in inner.args[:2]] == where
        for inner in ast.walk(node)
    )


def _names_read_from(place: Place, name: str) -> Iterator[str]:
    """The variables of a function that hold an item: `old` of `old = self.weights[key]`."""
    function = source.function_around(place.file, place.line) or source.tree_of(place.file)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_of(node.value, name):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, (ast.For, ast.comprehension)):
            if any(_is_of(inner, name) for inner in ast.walk(node.iter)):
                inner = ast.walk(node.target)
                yield from (part.id for part in inner if isinstance(part, ast.Name))


def _changes_in_place(node: ast.expr) -> bool:
    """`mean.mul_(0.9).add_(value)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name.endswith("_") and not name.endswith("__"):
            return True
        node = node.func.value
    return False


def stored(made: list[Place], names: list[str], files: list[str]) -> tuple[Place | None, bool]:
    """The line that puts the value into a collection."""
    ordered = list(dict.fromkeys([place.file for place in reversed(made)] + files))
    for name in reversed(names):
        for wanted in (_grows, _assigns):
            lines = [
                (file, node.lineno, isinstance(node, ast.AugAssign))
                for file in ordered
                for node in ast.walk(source.tree_of(file))
                if isinstance(node, (ast.stmt, ast.expr)) and wanted(node, name)
            ]
            if lines:
                file, line, adds = _nearest(lines, made)
                return Place(file, line), adds
    return None, False


def from_itself(name: str, frames: Sequence[FrameType]) -> Place | None:
    """The line `name = f(name, ...)` of the functions that run, else of their files.

    None also where a line cuts it to a length: `name = f(name, ...)[-9:]`.
    """
    running = [frame.f_code for frame in frames]
    found: list[tuple[bool, Place, ast.Assign]] = []
    for file in dict.fromkeys(code.co_filename for code in running):
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.Assign) and name in map(_last_name, node.targets):
                if any(_last_name(part) == name for part in ast.walk(node.value)):
                    place = Place(file, node.lineno)
                    found.append((not any(_is_in(code, place) for code in running), place, node))
    nearest = [(place, node) for far, place, node in found if far is min(f for f, _, _ in found)]
    if any(isinstance(part, ast.Slice) for _, node in nearest for part in ast.walk(node)):
        return None
    return next((place for place, node in nearest if isinstance(node.value, ast.Call)), None)


def _is_in(code: CodeType, place: Place) -> bool:
    lines = [line for _, _, line in code.co_lines() if line]
    return code.co_filename == place.file and min(lines) <= place.line <= max(lines)


def _last_name(node: ast.AST) -> object:
    """`hidden` of `hidden`, `self.hidden`, `state["hidden"]` and `state.get("hidden", h)`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    key: ast.expr | None = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        key = node.args[0] if node.func.attr in ("get", "setdefault") else None
    return key.value if isinstance(key, ast.Constant) else None


def _nearest(lines: list[tuple[str, int, bool]], made: list[Place]) -> tuple[str, int, bool]:
    """The store that follows one of the lines which made the value, else the first."""
    for place in reversed(made):
        same = [found for found in lines if found[0] == place.file]
        after = [found for found in same if found[1] >= place.line]
        if after:
            return min(after, key=lambda found: found[1])
    return lines[0]


def _grows(node: ast.AST, name: str) -> bool:
    """`name.append(x)`, `name[key].append(x)`, `name[key] = x`, `name += [x]`."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ADDS:
            return _is_of(node.func.value, name)
        return False
    if isinstance(node, ast.AugAssign):
        return _is_of(node.target, name)
    if isinstance(node, ast.Assign):
        if any(isinstance(t, ast.Subscript) and _is_of(t, name) for t in node.targets):
            return True
        # name = name + [x], name = [*name, x]
        return any(_is_of(t, name) for t in node.targets) and any(
            _is_of(inner, name) for inner in ast.walk(node.value)
        )
    return False


def _assigns(node: ast.AST, name: str) -> bool:
    """`name = x`, `self.name = x`, but not an empty collection."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return False
    if isinstance(node.value, (ast.List, ast.Dict, ast.Constant)):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(_is_of(target, name) for target in targets)


def _is_of(node: ast.AST, name: str) -> bool:
    """Whether an expression is a name, an attribute of that name, or an item of one."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("setdefault", "get"):
            node = node.func.value
        else:
            return False
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Attribute) and node.attr == name
