"""A call that is being read: its names, and where it is in the text."""

from __future__ import annotations

import ast
import builtins
from types import CellType, FunctionType
from typing import Any

from retrograd.replay.reading.definitions import Definition


class Frame:
    """The names of one call, or of a comprehension in it."""

    comprehension = False

    def __init__(
        self,
        definition: Definition,
        space: dict[str, Any],
        parent: Frame | None = None,
        cells: dict[str, CellType] | None = None,
        names: frozenset[str] | None = None,
    ) -> None:
        self.definition = definition
        self.globals = space
        self.parent = parent  # of a function or comprehension inside of a function that is read
        self.cells = cells or {}
        self.names = definition.names if names is None else names
        self.locals: dict[str, Any] = {}
        self.node: ast.AST = definition.node
        self.caller: Frame | None = None

    @property
    def builtins(self) -> dict[str, Any]:
        """The names that are everywhere."""
        return vars(builtins)

    def local(self, name: str) -> Any:
        """The value of a local variable."""
        try:
            return self.locals[name]
        except KeyError:
            message = (
                f"cannot access local variable {name!r} where it is not associated with a value"
            )
            raise UnboundLocalError(message) from None

    @property
    def line(self) -> int:
        """The line that is being read."""
        return getattr(self.node, "lineno", self.definition.node.lineno)


def frame_of(function: FunctionType, definition: Definition) -> Frame:
    """A frame for a call of an ordinary function."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return Frame(definition, function.__globals__, cells=cells)
