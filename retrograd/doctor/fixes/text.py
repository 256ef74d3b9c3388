"""A program's text with a list of changes to it, placed by the positions of its syntax tree.

Nothing but the changed characters moves: comments, spacing, line endings, tabs, the encoding and
a byte order mark stay as they are.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_PRIMARY = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.SetComp, ast.DictComp),
)


class CannotWrite(Exception):
    """The change cannot be written safely; the message says why."""


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a file and the encoding that its first lines declare."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding), encoding


class Draft:
    """A text under change: its lines, its tree, and what is to be replaced."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = [line for line in _LINE.findall(text) if line]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(text)
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self._changes: list[tuple[int, int, str]] = []

    # --------------------------------------------------------------------------- positions

    def offset(self, line: int, column: int) -> int:
        """The place in the text of a line and a column as the tree counts it: in UTF-8 bytes."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self.starts[line - 1] + column

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Where a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Where a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def written(self, node: ast.expr | ast.stmt) -> str:
        """A node as it stands in the text."""
        return self.text[self.start(node) : self.end(node)]

    def bounds(self, node: ast.expr) -> tuple[int, int]:
        """Where a node begins and ends with its own parentheses, if something hangs on it."""
        start, end, parent = self.start(node), self.end(node), self.parents.get(node)
        if isinstance(parent, ast.Attribute) and self.start(parent) < start:
            return self.start(parent), self.text.rindex(")", end, self.end(parent)) + 1
        return start, end

    def operand(self, node: ast.expr) -> str:
        """An expression as it stands, in parentheses if something is to be hung on it."""
        text = self.written(node)
        return text if isinstance(node, _PRIMARY) else f"({text})"

    # ----------------------------------------------------------------------------- finding

    def walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node and those below it whose positions can be trusted (not those of f-strings)."""
        waiting = [node]
        while waiting:
            found = waiting.pop()
            yield found
            if not isinstance(found, ast.JoinedStr):
                waiting += reversed(list(ast.iter_child_nodes(found)))

    def statement_at(self, line: int) -> ast.stmt:
        """The innermost statement that a line belongs to; of a compound one, its header."""
        best: ast.stmt | None = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and first_line(node) <= line <= (node.end_lineno or 0):
                if best is None or first_line(node) >= first_line(best):
                    best = node
        if best is None:
            raise CannotWrite(f"line {line} holds no statement")
        if hasattr(best, "body") and not line <= header_end(best):
            raise CannotWrite(f"line {line} holds no statement of its own")
        return best

    def enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """The nodes of some kinds around a node, innermost first."""
        around = self.parents.get(node)
        while around is not None:
            if isinstance(around, kinds):
                yield around
            around = self.parents.get(around)

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function around a node, else the module."""
        return next(self.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef), self.tree)

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that one belongs to."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and any(item is statement for item in block):
                return block
        raise CannotWrite("the statement belongs to no block")

    def calls_at(self, line: int, *names: str) -> list[ast.Call]:
        """The calls of functions or methods of these names in the statement of a line."""
        statement = self.statement_at(line)
        found = []
        for node in self.walk(statement):
            if isinstance(node, ast.Call) and called(node) in names:
                if hasattr(statement, "body") and node.lineno > header_end(statement):
                    continue
                found.append(node)
        on_line = [node for node in found if node.lineno <= line <= (node.end_lineno or 0)]
        return on_line or found

    # ---------------------------------------------------------------------------- changing

    def replace(self, start: int, end: int, text: str) -> None:
        """Put a text in the place of another."""
        self._changes.append((start, end, text))

    def rewrite(self, node: ast.expr | ast.stmt, text: str) -> None:
        """Put a text in the place of a node."""
        self.replace(self.start(node), self.end(node), text)

    def suffix(self, node: ast.expr, text: str) -> None:
        """Hang a method call or the like on an expression."""
        if isinstance(node, (ast.Starred, ast.Yield, ast.Await, ast.NamedExpr, ast.GeneratorExp)):
            raise CannotWrite("the expression cannot take a method call")
        end = self.bounds(node)[1]
        if end > self.end(node) or self.operand(node) == self.written(node):
            self.replace(end, end, text)
        else:
            self.replace(self.start(node), self.start(node), "(")
            self.replace(self.end(node), self.end(node), ")" + text)

    def whole_lines(self, statement: ast.stmt) -> tuple[int, int]:
        """The lines of a statement that has them for itself, with the comment that follows it."""
        start = self.starts[first_line(statement) - 1]
        end = self.starts[statement.end_lineno or 0]
        before = self.text[start : self.offset(first_line(statement), _first_column(statement))]
        after = self.text[self.end(statement) : end].strip()
        if before.strip() or (after and not after.startswith("#")):
            raise CannotWrite("several statements share the line")
        return start, end

    def indentation(self, statement: ast.stmt) -> str:
        """What stands before a statement."""
        start, _ = self.whole_lines(statement)
        return self.text[start : self.offset(first_line(statement), _first_column(statement))]

    def newline(self, statement: ast.stmt) -> str:
        """The line ending used where a statement is."""
        for line in self.lines[first_line(statement) - 1 :: -1] + self.lines:
            found = line[len(line.rstrip("\r\n")) :]
            if found:
                return found
        return "\n"

    def insert_before(self, statement: ast.stmt, *lines: str) -> None:
        """New lines before a statement, indented like it."""
        start, _ = self.whole_lines(statement)
        indentation, newline = self.indentation(statement), self.newline(statement)
        self.replace(start, start, "".join(indentation + line + newline for line in lines))

    def insert_after(self, statement: ast.stmt, *lines: str) -> None:
        """New lines after a statement, indented like it."""
        _, end = self.whole_lines(statement)
        indentation, newline = self.indentation(statement), self.newline(statement)
        text = "".join(indentation + line + newline for line in lines)
        if not self.text[:end].endswith(("\n", "\r")):
            text = newline + text.removesuffix(newline)
        self.replace(end, end, text)

    def remove(self, statement: ast.stmt) -> None:
        """Take a statement away; a block that would be empty gets a `pass`."""
        start, end = self.whole_lines(statement)
        if len(self.block_of(statement)) == 1 and not isinstance(
            self.parents[statement], ast.Module
        ):
            self.rewrite(statement, "pass")
        else:
            self.replace(start, end, "")

    def unit(self, statement: ast.stmt) -> str:
        """One step of indentation, as the file has it around a statement."""
        inner = self.indentation(statement)
        for parent in self.enclosing(statement, ast.stmt):
            assert isinstance(parent, ast.stmt)
            outer = self.indentation(parent)
            if inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and node in self.tree.body:
                line = self.lines[first_line(body[0]) - 1]
                space = line[: len(line) - len(line.lstrip())]
                if space:
                    return space
        return "    "

    def reindented(self, statements: Sequence[ast.stmt], before: str, after: str) -> str:
        """The lines of neighbouring statements with another indentation."""
        first, last = statements[0], statements[-1]
        for node in (n for statement in statements for n in ast.walk(statement)):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno != node.lineno:
                raise CannotWrite("a text of several lines would change with its indentation")
        self.whole_lines(last)
        found = []
        for line in self.lines[first_line(first) - 1 : last.end_lineno]:
            if not line.strip():
                found.append(line)
            elif line.startswith(before):
                found.append(after + line[len(before) :])
            elif line.lstrip().startswith("#"):
                found.append(line)  # a comment that stands further to the left
            else:
                raise CannotWrite("the lines are not indented alike")
        return "".join(found)

    def wrap(self, statement: ast.stmt, header: str) -> None:
        """Put a statement under a header of its own."""
        start, end = self.whole_lines(statement)
        indentation, newline = self.indentation(statement), self.newline(statement)
        inner = self.reindented([statement], indentation, indentation + self.unit(statement))
        self.replace(start, end, indentation + header + newline + inner)

    def result(self) -> str:
        """The text with all changes; it must still be a program, and another one."""
        text, last = self.text, len(self.text)
        # those at one place stand in the text in the order in which they were asked for
        for start, end, new in sorted(self._changes, key=lambda change: change[0])[::-1]:
            if end > last:
                raise CannotWrite("two changes meet in one place")
            text, last = text[:start] + new + text[end:], start
        try:
            after = ast.parse(text)
        except SyntaxError as error:
            raise CannotWrite("the result would not be a program") from error
        if ast.dump(after) == ast.dump(self.tree):
            raise CannotWrite("nothing would change")
        return text


def first_line(statement: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _first_column(statement: ast.stmt) -> int:
    return statement.col_offset


def header_end(statement: ast.stmt) -> int:
    """The last line of what comes before the body of a compound statement."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    if not body:
        return statement.end_lineno or statement.lineno
    return max(statement.lineno, first_line(body[0]) - 1)


