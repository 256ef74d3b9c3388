"""A function's text as a tree, found again in its file and compared with the code that runs."""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import CodeType, FunctionType
from typing import Any, ClassVar

FunctionNode = ast.FunctionDef | ast.Lambda

# What has no place in a step that is read, and what to do about it.
UNREAD: dict[type[ast.AST], str] = {
    ast.Try: "`try` decides by what happens at each call; move it out of the step",
    ast.TryStar: "`try` decides by what happens at each call; move it out of the step",
    ast.Yield: "a generator stops in the middle; let the step return what it yields",
    ast.YieldFrom: "a generator stops in the middle; let the step return what it yields",
    ast.Await: "`await` waits for something outside; move it out of the step",
    ast.AsyncFor: "`async` waits for something outside; move it out of the step",
    ast.AsyncWith: "`async` waits for something outside; move it out of the step",
    ast.AsyncFunctionDef: "`async` waits for something outside; move it out of the step",
    ast.ClassDef: "a class is made anew at each call; define it outside of the step",
    ast.Import: "modules are imported once; move the import out of the step",
    ast.ImportFrom: "modules are imported once; move the import out of the step",
    ast.Match: "`match` is not read yet; write it with `if`",
}


@dataclass(eq=False)
class Definition:
    """A function or lambda in a file."""

    UNGIVEN: ClassVar[object] = object()

    node: FunctionNode
    file: str
    name: str
    owner: str = ""  # the class in whose body it stands, for names with two underscores
    names: frozenset[str] = field(init=False)
    outer: dict[str, str] = field(init=False)  # declared `nonlocal` or `global`

    def __post_init__(self) -> None:
        self.outer = {}
        given = self.node.args
        found = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        found |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
        for node in own_nodes(self.node):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Nonlocal | ast.Global):
                self.outer.update(dict.fromkeys(node.names, type(node).__name__))
        self.names = frozenset(found - set(self.outer))

    @cached_property
    def binder(self) -> Any:
        """A function of the same parameters that gives them by name, `UNGIVEN` for defaults."""
        arguments = copy.deepcopy(self.node.args)
        ungiven = ast.Name("UNGIVEN", ast.Load())
        arguments.defaults = [ungiven for _ in arguments.defaults]
        arguments.kw_defaults = [default and ungiven for default in arguments.kw_defaults]
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        body = ast.Call(ast.Name("locals", ast.Load()), [], [])
        tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
        made = eval(compile(tree, self.file, "eval"), {"UNGIVEN": self.UNGIVEN})
        made.__name__ = made.__qualname__ = self.name
        return made

    def mangled(self, name: str) -> str:
        """A name as Python keeps it: those that begin with two underscores get the class's."""
        owner = self.owner.lstrip("_")
        hidden = name.startswith("__") and not name.endswith("__") and owner
        return f"_{owner}{name}" if hidden else name

    def unread(self) -> tuple[str, int] | None:
        """Why the function cannot be read, and the line; None if it can."""
        return self._unread

    @cached_property
    def _unread(self) -> tuple[str, int] | None:
        for node in ast.walk(self.node):
            if (reason := UNREAD.get(type(node))) is not None:
                return reason, getattr(node, "lineno", self.node.lineno)
            if isinstance(node, ast.comprehension) and node.is_async:
                return UNREAD[ast.AsyncFor], node.target.lineno
            if isinstance(node, ast.Delete):
                for target in node.targets:
                    if isinstance(target, ast.Tuple) or getattr(target, "id", "") in self.outer:
                        return "a name from outside is deleted", node.lineno
        return None


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """What belongs to a function's own scope: not the insides of nested ones.

    Of a comprehension, whose variables are its own, the named expressions belong to the function.
    """
    body = function.body if isinstance(function.body, list) else [function.body]
    waiting: list[tuple[ast.AST, bool]] = [(node, True) for node in body]
    while waiting:
        node, binds = waiting.pop()
        if binds or not isinstance(node, ast.Name):
            yield node
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.NamedExpr):
            yield node.target
            waiting.append((node.value, binds))
            continue
        inside = binds and not isinstance(node, _COMPREHENSIONS)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


@cache
def _file(name: str, text: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """The tree of a file, and every code object that it compiles to."""
    tree = ast.parse(text, name)
    waiting = [compile(text, name, "exec", dont_inherit=True)]
    found = set(waiting)
    while waiting:
        inner = [c for c in waiting.pop().co_consts if isinstance(c, CodeType)]
        found.update(inner)
        waiting += inner
    return tree, frozenset(found)


def definition_of(function: FunctionType) -> Definition | str:
    """Where and how a function is defined; a sentence if its text cannot be had."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return f"the text of {code.co_name} is not to be had"
    try:
        tree, codes = _file(code.co_filename, "".join(lines))
    except SyntaxError:
        return f"the text of {code.co_name} is not to be had"
    found = _found(tree, code)
    if found is None or (code not in codes and not _rewritten(found)):
        if code.co_filename.startswith("<"):  # from 3.13 on, `<string>` is also the text of `-c`
            return f"the text of {code.co_name} is not to be had"
        return f"{code.co_filename} has changed since {code.co_name} was made from it"
    owner = code.co_qualname.rpartition(".")[0].rpartition(".")[2]
    return _definition(found, code.co_filename, code.co_name, owner.replace("<locals>", ""))


_definition = cache(Definition)


_places: dict[int, tuple[CodeType, ast.Module, FunctionNode | None]] = {}


def _found(tree: ast.Module, code: CodeType) -> FunctionNode | None:
    """`_defined`, looked for once; by identity, as equal lambdas may stand in one line."""
    known = _places.get(id(code))
    if known is None or known[0] is not code or known[1] is not tree:
        known = _places[id(code)] = (code, tree, _defined(tree, code))
    return known[2]


def _rewritten(node: FunctionNode) -> bool:
    """Whether a test runner may have compiled the function from another tree: it has `assert`."""
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def _defined(tree: ast.Module, code: CodeType) -> FunctionNode | None:
    """The function or lambda of a file that a code object was compiled from."""
    if code.co_name != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if first == code.co_firstlineno:
                    return node
        return None
    # Of the lambdas around everything that the code has a position for, the innermost.
    places = [p for p in code.co_positions() if p[0] and p[2] is not None and p[3] != p[2]]
    found: list[FunctionNode] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            body = node.body
            low, high = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
            if all(low <= (p[0], p[2]) and (p[1], p[3]) <= high for p in places):
                found.append(node)
    return found[-1] if found and (places or len(found) == 1) else None
