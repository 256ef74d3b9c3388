"""What functions of PyTorch in Python first do with their arguments, read in their source.

Such a function has no parser. What it says to a wrong argument depends on where it first uses it:
an attribute that a value does not have, or the parser of the function that it passes it on to. So
its steps are listed in order: ``input.size`` is an attribute that is read, ``torch.relu(input)`` a
call; an argument that is no parameter of the function (or no longer) is a question mark. Only what
runs in each call is listed, and of ``if`` and ``else`` what the ``else`` does. A step that depends
on more than a flag has a tilde before it: it says what was meant, not what every call does.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

# where functions are found, as the source has it and as the list of signatures has it
PLACES = {
    "torch._C._nn.": "nn.",
    "torch._C._VariableFunctions.": "C.",
    "torch._VF.": "C.",
    "_VF.": "C.",
    "torch.": "torch.",
    "F.": "nn.functional.",
}


def steps_of(function: Any) -> list[str]:
    """The steps of a function; empty where there is no source to read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return []
    if not isinstance(tree, ast.FunctionDef):
        return []
    names = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    reader = _Reader({argument.arg for argument in names}, inspect.unwrap(function).__globals__)
    reader.read_all(tree.body)
    return list(dict.fromkeys(reader.steps))


def _inside(function: Any, words: list[str]) -> list[str]:
    """The steps of a private helper, in the words of its caller."""
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, words, strict=False))
    found = []
    for step in steps_of(function):
        mark = "~" if step.startswith("~") else ""
        name, point, attribute = step.strip("~").partition(".")
        if "(" not in step and given.get(name, "?") != "?":
            found.append(f"{mark}{given[name]}{point}{attribute}")
    return found


class _Reader:
    def __init__(self, parameters: set[str], scope: dict[str, Any]) -> None:
        self.scope = scope
        self.known = parameters  # names that still have the value of the argument
        self.steps: list[str] = []
        self.mark = ""  # before steps that not every call takes

    def read_all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.read(statement)

    def read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If):
            if "torch_function" in ast.unparse(statement.test):
                return
            self.use(_first(statement.test))
            if not _only_raises(statement.orelse):
                self.forget(statement.body)
            outer, by_flag = self.mark, isinstance(statement.test, ast.Name)
            self.mark = outer if by_flag else "~"
            self.read_all(statement.body if _only_raises(statement.orelse) else statement.orelse)
            if by_flag or not any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                self.mark = outer
            return
        if isinstance(
            statement, ast.Return | ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign
        ):
            if statement.value is not None:
                self.use(statement.value)
        self.forget([statement])

    def forget(self, body: list[ast.stmt]) -> None:
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.known.discard(node.id)

    def use(self, expression: ast.expr) -> None:
        """The steps of an expression, inner ones first, as Python evaluates it."""
        for node in _in_order(expression):
            if isinstance(node, ast.Call):
                self.call(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in self.known and isinstance(node.ctx, ast.Load):
                    self.steps.append(f"{self.mark}{node.value.id}.{node.attr}")

    def call(self, node: ast.Call) -> None:
        written = ast.unparse(node.func)
        place = next((p for p in PLACES if written.startswith(p)), None)
        name = written.removeprefix(place or "")
        starred = any(isinstance(a, ast.Starred) for a in node.args)
        if starred or any(k.arg is None for k in node.keywords):
            return
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in self.known:
            given = [ast.unparse(node.func.value), *map(self.word, node.args)]
            where = "Tensor."
        elif place is not None and "." not in name:
            given = [*map(self.word, node.args)]
            where = PLACES[place]
        elif isinstance(node.func, ast.Name) and written.startswith("_"):
            helper = self.scope.get(written)
            if inspect.isfunction(helper):
                for step in _inside(helper, [*map(self.word, node.args)]):
                    self.steps.append(self.mark + step.removeprefix(self.mark))
            return
        elif isinstance(node.func, ast.Name):
            given, where = [*map(self.word, node.args)], "nn.functional."
        else:
            return
        given += [f"{k.arg}={self.word(k.value)}" for k in node.keywords]
        self.steps.append(f"{self.mark}{where}{name}({', '.join(given)})")

    def word(self, value: ast.expr) -> str:
        if isinstance(value, ast.Name) and value.id in self.known:
            return value.id
        if isinstance(value, ast.Constant) and isinstance(value.value, bool | int | float):
            return repr(value.value)
        return "?"


def _only_raises(body: list[ast.stmt]) -> bool:
    """Whether the ``else`` of a condition says that none of its cases was met."""
    while len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].orelse
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _first(test: ast.expr) -> ast.expr:
    """The part of a condition that is looked at in each case."""
    return _first(test.values[0]) if isinstance(test, ast.BoolOp) else test


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Name):  # by a flag
        yield from _in_order(node.orelse)
    if isinstance(node, ast.Lambda | ast.IfExp | ast.ListComp | ast.GeneratorExp | ast.BoolOp):
        return
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
    yield node
