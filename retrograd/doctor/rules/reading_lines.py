"""The lines that read a value: where it is handed on, and where it is used."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.watching import source


def frame_line_reading(stack: Stack, name: str) -> Place | None:
    """The outermost line of a stack whose statement reads a variable."""
    for _, place in stack:
        if source.reads(place.file, place.line, name):
            return place
    return None


def is_only_handed_on(place: Place) -> bool:
    """Whether the variable that a line sets is only returned or handed over, as it is.

    Then to detach it there is to detach it wherever it is used, and keeps no graph meanwhile.
    """
    statement = source.statement_at(place.file, place.line)
    function = source.function_around(place.file, place.line)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if function is None or not isinstance(target, ast.Name):
        return False
    handed: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            handed.add(value)
            if isinstance(value, ast.Call):
                handed.update([*value.args, *(keyword.value for keyword in value.keywords)])
            elif isinstance(value, (ast.Tuple, ast.List)):
                handed.update(value.elts)
            elif isinstance(value, ast.Dict):
                handed.update(value.values)
    reads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(node in handed for node in reads)


def is_read_after_loop(added: Place, evidence: SecondBackward) -> bool:
    """Whether what a line adds to is read after the loop that repeats."""
    repetition = evidence.repetition
    statement = source.statement_at(added.file, added.line)
    if repetition is None or repetition.loop is None or added.file != repetition.file:
        return False
    if not isinstance(statement, (ast.AugAssign, ast.Assign)):
        return False
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    scope = source.function_around(added.file, added.line) or source.tree_of(added.file)
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == ast.unparse(target)
        and node.lineno > repetition.loop.end
        for node in ast.walk(scope)
    )


def lines_reading(consumers: list[Stack], attribute: str) -> int:
    """How many different lines take the value straight from the attribute."""
    lines = {
        (stack[-1][1].file, stack[-1][1].line)
        for stack in consumers
        if _mentions_attribute(stack[-1][1].file, stack[-1][1].line, attribute)
    }
    return len(lines)


def line_reading_variable(consumers: list[Stack], name: str) -> Place | None:
    """The last line up to the consuming one that reads a variable, in the function that does."""
    for stack in consumers:
        for _, place in stack:  # from outside: an inner function may have a parameter so named
            function = source.function_around(place.file, place.line)
            if function is None:
                continue
            lines = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Name)
                and node.id == name
                and isinstance(node.ctx, ast.Load)
                and node.lineno <= place.line
            ]
            if lines:
                return Place(place.file, max(lines), place.function)
    return None


def line_reading_attribute(consumers: list[Stack], attribute: str) -> Place | None:
    """The consuming line if it reads the attribute, else the line that put it into a variable."""
    for stack in consumers:
        for _, place in reversed(stack):
            if _mentions_attribute(place.file, place.line, attribute):
                return place
    for stack in consumers:
        for _, place in reversed(stack):
            function = source.function_around(place.file, place.line)
            if function is None:
                continue
            lines = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute)
                and node.attr == attribute
                and isinstance(node.ctx, ast.Load)
                and node.lineno <= place.line
            ]
            if lines:
                return Place(place.file, max(lines), place.function)
    return None


def updated_attribute(consumers: list[Stack]) -> tuple[Place, str] | None:
    """The consuming line at which a state is updated, and the state: there it lives.

    It reads an attribute that its function sets, or sets an attribute or an item itself.
    """
    for stack in consumers:
        place = stack[-1][1]
        function = source.function_around(place.file, place.line)
        if function is None:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if _mentions_attribute(place.file, place.line, node.attr):
                    return place, ast.unparse(node)
    for stack in consumers:
        place = stack[-1][1]
        statement = source.statement_at(place.file, place.line)
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                return place, ast.unparse(target)
    return None


def _mentions_attribute(file: str, line: int, attribute: str) -> bool:
    statement = source.statement_at(file, line)
    if statement is None:
        return False
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.ctx, ast.Load)
        for node in ast.walk(statement)
    )
