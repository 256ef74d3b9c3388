"""Tensors of random numbers, and how to draw the same again."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from retrograd.engine.recipes import Recipe, Value
from retrograd.tensor import Array, Tensor

COST = 4  # of drawing a number, beside reading or computing one


class Draws:
    """What was drawn since somebody wants to know. It holds no tensor."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], Value]] = {}

    def drew(self, tensor: Tensor, draw: Callable[[], Array]) -> None:
        """A tensor of random numbers was made; `draw` makes the same again."""
        key = id(tensor)
        recipe = Recipe(None, (), lambda _: [draw()])
        recipe.cost = COST * int(tensor._array.size)

        def forget(_: object) -> None:
            self._known.pop(key, None)

        self._known[key] = weakref.ref(tensor, forget), Value(recipe, 0)

    def drawn(self, tensor: Tensor) -> Value | None:
        """The value of a tensor of random numbers that nobody has changed."""
        found = self._known.get(id(tensor))
        if found is None or found[0]() is not tensor:
            return None
        cell = tensor._cell
        return found[1] if cell is None or cell.version == 0 else None
