"""A forward pass whose saved arrays go while it runs: the scope of `graph.recompute`.

While a scope is open, ops and custom Functions tell it what they were given. So it has a recipe
for nearly every node, also where the graph alone would not do: numbers and constants that no
derivative reads, options, random numbers with the state of their generator.

It lets go in windows. Whenever the nodes since the last border have saved a certain size, a border
is chosen among them and what lies before it goes, except for what is needed behind it. What an op
behind a border takes from before it is kept when the op is told of. When twice the size of a window
is kept for borders, some borders go, and windows are larger from then on: so both stay of the order
of the root of all that was saved. At its end the scope lets go of the rest, by the same choice as
``retain_graph="recompute"``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from retrograd.backend import is_array
from retrograd.engine.draws import Draws
from retrograd.engine.letting_go import let_go, let_go_before, thin_out
from retrograd.engine.node import Node
from retrograd.engine.recipes import Given, Recipe, Unknown, Value, recipe_of
from retrograd.engine.recomputing import Survey, owner_of, saved_values
from retrograd.engine.state import STATE, Modes, upcoming_sequence
from retrograd.tensor import Array, Tensor, cell_of

# A smaller window would keep as much at its borders as it lets go.
SMALLEST_WINDOW = 1 << 20


class Scope:
    """What an open scope has seen. It holds no node: a graph that is dropped goes."""

    def __init__(self) -> None:
        self.start = upcoming_sequence()
        self.recipes: weakref.WeakKeyDictionary[Node, Recipe | str] = weakref.WeakKeyDictionary()
        self.values: weakref.WeakKeyDictionary[Node, dict[int, Value]] = weakref.WeakKeyDictionary()
        self.draws = Draws()
        self.drawn = self.draws.drawn
        self._window = Window(self.start, SMALLEST_WINDOW)

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
        self._let_go_if_full()
        self._look_at(node, Given(arguments, self.drawn))
        self._read(arguments)

    def wrote(self, target: Tensor, node: Node, arguments: tuple[Any, ...]) -> None:
        """A node was made by a call that wrote its first argument, which may be a view."""
        self._let_go_if_full()
        given = Given((..., *arguments[1:]), self.drawn)
        self._look_at(node, given)
        history = target._grad_fn if target._view is None else target._view.base._grad_fn
        if history is not None and history is not node:
            self._look_at(history, given)
        self._read(arguments[1:])

    def _look_at(self, node: Node, given: Given | None) -> None:
        try:
            self.recipes[node] = recipe_of(node, self.value_of, given)
        except Unknown as reason:
            self.recipes[node] = str(reason)
        self._window.add(node, self.drawn)

    def _read(self, arguments: Sequence[Any]) -> None:
        """Note which arrays have the values that a call took; keep those from before the window."""
        for argument in arguments:
            for tensor in argument if isinstance(argument, (list, tuple)) else (argument,):
                if isinstance(tensor, Tensor) and tensor._grad_fn is not None:
                    self._read_one(tensor, tensor._grad_fn)

    def _read_one(self, tensor: Tensor, maker: Node) -> None:
        value = self.values.get(maker, {}).get(tensor._output_nr)
        if value is None or tensor._level or not is_array(tensor._array):
            return
        cell, view = cell_of(tensor), tensor._view
        if view is None or view.at == cell.version:
            value.noticed(tensor._array, cell, cell.version)
            if maker.sequence < self._window.start and value.array is None and value.keep():
                self._window.kept.add(tensor._array)

    def _let_go_if_full(self) -> None:
        window = self._window
        if not window.is_full():
            return
        found = self._survey(self._nodes(window.start))
        if not found.nodes:  # the graph was dropped
            self._window = Window(upcoming_sequence(), window.size, window.kept.alive())
            return
        place, kept = let_go_before(found)
        start = found.nodes[place].sequence + 1
        self._window = Window(start, window.size, [*window.kept.alive(), *kept])
        if self._window.has_many_borders():
            everything = self._survey(self._nodes(self.start))
            self._window = Window(
                start,
                window.size,
                thin_out(everything, everything.nodes.index(found.nodes[place])),
            )
            self._window.size = max(window.size, self._window.kept.nbytes)
        for node in found.nodes[place + 1 :]:
            self._window.add(node, self.drawn)

    def _nodes(self, start: int) -> list[Node]:
        """The nodes from a number on that somebody holds, the oldest first."""
        found = [node for node in self.recipes if node.sequence >= start and node.freed is None]
        return sorted(found, key=lambda node: node.sequence)

    def _survey(self, nodes: Sequence[Node]) -> Survey:
        """The nodes of this scope that are alive, the oldest first, as far as they are wanted."""
        values = {
            (node, number): value
            for node in nodes
            for number, value in self.values.get(node, {}).items()
        }
        return Survey(nodes, {node: self.recipes[node] for node in nodes}, values, self.drawn)

    def close(self) -> None:
        """Let go of what the nodes of this scope saved and can be computed again."""
        let_go(self._survey(self._nodes(self.start)))


class Tally:
    """Bytes of memory, each block counted once, as long as it was not freed. It holds none."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._blocks: dict[int, weakref.ref[Any]] = {}

    def add(self, array: Array) -> None:
        """Count the memory of an array."""
        owner = owner_of(array)
        known = self._blocks.get(id(owner))
        if known is None or known() is not owner:  # an identity may be another's by now
            self._blocks[id(owner)] = weakref.ref(owner)
            self.nbytes += int(owner.nbytes)

    def alive(self) -> Iterator[Array]:
        """What somebody still holds."""
        return (array for known in self._blocks.values() if (array := known()) is not None)


class Window:
    """How much the newest nodes of a scope saved, and what is kept for the sake of older ones."""

    def __init__(self, start: int, size: int, kept: Iterable[Array] = ()) -> None:
        self.start = start  # the number of the first node behind the border
        self.size = size  # in bytes, of a full one
        self.saved = Tally()
        self.kept = Tally()
        for array in kept:
            self.kept.add(array)

    def add(self, node: Node, drawn: Callable[[Tensor], Value | None]) -> None:
        """Count what a new node has saved and the graph made."""
        for _, maker, _, array, *_ in saved_values(node):
            if drawn(maker) if isinstance(maker, Tensor) else maker.sequence >= self.start:
                self.saved.add(array)

    def is_full(self) -> bool:
        """Whether something has to go."""
        return self.saved.nbytes > self.size

    def has_many_borders(self) -> bool:
        """Whether much more is kept for the nodes before it than lies between two borders."""
        return self.kept.nbytes > 2 * self.size


@contextmanager
def recomputing() -> Iterator[None]:
    """Let go of what the graph made in the block saves and can make again, as it grows."""
    if STATE.scope is not None:  # the outer one sees to it
        yield
        return
    scope = Scope()
    with Modes(scope=scope, draws=scope.draws):
        yield
    scope.close()
