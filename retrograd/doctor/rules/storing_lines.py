"""The lines that store a value: in a variable, an attribute or a collection."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.doctor.rules.held_paths import (
    base_name,
    last_attribute,
)
from retrograd.watching import source


def adds_item(place: Place) -> bool:
    """`memory.append(x)`, `memory[key] = x`."""
    statement = source.statement_at(place.file, place.line)
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def keeps_the_first(place: Place) -> bool:
    """`results.setdefault(key, value)`: whether a line keeps the first value of a key for ever."""
    statement = source.statement_at(place.file, place.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "setdefault"


def store_line(evidence: SecondBackward) -> Place | None:
    """The line that puts the value into the collection or attribute that holds it."""
    held = evidence.held
    if held is None or (held.container is None and "." not in held.path):
        return None
    name = last_attribute(held.path) or base_name(held.path)
    return line_storing(evidence.made, name)


def line_storing(made: Stack, name: str) -> Place | None:
    """The line of the making functions that stores into a variable or attribute of this name."""
    for _, place in reversed(made):
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        lines = [
            node.lineno
            for node in ast.walk(scope)
            if isinstance(node, (ast.stmt, ast.expr)) and _stores_into(node, name)
        ]
        if lines:
            later = [line for line in lines if line >= place.line]
            return Place(place.file, min(later) if later else max(lines), place.function)
    return None


def _stores_into(node: ast.AST, name: str) -> bool:
    """`name.append(x)`, `name[i] = x`, `self.name = x`, `name += x`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        adds = node.func.attr in (
            "append",
            "appendleft",
            "extend",
            "insert",
            "add",
            "put",
            "update",
            "setdefault",
            "__setitem__",
        )
        return adds and is_named(_collection(node.func.value), name)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        if _is_empty(node.value):
            return False  # the beginning of a state or a collection is no value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            if any(is_named(_collection(part), name) for part in parts):
                return True
    return False


def _collection(node: ast.expr) -> ast.expr:
    """`memory` of `memory["losses"]`: what is stored into an item is stored into the whole."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_empty(value: ast.expr | None) -> bool:
    """`None`, `[]`, `{"losses": [], "seen": 0}`: what holds numbers of the program at most."""
    if isinstance(value, ast.Dict):
        return all(_is_empty(each) for each in value.values)
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return all(_is_empty(each) for each in value.elts)
    return value is None or isinstance(value, ast.Constant)


def is_memo(evidence: SecondBackward) -> bool:
    """Whether the value was put into a dict that is only filled where a key is missing.

    `if key in known: return known[key]` before the line that stores, or `if key not in known:`
    around it. A table whose entries are written again is no memo.
    """
    held, stored = evidence.held, store_line(evidence)
    if held is None or stored is None or not isinstance(held.container, dict):
        return False
    name = last_attribute(held.path) or base_name(held.path)
    function = source.function_around(stored.file, stored.line)
    tree = source.tree_of(stored.file)
    stores = [node for node in ast.walk(tree) if _stores_into(node, name) and _fills(node)]
    if function is None or len(stores) != 1:
        return False
    store = stores[0]
    value = store.value if isinstance(store, ast.Assign) else None
    if value is not None and any(is_named(part, name) for part in ast.walk(value)):
        return False  # computed from the entry that is there
    for node in ast.walk(function):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
            if not any(is_named(part, name) for part in ast.walk(node.test)):
                continue
            asked = node.test.ops[0]
            if isinstance(asked, ast.In) and any(isinstance(s, ast.Return) for s in node.body):
                return True
            if isinstance(asked, ast.NotIn) and store in set(ast.walk(node)):
                return True
    return False


def _fills(node: ast.AST) -> bool:
    """Whether a statement stores an item, and does not make the collection."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    return True


def is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Attribute) and node.attr == name
