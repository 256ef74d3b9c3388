"""Statements of a step, done one by one."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from typing import Any

from retrograd.replay.reading.expressions import INPLACE, Expressions
from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.surroundings import CONTAINERS
from retrograd.tensor import Tensor

# How a block of statements ends early; a return is a tuple with the value in it.
BREAK, CONTINUE = "break", "continue"
Ending = str | tuple[Any] | None


class Statements(Expressions):
    """What runs the body of a frame."""

    def run(self, frame: Frame) -> Any:
        """Run a call to its end; its result."""
        node = frame.definition.node
        if isinstance(node, ast.Lambda):
            return self.value(node.body, frame)
        ending = self.block(node.body, frame)
        return ending[0] if isinstance(ending, tuple) else None

    def block(self, body: list[ast.stmt], frame: Frame) -> Ending:
        """Statements in order, to the first one that ends the block early."""
        for node in body:
            frame.node = node
            done: Callable[..., Ending] = getattr(self, f"_{type(node).__name__}")
            if (ending := done(node, frame)) is not None:
                return ending
        return None

    # ------------------------------------------------------------------ simple ones

    def _Expr(self, node: ast.Expr, frame: Frame) -> None:
        self.value(node.value, frame)

    def _Pass(self, node: ast.stmt, frame: Frame) -> None: ...

    _Global = _Nonlocal = _Pass

    def _Return(self, node: ast.Return, frame: Frame) -> Ending:
        return (None if node.value is None else self.value(node.value, frame),)

    def _Break(self, node: ast.Break, frame: Frame) -> Ending:
        return BREAK

    def _Continue(self, node: ast.Continue, frame: Frame) -> Ending:
        return CONTINUE

    def _Assert(self, node: ast.Assert, frame: Frame) -> None:
        if __debug__ and not self.truth(self.value(node.test, frame), frame):
            raise AssertionError(*(() if node.msg is None else (self.value(node.msg, frame),)))

    def _Raise(self, node: ast.Raise, frame: Frame) -> None:
        if node.exc is None:
            raise RuntimeError("No active exception to reraise")
        error = self.value(node.exc, frame)
        if node.cause is not None:
            raise error from self.value(node.cause, frame)
        raise error

    def _FunctionDef(self, node: ast.FunctionDef, frame: Frame) -> None:
        decorators = [self.value(decorator, frame) for decorator in node.decorator_list]
        made = self.make_function(node, node.name, frame)
        for decorator in reversed(decorators):
            made = self.call(decorator, (made,), {}, frame)
        self._store_name(node.name, made, frame)

    def _Delete(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.local(target.id)
                del frame.locals[target.id]
            elif isinstance(target, ast.Subscript):
                holder, key = self.value(target.value, frame), self.value(target.slice, frame)
                if self.outside.source(holder) is not None or type(holder) not in CONTAINERS:
                    self.refuse("the step deletes an item of something from outside", frame)
                del holder[key]
            elif isinstance(target, ast.Attribute):
                holder = self.value(target.value, frame)
                if self.outside.source(holder) is not None or isinstance(holder, Tensor):
                    self.refuse("the step deletes an attribute of something from outside", frame)
                delattr(holder, target.attr)

    # ------------------------------------------------------------------ assignments

    def _Assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.store(target, value, frame)

    def _AnnAssign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value, frame), frame)

    def _AugAssign(self, node: ast.AugAssign, frame: Frame) -> None:
        target, holder, key = node.target, None, None
        if isinstance(target, ast.Name):
            before = self.name(target.id, frame)
        elif isinstance(target, ast.Attribute):
            holder = self.value(target.value, frame)
            before = self.attribute(holder, frame.definition.mangled(target.attr), frame)
        else:
            holder, key = self.value(target.value, frame), self.value(target.slice, frame)
            before = self.item(holder, key, frame)
        operand = self.value(node.value, frame)
        if type(before) in CONTAINERS and self.outside.source(before) is not None:
            self.refuse("the step adds to a container from outside; use append", frame)
        after = self.operate(INPLACE[type(node.op)], (before, operand), frame, node)
        if isinstance(target, ast.Name):
            self._store_name(target.id, after, frame)
        elif after is before and isinstance(after, Tensor) and not isinstance(holder, Tensor):
            return  # written in place, and it is there already
        elif isinstance(target, ast.Attribute):
            if not (after is before and target.attr in ("data", "grad")):
                self.set_attribute(holder, frame.definition.mangled(target.attr), after, frame)
        else:
            self.set_item(holder, key, after, frame)

    def store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self._store_name(target.id, value, frame)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, frame)
        elif isinstance(target, ast.Attribute):
            holder = self.value(target.value, frame)
            frame.node = target
            name = frame.definition.mangled(target.attr)
            self.set_attribute(holder, name, value, frame)
        elif isinstance(target, ast.Subscript):
            holder, key = self.value(target.value, frame), self.value(target.slice, frame)
            frame.node = target
            self.set_item(holder, key, value, frame)

    def _unpack(self, targets: list[ast.expr], value: Any, frame: Frame) -> None:
        values = list(self.iterate(value, frame))
        starred = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred and len(values) >= len(targets) - 1:
            at, after = starred[0], len(targets) - starred[0] - 1
            end = len(values) - after
            values = [*values[:at], values[at:end], *values[end:]]
        if len(values) != len(targets):
            few = len(values) < len(targets)
            least = "at least " if starred else ""
            expected = f"(expected {least}{len(targets) - len(starred)}"
            got = f", got {len(values)})" if few else ")"
            raise ValueError(
                f"{'not enough' if few else 'too many'} values to unpack {expected}{got}"
            )
        for target, part in zip(targets, values, strict=True):
            self.store(target.value if isinstance(target, ast.Starred) else target, part, frame)

    def _store_name(self, name: str, value: Any, frame: Frame) -> None:
        if name in frame.names:
            frame.locals[name] = value
        elif frame.definition.outer.get(name) == "Global":
            self._write_outside(operator.setitem, frame.globals, name, value, name, frame)
        else:
            around = frame.parent
            while around is not None and name not in around.names and name not in around.cells:
                around = around.parent
            around = around or frame
            if name in around.names:
                around.locals[name] = value
            else:
                cell = around.cells[name]
                self._write_outside(setattr, cell, "cell_contents", value, None, frame)

    def _write_outside(
        self, function: Any, holder: Any, name: str, value: Any, key: Any, frame: Frame
    ) -> None:
        self.outside.constant(holder, name)
        self.effect(function, (holder, name, value), frame)
        self.wrote(holder, key, frame)

    # ------------------------------------------------------------------ compound ones

    def _If(self, node: ast.If, frame: Frame) -> Ending:
        chosen = self.truth(self.value(node.test, frame), frame)
        return self.block(node.body if chosen else node.orelse, frame)

    def _For(self, node: ast.For, frame: Frame) -> Ending:
        for item in self.iterate(self.value(node.iter, frame), frame):
            self.store(node.target, item, frame)
            ending = self.block(node.body, frame)
            if ending is BREAK:
                return None
            if isinstance(ending, tuple):
                return ending
        return self.block(node.orelse, frame)

    def _While(self, node: ast.While, frame: Frame) -> Ending:
        while self.truth(self.value(node.test, frame), frame):
            ending = self.block(node.body, frame)
            if ending is BREAK:
                return None
            if isinstance(ending, tuple):
                return ending
        return self.block(node.orelse, frame)

    def _With(self, node: ast.With, frame: Frame) -> Ending:
        return self._within(node, 0, frame)

    def _within(self, node: ast.With, number: int, frame: Frame) -> Ending:
        if number == len(node.items):
            return self.block(node.body, frame)
        item = node.items[number]
        manager = self.value(item.context_expr, frame)
        kind = type(manager)
        entered = self.call(kind.__enter__, (manager,), {}, frame)
        try:
            if item.optional_vars is not None:
                self.store(item.optional_vars, entered, frame)
            ending = self._within(node, number + 1, frame)
        except BaseException:
            if not self.call(kind.__exit__, (manager, *sys.exc_info()), {}, frame):
                raise
            return None
        self.call(kind.__exit__, (manager, None, None, None), {}, frame)
        return ending
