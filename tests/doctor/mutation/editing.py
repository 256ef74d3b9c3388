"""Changes of a program's text by lines, and where its lines are afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Loop = ast.For | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """The lines from `start` to `end` become others; `end` before `start` inserts."""

    start: int
    end: int
    new: tuple[str, ...] = ()
    guilty: tuple[int, ...] | None = None  # which of the new lines are the mistake; all by default


@dataclass(frozen=True)
class Fault:
    """A mistake that was put into a program, and what a right report about it says."""

    kind: str
    text: str
    reference: str  # the healthy program that it was made of
    lines: tuple[int, ...]  # lines that a report may call guilty
    causes: tuple[str, ...]
    fixes: tuple[str, ...]  # kinds of fixes that are right at one of the lines
    site: int  # the line of the healthy program, to find it again


@dataclass
class Text:
    """A program as lines and as a tree whose nodes know their parents."""

    text: str
    lines: list[str] = field(init=False)
    tree: ast.Module = field(init=False)
    parents: dict[ast.AST, ast.AST] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()
        self.tree = ast.parse(self.text)
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node belongs to."""
        if isinstance(node, ast.stmt):
            return node
        return next(each for each in self.above(node) if isinstance(each, ast.stmt))

    def function(self, node: ast.AST) -> ast.AST:
        """The function, or the module, around a node."""
        around = (each for each in self.above(node) if isinstance(each, (*_FUNCTIONS, ast.Module)))
        return next(around)

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops around a node in its function, innermost first."""
        found: list[Loop] = []
        for each in self.above(node):
            if isinstance(each, _FUNCTIONS):
                break
            if isinstance(each, (ast.For, ast.While)):
                found.append(each)
        return found

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every list of statements, in the order of their lines."""
        found = []
        for node in ast.walk(self.tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    found.append(block)
        yield from sorted(found, key=lambda block: block[0].lineno)

    def source(self, node: ast.AST) -> str:
        """The text of a node, on one line."""
        return ast.unparse(node)

    def indent(self, statement: ast.stmt) -> str:
        """The white space in front of a statement."""
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def taken(self, statement: ast.stmt) -> tuple[str, ...]:
        """The lines of a statement."""
        return tuple(self.lines[statement.lineno - 1 : _end(statement)])

    def without(self, statement: ast.stmt) -> Change:
        """The statement taken out; `pass` where nothing else is left."""
        block = next(block for block in self.blocks() if statement in block)
        new = (self.indent(statement) + "pass",) if len(block) == 1 else ()
        return Change(statement.lineno, _end(statement), new, ())

    def before(
        self, statement: ast.stmt, *new: str, guilty: tuple[int, ...] | None = None
    ) -> Change:
        """Lines in front of a statement, indented as it is."""
        indent = self.indent(statement)
        return Change(
            statement.lineno, statement.lineno - 1, tuple(indent + each for each in new), guilty
        )

    def after(
        self, statement: ast.stmt, *new: str, guilty: tuple[int, ...] | None = None
    ) -> Change:
        """Lines behind a statement, indented as it is."""
        indent, end = self.indent(statement), _end(statement)
        return Change(end + 1, end, tuple(indent + each for each in new), guilty)

    def replaced(self, node: ast.expr, new: str) -> Change:
        """The lines of an expression with other text in its place."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        first = self.lines[node.lineno - 1].encode()[: node.col_offset].decode()
        last = self.lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
        return Change(node.lineno, node.end_lineno, (first + new + last,))

    def changed(self, changes: Iterable[Change]) -> tuple[str, list[int], dict[int, int]]:
        """The new text, its guilty lines, and where the old lines are now."""
        new: list[str] = []
        guilty: list[int] = []
        now: dict[int, int] = {}
        at = 1
        for change in sorted(changes, key=lambda change: (change.start, change.end)):
            for line in range(at, change.start):
                new.append(self.lines[line - 1])
                now[line] = len(new)
            meant = range(len(change.new)) if change.guilty is None else change.guilty
            guilty += [len(new) + 1 + index for index in meant]
            for line in range(change.start, change.end + 1):
                now[line] = len(new) + 1
            new += change.new
            at = change.end + 1
        for line in range(at, len(self.lines) + 1):
            new.append(self.lines[line - 1])
            now[line] = len(new)
        return "\n".join(new) + "\n", guilty, now


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _end(statement: ast.stmt) -> int:
    assert statement.end_lineno is not None
    return statement.end_lineno


def fault(
    text: Text,
    kind: str,
    changes: list[Change],
    causes: str,
    fixes: str,
    *,
    also: Iterable[ast.AST] = (),
    reference: list[Change] | None = None,
) -> Fault:
    """Put the changes into a program; `also` are nodes that a right report may name as well."""
    new, guilty, now = text.changed(changes)
    named = [now[node.lineno] for node in also if isinstance(node, (ast.stmt, ast.expr))]
    healthy = text.text if reference is None else text.changed(reference)[0]
    lines = tuple(sorted({*guilty, *named}))
    site = min(change.start for change in changes)
    return Fault(kind, new, healthy, lines, tuple(causes.split()), tuple(fixes.split()), site)


# ------------------------------------------------------------------------ what statements do


def called(node: ast.AST | None) -> str:
    """The name of the method or function that an expression statement or a call calls."""
    if isinstance(node, ast.Expr):
        node = node.value
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def receiver(statement: ast.stmt) -> ast.expr | None:
    """`x` of a statement `x.method()`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return function.value if isinstance(function, ast.Attribute) else None
    return None


def is_backward(statement: ast.stmt) -> bool:
    """`loss.backward()`, not `torch.autograd.backward`."""
    return called(statement) == "backward" and "autograd" not in ast.unparse(statement)


def is_step(statement: ast.stmt) -> bool:
    """`optimizer.step()`, not a scheduler's, a scaler's or one with a closure."""
    if called(statement) != "step" or not isinstance(statement, ast.Expr):
        return False
    name = ast.unparse(receiver(statement) or statement).lower()
    other = any(word in name for word in ("sched", "scaler", "env", "warm"))
    return not other and isinstance(statement.value, ast.Call) and not statement.value.args


def is_zero_grad(statement: ast.stmt) -> bool:
    """`optimizer.zero_grad()` or a model's."""
    return called(statement) == "zero_grad"


def names_read(node: ast.AST) -> set[str]:
    """The names that a piece of program loads."""
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


def names_written(node: ast.AST) -> set[str]:
    """The names that a piece of program binds."""
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }


def target_of(statement: ast.stmt) -> str:
    """`x` of `x = ...`, "" for other statements."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else ""
    return ""


def value_of(statement: ast.stmt) -> ast.expr:
    """The value of an assignment that `target_of` has named."""
    assert isinstance(statement, ast.Assign)
    return statement.value
