"""Reading source files: which expression, statement and loop a position belongs to.

A file may have been edited since it was imported, so its syntax tree is trusted only where it
agrees with the running code: an expression must lie where the code object says, in a function of
the same name and first line. None means "not sure".
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass

Position = tuple[int, int, int, int]
"""(line, column, end line, end column), lines from 1, columns in characters from 0."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class _File:
    lines: tuple[str, ...]
    tree: ast.Module
    imported: frozenset[str]


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or `while` statement: the line of its header and the lines of its body."""

    header: int
    first: int
    last: int

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax around one position: the node itself and its ancestors, innermost first."""

    lines: tuple[str, ...]
    node: ast.expr | ast.stmt
    ancestors: tuple[ast.AST, ...]
    imported: frozenset[str]

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that the position is part of."""
        for node in (self.node, *self.ancestors):
            if isinstance(node, ast.stmt):
                return node
        return None

    def source(self, node: ast.AST) -> str | None:
        """The text of a node that lies on one line."""
        start, end = _start(self.lines, node), _end(self.lines, node)
        return self.lines[start[0] - 1][start[1] : end[1]] if start[0] == end[0] else None

    def position(self, node: ast.AST) -> Position:
        """Where a node lies."""
        return (*_start(self.lines, node), *_end(self.lines, node))

    def names(self) -> tuple[str, ...]:
        """Variables read by the node, such as `h` or `self.h`, in order of appearance.

        Functions that are called and imported modules are left out.
        """
        found: list[tuple[tuple[int, int], str]] = []
        called = {id(item.func) for item in ast.walk(self.node) if isinstance(item, ast.Call)}
        inner: set[int] = set()
        for item in ast.walk(self.node):  # outer nodes come first
            if id(item) in inner or not isinstance(item, ast.Name | ast.Attribute):
                continue
            variable: ast.expr = item
            if id(item) in called:
                # `h.sum()` reads `h`; `tanh(h)` reads no variable called `tanh`.
                if isinstance(item, ast.Name):
                    continue
                inner.add(id(item))
                continue
            text = dotted(variable)
            if text is None:
                continue
            inner.update(id(part) for part in ast.walk(variable))
            if text.split(".")[0] in self.imported:
                continue
            if isinstance(item.ctx, ast.Load) or isinstance(self.node, ast.AugAssign):
                found.append((_start(self.lines, item), text))
        return tuple(dict.fromkeys(text for _, text in sorted(found)))

    def occurrences(self, name: str) -> tuple[Position, ...]:
        """Every place within the node where the variable `name` is read."""
        found = [
            self.position(item)
            for item in ast.walk(self.node)
            if isinstance(item, ast.Name | ast.Attribute)
            and isinstance(item.ctx, ast.Load)
            and dotted(item) == name
        ]
        return tuple(sorted(found))

    def target(self) -> str | None:
        """`h` for any position within `h = ...`; None for tuples, items and chained assignments."""
        statement = self.statement
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return dotted(statement.targets[0])
        if isinstance(statement, ast.AnnAssign | ast.AugAssign):
            return dotted(statement.target)
        return None

    def result_name(self) -> str | None:
        """The variable that the node's own value was assigned to, None for a part of a formula."""
        statement = self.statement
        if statement is self.node:
            return self.target()
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is self.node:
            return self.target()
        if self.ancestors and isinstance(self.ancestors[0], ast.NamedExpr):
            return dotted(self.ancestors[0].target)
        return None

    def assigned_lines(self, name: str) -> tuple[int, ...]:
        """Lines of the same function that assign to the variable, its parameters included."""
        scope: ast.AST = self.ancestors[-1]
        for node in self.ancestors:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                scope = node
                break
        lines: list[int] = []
        waiting = list(ast.iter_child_nodes(scope))
        while waiting:
            node = waiting.pop()
            if isinstance(node, _SCOPES):
                continue
            if isinstance(node, ast.arg) and node.arg == name:
                lines.append(node.lineno)
            elif isinstance(node, ast.Name | ast.Attribute) and dotted(node) == name:
                if not isinstance(node.ctx, ast.Load):
                    lines.append(node.lineno)
            waiting.extend(ast.iter_child_nodes(node))
        return tuple(sorted(lines))

    def belongs_to(self, name: str, first_line: int) -> bool:
        """Whether a code object of this name and first line would hold the position."""
        below: ast.AST = self.node
        for node in self.ancestors:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if below in node.body:
                    first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                    return (node.name, first) == (name, first_line)
            elif isinstance(node, ast.Lambda) and below is node.body:
                return name == "<lambda>" and node.lineno == first_line
            elif isinstance(node, _COMPREHENSIONS) and name.endswith(("comp>", "genexpr>")):
                return node.lineno == first_line
            below = node
        return not name.isidentifier()

    def loop(self) -> Loop | None:
        """The innermost loop, within the same function, whose body holds the position."""
        below: ast.AST = self.node
        for node in self.ancestors:
            if isinstance(node, _SCOPES) or isinstance(node, _COMPREHENSIONS):
                return None
            if isinstance(node, _LOOPS) and below in node.body:
                last = node.body[-1]
                return Loop(node.lineno, node.body[0].lineno, last.end_lineno or last.lineno)
            below = node
        return None