def called(call: ast.Call) -> str:
    """The last name of what is called: backward of loss.backward()."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`a.b.c` for names and attributes, "" for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def call_statement(statement: ast.stmt, name: str) -> ast.Call | None:
    """The call, if the statement is nothing but a call of a method of this name."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if called(statement.value) == name and isinstance(statement.value.func, ast.Attribute):
            return statement.value
    return None


def receiver(call: ast.Call) -> ast.expr:
    """What a method is called on."""
    if not isinstance(call.func, ast.Attribute):
        raise CannotWrite("it is not a method call")
    return call.func.value


def assigned(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Target and value of an assignment with one target."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return statement.target, statement.value
    return None


def names_read(node: ast.AST) -> set[str]:
    """The variables that a piece of the program reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def names_of_scope(scope: ast.AST) -> set[str]:
    """The variables of a module or function, without those of functions inside it."""
    found: set[str] = set()
    arguments = getattr(scope, "args", None)
    if arguments is not None:
        found |= names_bound(arguments)
    waiting: list[ast.AST] = list(getattr(scope, "body", []))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Lambda):
            continue
        else:
            if isinstance(node, (ast.Name, ast.alias)):
                found |= names_bound(node)
            waiting += ast.iter_child_nodes(node)
    return found


def names_bound(node: ast.AST) -> set[str]:
    """The variables that a piece of the program sets, functions and imports included."""
    found = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, ast.arg):
            found.add(n.arg)
        elif isinstance(n, ast.alias):
            found.add((n.asname or n.name).split(".")[0])
    return found
