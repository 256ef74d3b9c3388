"""What the program's text says about a line: its statement, its loops, the names it uses."""

from __future__ import annotations

import ast
import io
import linecache
import os
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from retrograd.diagnostics.report import Place

_COMPOUND = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.While),
    *(ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match),
)


@dataclass(frozen=True)
class Loop:
    """A for or while loop: its first line and its last."""

    header: int
    end: int

    def holds(self, line: int) -> bool:
        """Whether a line lies in the loop, its header included."""
        return self.header <= line <= self.end


overlaid: dict[str, bytes] = {}
"""Contents that stand for those of files, by real path: of a fix that is being tried."""


def bytes_of(file: str) -> bytes:
    """What a file of the program holds."""
    if overlaid:
        found = overlaid.get(os.path.realpath(file))
        if found is not None:
            return found
    try:
        return Path(file).read_bytes()
    except OSError:
        lines = linecache.getlines(file)  # a cell of a notebook
        if not lines:
            raise
        return "".join(lines).encode()


def _read(file: str) -> str:
    try:
        data = bytes_of(file)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)  # by its coding line
        return data.decode(encoding)
    except OSError:
        return ""


@cache
def _parsed(file: str) -> tuple[ast.Module, tuple[str, ...]]:
    try:
        text = _read(file)
        return ast.parse(text), tuple(text.splitlines())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], []), ()


def forget() -> None:
    """Read files anew: they may have changed."""
    _parsed.cache_clear()


def tree_of(file: str) -> ast.Module:
    """The syntax tree of a file; empty if it cannot be read."""
    return _parsed(file)[0]


def text_at(file: str, line: int) -> str:
    """The text of a line, "" if there is none."""
    lines = _parsed(file)[1]
    return lines[line - 1] if 0 < line <= len(lines) else ""


def loops_around(file: str, line: int) -> list[Loop]:
    """The loops that hold a line, outermost first."""
    found = [
        Loop(node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree_of(file))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    ]
    return sorted(
        (loop for loop in found if loop.holds(line)), key=lambda loop: (loop.header, -loop.end)
    )


def set_before_read(file: str, loop: Loop, name: str, line: int) -> bool:
    """Whether each pass of a loop sets a variable before it reads it: nothing is carried by it.

    line  one in the loop: a loop around it that is inside the other one may be what sets it

    Only statements of a loop's own block count as setting it for certain.
    """
    for node in ast.walk(tree_of(file)):
        if isinstance(node, _LOOPS) and node.lineno == loop.header:
            return _sets_first(node, name, line)
    return False


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _sets_first(loop: ast.For | ast.AsyncFor | ast.While, name: str, line: int) -> bool:
    head = [loop.test] if isinstance(loop, ast.While) else [loop.target]
    for part in [*head, *loop.body]:
        if isinstance(part, _LOOPS) and part.lineno <= line <= (part.end_lineno or 0):
            return _sets_first(part, name, line)
        names = [n for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == name]
        if any(isinstance(n.ctx, ast.Load) for n in names):
            return False
        if isinstance(part, ast.AugAssign) and names:
            return False
        if names and (part in head or isinstance(part, (ast.Assign, ast.AnnAssign))):
            return True
    return False


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost simple statement that a line belongs to."""
    best: ast.stmt | None = None
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.stmt) and not isinstance(node, _COMPOUND):
            end = node.end_lineno or node.lineno
            if node.lineno <= line <= end and (best is None or node.lineno >= best.lineno):
                best = node
    return best


def function_around(file: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function that a line belongs to."""
    best: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    for node in ast.walk(tree_of(file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end = node.end_lineno or node.lineno
            if node.lineno <= line <= end and (best is None or node.lineno > best.lineno):
                best = node
    return best


def keeps_value(file: str, line: int) -> bool:
    """Whether the line keeps what it computes: an assignment."""
    return isinstance(statement_at(file, line), (ast.Assign, ast.AugAssign, ast.AnnAssign))


def where_kept(stack: list[Place]) -> Place | None:
    """The innermost line of a stack that keeps the value; a `return` passes it on.

    The head of a loop over a generator keeps what the generator yields.
    """
    for position, place in enumerate(reversed(stack)):
        if keeps_value(place.file, place.line):
            return place
        if position and _is_head_over(place.file, place.line):
            return place
    return stack[-1] if stack else None


def _is_head_over(file: str, line: int) -> bool:
    return any(
        isinstance(node, (ast.For, ast.AsyncFor)) and node.lineno == line
        for node in ast.walk(tree_of(file))
    )


def dropped_calls(file: str, method: str) -> list[int]:
    """The lines that call a method as a statement of its own, its result dropped."""
    found = []
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute) and function.attr == method:
                found.append(node.lineno)
    return sorted(found)


def reads(file: str, line: int, name: str) -> bool:
    """Whether the statement of a line reads a variable or attribute (`hidden`, `self.memory`)."""
    statement = statement_at(file, line)
    if statement is None:
        return False
    return any(_written(node) == name and _is_load(node) for node in ast.walk(statement))


def writes(file: str, line: int, name: str) -> bool:
    """Whether the statement of a line assigns a variable or attribute."""
    statement = statement_at(file, line)
    if statement is None:
        return False
    return any(_written(node) == name and not _is_load(node) for node in ast.walk(statement))


def assigned_names(file: str, line: int) -> list[str]:
    """What the statement of a line assigns: names and attributes, as written."""
    statement = statement_at(file, line)
    if statement is None:
        return []
    return [
        text
        for node in ast.walk(statement)
        if (text := _written(node)) is not None and not _is_load(node)
    ]


def _is_load(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _written(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _written(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None