def dotted(node: ast.AST) -> str | None:
    """`self.h` for the syntax tree of `self.h`; None for anything but names and attributes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def find_syntax(file: str, position: tuple[int, int, int, int]) -> Syntax | None:
    """The syntax at a position of a file, whose columns are UTF-8 bytes as in a code object.

    Python shortens the position of a method call that is spread over several lines; so when no
    node matches exactly, the innermost one that contains the position and ends with it is taken.
    """
    parsed = _file(file)
    if parsed is None:
        return None
    line, column, end_line, end_column = position
    start, end = (line, column), (end_line, end_column)
    path: list[ast.AST] = []
    best: tuple[ast.expr | ast.stmt, tuple[ast.AST, ...]] | None = None
    node: ast.AST | None = parsed.tree
    while node is not None:
        # An expression statement has the position of its expression, which tells more.
        is_wrapper = isinstance(node, ast.Expr)
        if isinstance(node, ast.expr | ast.stmt) and not is_wrapper and _byte_end(node) == end:
            best = (node, tuple(reversed(path)))
            if _byte_start(node) == start:
                break
        path.append(node)
        node = _child_containing(node, start, end)
    if best is None:
        return None
    return Syntax(parsed.lines, best[0], best[1], parsed.imported)


def character_column(line: str, byte_column: int) -> int:
    """Columns in code objects count UTF-8 bytes; this one counts characters.

    >>> character_column("x = 'ä' + y", 10)
    9
    """
    return len(line.encode()[:byte_column].decode(errors="replace"))


def _child_containing(
    node: ast.AST, start: tuple[int, int], end: tuple[int, int]
) -> ast.AST | None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt):
            first = _byte_start(child)
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                # Decorators lie above the line that the definition is said to start on.
                first = min([first, *map(_byte_start, child.decorator_list)])
            if first <= start and end <= _byte_end(child):
                return child
        elif isinstance(child, ast.expr_context | ast.operator | ast.cmpop):
            continue
        else:
            # Containers without a position: arguments, handlers, comprehensions, cases.
            inner = _child_containing(child, start, end)
            if inner is not None:
                return inner
    return None


# file -> (the list that linecache holds, lines, tree, imported names). A new list means a new text.
_PARSED: dict[str, tuple[list[str], _File | None]] = {}


def _file(file: str) -> _File | None:
    try:
        held = linecache.getlines(file)
    except Exception:
        return None
    known = _PARSED.get(file)
    if known is not None and known[0] is held:
        return known[1]
    parsed = _parse(held)
    if held:
        _PARSED[file] = (held, parsed)
    return parsed


def _parse(held: list[str]) -> _File | None:
    lines = tuple(line.rstrip("\r\n") for line in held)
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    imported = frozenset(
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )
    return _File(lines, tree, imported) if lines else None


def _byte_start(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _byte_end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _start(lines: tuple[str, ...], node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.expr | ast.stmt)
    line, column = _byte_start(node)
    return line, character_column(lines[line - 1], column)


def _end(lines: tuple[str, ...], node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.expr | ast.stmt)
    line, column = _byte_end(node)
    return line, character_column(lines[line - 1], column)
