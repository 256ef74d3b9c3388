"""A forward pass whose saved arrays go as soon as it is over: the scope of `graph.recompute`.

While a scope is open, ops and custom Functions tell it what they were given. So it has a recipe
for nearly every node, also where the graph alone would not do: numbers and constants that no
derivative reads, options, random numbers with the state of their generator. At its end it lets go
of what can be computed again, by the same choice as ``retain_graph="recompute"``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.engine.node import Node
from retrograd.engine.recipes import Given, Recipe, Unknown, Value, recipe_of
from retrograd.engine.recomputing import Survey, let_go
from retrograd.engine.state import STATE, set_scope, upcoming_sequence
from retrograd.tensor import Array, Tensor


class Scope:
    """What an open scope has seen. It holds no node: a graph that is dropped goes."""

    def __init__(self) -> None:
        self.start = upcoming_sequence()
        self.recipes: weakref.WeakKeyDictionary[Node, Recipe | str] = weakref.WeakKeyDictionary()
        self.values: weakref.WeakKeyDictionary[Node, dict[int, Value]] = weakref.WeakKeyDictionary()
        self._draws: dict[int, tuple[weakref.ref[Tensor], Value]] = {}

    def value_of(self, node: Node, number: int) -> Value:
        """The value of an output of a node that was made in this scope."""
        if node not in self.recipes:
            if node.sequence < self.start:
                raise Unknown("it was made before the scope")
            self._look_at(node, None)  # made by the engine, for a view that was written
        known = self.values.setdefault(node, {})
        found = known.get(number)
        if found is None:
            recipe = self.recipes[node]
            if isinstance(recipe, str):
                raise Unknown(recipe)
            found = known[number] = Value(recipe, number)
        return found

    def made(self, node: Node, arguments: tuple[Any, ...]) -> None:
        """A node was made by a call with these arguments."""
        self._look_at(node, Given(arguments, self.drawn))

    def wrote(self, target: Tensor, node: Node, arguments: tuple[Any, ...]) -> None:
        """A node was made by a call that wrote its first argument, which may be a view."""
        given = Given((..., *arguments[1:]), self.drawn)
        self._look_at(node, given)
        history = target._grad_fn if target._view is None else target._view.base._grad_fn
        if history is not None and history is not node:
            self._look_at(history, given)

    def drew(self, tensor: Tensor, draw: Callable[[], Array]) -> None:
        """A tensor of random numbers was made; `draw` makes the same again."""
        key = id(tensor)
        value = Value(Recipe(None, (), lambda _: [draw()]), 0)

        def forget(_: object) -> None:
            self._draws.pop(key, None)

        self._draws[key] = weakref.ref(tensor, forget), value

    def drawn(self, tensor: Tensor) -> Value | None:
        """The value of a tensor of random numbers that nobody has changed."""
        found = self._draws.get(id(tensor))
        if found is None or found[0]() is not tensor:
            return None
        cell = tensor._cell
        return found[1] if cell is None or cell.version == 0 else None

    def _look_at(self, node: Node, given: Given | None) -> None:
        try:
            self.recipes[node] = recipe_of(node, self.value_of, given)
        except Unknown as reason:
            self.recipes[node] = str(reason)

    def close(self) -> None:
        """Let go of what the nodes of this scope saved and can be computed again."""
        nodes = sorted(self.recipes, key=lambda node: node.sequence)
        values = {
            (node, number): value
            for node, known in self.values.items()
            for number, value in known.items()
        }
        let_go(Survey(nodes, dict(self.recipes), values, self.drawn))


@contextmanager
def recomputing() -> Iterator[None]:
    """Let go, at the end of the block, of what the graph made in it saved and can make again."""
    if STATE.scope is not None:  # the outer one sees to it
        yield
        return
    scope = Scope()
    set_scope(scope)
    try:
        yield
    finally:
        set_scope(None)
    scope.close()
