"""A scope's statements in the order in which they run, each with the loops and branches around it.

That is all the control flow that the rules need: which statement comes first in one pass, what is
repeated by which loop, and what runs only sometimes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Loop = ast.For | ast.AsyncFor | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, eq=False)
class Binding:
    """A name (or dotted name) gets a value.

    how: assign, augmented, part (of an unpacked value), item (of a loop), other
    """

    name: str
    value: ast.expr | None
    how: str
    step: Step
    node: ast.AST


@dataclass(eq=False)
class Step:
    """A statement, or the head of a compound one."""

    index: int
    node: ast.stmt
    parts: tuple[ast.AST, ...]  # what of the statement runs here
    loops: tuple[Loop, ...]
    arms: tuple[tuple[ast.AST, str], ...]  # the conditional parts it is in
    grad_off: bool  # in `with torch.no_grad()`
    guarded: bool  # an exception is expected here
    bindings: list[Binding] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)

    def precedes(self, other: Step) -> bool:
        """Whether this runs before `other` in every pass that comes to `other`."""
        return (
            self.index < other.index
            and self.arms == other.arms[: len(self.arms)]
            and self.loops == other.loops[: len(self.loops)]
        )

    def always_in(self, loop: Loop) -> bool:
        """Whether every pass of the loop comes here: no branch or inner loop is between."""
        if not self.loops or self.loops[-1] is not loop:
            return False
        return not any(_within(arm, loop) for arm, _ in self.arms)


def _within(node: ast.AST, loop: Loop) -> bool:
    place = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    end = (loop.end_lineno or 0, loop.end_col_offset or 0)
    return (loop.lineno, loop.col_offset) < place < end


@dataclass(eq=False)
class Scope:
    """A module or a function: its steps, the names bound in it, the scope around it."""

    node: ast.Module | Function
    outer: Scope | None
    owner: ast.ClassDef | None  # the class whose method this is
    steps: list[Step] = field(default_factory=list)
    imported: dict[str, str] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)  # other than by import
    inner: list[Scope] = field(default_factory=list)
    by_name: dict[str, list[Binding]] = field(default_factory=dict)
    leaves_loops: set[Loop] = field(default_factory=set)  # loops with a break or return
    shared: set[str] = field(default_factory=set)  # global and nonlocal names
    grad_off: bool = False  # the whole function, by a decorator

    @property
    def parameters(self) -> list[str]:
        """The names of the function's arguments."""
        if isinstance(self.node, ast.Module):
            return []
        arguments = self.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        return [argument.arg for argument in every]

    def bindings(self, name: str) -> list[Binding]:
        """Where the name gets a value in this scope, in order."""
        return self.by_name.get(name, [])

    def reaching(self, name: str, step: Step, inclusive: bool = False) -> list[Binding] | None:
        """The bindings whose value the name can have at a step, in one pass from the top.

        None stands among them for a value from before: an argument, another scope.
        """
        found: list[Binding] = []
        for binding in reversed(self.bindings(name)):
            at = binding.step
            if at.index > step.index or (at.index == step.index and not inclusive):
                continue
            if at.index < step.index and _other_arm(at, step):
                continue
            found.append(binding)
            if at.precedes(step) or at is step:
                return found
        return None

    def used_inside(self, name: str) -> bool:
        """Whether a function or lambda in this scope uses its name."""
        for step in self.steps:
            for part in step.parts:
                for node in walk_here(part):
                    if isinstance(node, ast.Lambda) and _uses(node, name):
                        return True
        return any(
            name not in inner.bound and (_uses(inner.node, name) or inner.used_inside(name))
            for inner in self.inner
        )

    def between(self, first: Step, last: Step) -> Iterator[Step]:
        """The steps after the first and before the last."""
        return iter(self.steps[first.index + 1 : last.index])


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _other_arm(first: Step, second: Step) -> bool:
    """Whether the two are in different arms of one branch, so that only one of them runs."""
    for (node, arm), (other, other_arm) in zip(first.arms, second.arms, strict=False):
        if node is not other:
            return False
        if arm != other_arm:
            return isinstance(node, ast.If) or arm.startswith("case")
    return False


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` as text, or None if it is not of this form.

    >>> dotted(ast.parse("self.opt.step").body[0].value)
    'self.opt.step'
    """
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(names)])


def walk_here(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it that run with it: not the bodies of functions, lambdas, classes."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, _NESTED):
            continue
        waiting.extend(ast.iter_child_nodes(current))


class Builder:
    """Builds the scopes of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes: list[Scope] = []
        self.of_function: dict[ast.AST, Scope] = {}
        self.classes: list[tuple[ast.ClassDef, Scope]] = []
        waiting: list[tuple[ast.Module | Function, Scope | None, ast.ClassDef | None, bool]]
        waiting = [(tree, None, None, False)]
        while waiting:
            node, outer, owner, off = waiting.pop(0)
            scope = Scope(node, outer, owner, grad_off=off)
            self.scopes.append(scope)
            self.of_function[node] = scope
            if outer is not None:
                outer.inner.append(scope)
                scope.bound.update(scope.parameters)
            self.scope = scope
            self.found: list[tuple[Function, ast.ClassDef | None]] = []
            self._block(node.body, (), (), off, False)
            scope.bound -= scope.shared
            for function, its_class in self.found:
                off = any(turns_grad_off(decorator) for decorator in function.decorator_list)
                waiting.append((function, scope, its_class, off))

    def _block(
        self,
        body: Sequence[ast.stmt],
        loops: tuple[Loop, ...],
        arms: tuple[tuple[ast.AST, str], ...],
        off: bool,
        guarded: bool,
    ) -> None:
        for node in body:
            self._statement(node, loops, arms, off, guarded)

    def _statement(
        self,
        node: ast.stmt,
        loops: tuple[Loop, ...],
        arms: tuple[tuple[ast.AST, str], ...],
        off: bool,
        guarded: bool,
    ) -> None:
        def step(*parts: ast.AST, inside: tuple[Loop, ...] = loops) -> Step:
            made = Step(len(self.scope.steps), node, parts, inside, arms, off, guarded)
            self.scope.steps.append(made)
            self._fill(made)
            return made

        if isinstance(node, ast.If):
            # `elif` is an `if` in an `else`: taken as further arms of the first, however many
            number, current, rest = 0, node, node.body
            while rest:
                step(current.test)
                self._block(current.body, loops, (*arms, (node, f"arm{number}")), off, guarded)
                rest = current.orelse
                number += 1
                if len(rest) == 1 and isinstance(rest[0], ast.If):
                    current = rest[0]
                    continue
                self._block(rest, loops, (*arms, (node, f"arm{number}")), off, guarded)
                break
        elif isinstance(node, ast.For | ast.AsyncFor):
            step(node.iter)
            self._bind(node.target, node.iter, "item", step(inside=(*loops, node)), node)
            self._block(node.body, (*loops, node), arms, off, guarded)
            self._block(node.orelse, loops, (*arms, (node, "else")), off, guarded)
        elif isinstance(node, ast.While):
            step(node.test, inside=(*loops, node))
            self._block(node.body, (*loops, node), arms, off, guarded)
            self._block(node.orelse, loops, (*arms, (node, "else")), off, guarded)
        elif isinstance(node, ast.With | ast.AsyncWith):
            made = step(*(item.context_expr for item in node.items))
            for item in node.items:
                guarded = guarded or _expects_an_error(item.context_expr)
                if turns_grad_off(item.context_expr):
                    off = True
                elif _may_turn_grad_on(item.context_expr):
                    off = False
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, None, "other", made, node)
            self._block(node.body, loops, arms, off, guarded)
        elif isinstance(node, ast.Try | ast.TryStar):
            caught = guarded or bool(node.handlers)
            self._block(node.body, loops, (*arms, (node, "try")), off, caught)
            for number, handler in enumerate(node.handlers):
                self._block(handler.body, loops, (*arms, (node, f"except{number}")), off, guarded)
            self._block(node.orelse, loops, (*arms, (node, "else")), off, guarded)
            self._block(node.finalbody, loops, arms, off, guarded)
        elif isinstance(node, ast.Match):
            step(node.subject)
            for number, case in enumerate(node.cases):
                for part in ast.walk(case.pattern):
                    captured = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(captured, str):
                        self.scope.bound.add(captured)
                self._block(case.body, loops, (*arms, (node, f"case{number}")), off, guarded)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            made = step(*node.decorator_list)
            self._add(Binding(node.name, None, "other", made, node))
            self.found.append((node, None))
        elif isinstance(node, ast.ClassDef):
            made = step(*node.decorator_list, *node.bases)
            self._add(Binding(node.name, None, "other", made, node))
            self.classes.append((node, self.scope))
            self._class_body(node)
        else:
            self._simple(node, step(node))

    def _class_body(self, node: ast.ClassDef) -> None:
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                self.found.append((part, node))

    def _simple(self, node: ast.stmt, step: Step) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value, "assign", step, node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value, "assign", step, node)
        elif isinstance(node, ast.AugAssign):
            self._bind(node.target, node.value, "augmented", step, node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._bind(target, None, "other", step, node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.scope.shared.update(node.names)
        elif isinstance(node, ast.Break) and step.loops:
            self.scope.leaves_loops.add(step.loops[-1])
        elif isinstance(node, ast.Return | ast.Raise):
            self.scope.leaves_loops.update(step.loops)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self.scope.imported[name] = _as_torch(alias.name if alias.asname else name)
        elif node.level == 0:
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                self.scope.imported[alias.asname or alias.name] = _as_torch(path)
        else:
            self.scope.bound.update(alias.asname or alias.name for alias in node.names)

    def _fill(self, step: Step) -> None:
        calls = []
        for part in step.parts:
            for node in walk_here(part):
                if isinstance(node, ast.Call):
                    calls.append(node)
                elif isinstance(node, ast.NamedExpr):
                    self._bind(node.target, node.value, "assign", step, node)
        calls.sort(key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))
        step.calls = calls

    def _bind(
        self, target: ast.expr, value: ast.expr | None, how: str, step: Step, node: ast.AST
    ) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            values: Iterable[ast.expr | None] = [value] * len(target.elts)
            inner = how if how in ("item", "other") else "part"
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            starred = any(isinstance(part, ast.Starred) for part in target.elts)
            if how == "assign" and same and not starred:
                assert isinstance(value, ast.Tuple | ast.List)
                values, inner = value.elts, "assign"
            for part, its_value in zip(target.elts, values, strict=True):
                self._bind(part, its_value, inner, step, node)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, "other", step, node)
        else:
            name = dotted(target)
            if name is not None:
                self._add(Binding(name, value, how, step, node))

    def _add(self, binding: Binding) -> None:
        binding.step.bindings.append(binding)
        self.scope.by_name.setdefault(binding.name, []).append(binding)
        if "." not in binding.name:
            self.scope.bound.add(binding.name)


def _as_torch(path: str) -> str:
    head, dot, rest = path.partition(".")
    return "torch" + dot + rest if head == "retrograd" else path


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return (dotted(node) or "").rpartition(".")[2]


def turns_grad_off(node: ast.expr) -> bool:
    """`torch.no_grad()`, `inference_mode()`, `set_grad_enabled(False)`."""
    name = _last_name(node)
    if name in ("no_grad", "inference_mode"):
        arguments = node.args if isinstance(node, ast.Call) else []
        return not (arguments and isinstance(arguments[0], ast.Constant) and not arguments[0].value)
    if name == "set_grad_enabled" and isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        return isinstance(first, ast.Constant) and first.value is False
    return False


def _may_turn_grad_on(node: ast.expr) -> bool:
    return _last_name(node) in ("enable_grad", "set_grad_enabled", "inference_mode", "no_grad")


def _expects_an_error(node: ast.expr) -> bool:
    return _last_name(node) in (
        *("raises", "assertRaises", "assertRaisesRegex", "suppress", "warns", "assertWarns"),
        *("assertRaisesRegexp", "assertWarnsRegex", "deprecated_call"),
    )
