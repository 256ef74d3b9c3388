"""Saved values that wait elsewhere: in files, or in the memory of the host.

A node that is about to keep a large array keeps a `Moved` in its place: where the elements are,
and what the library knows of the value, so that errors about it, its history and its identity stay
what they are. Hooks of the user are left alone: what they have packed is not moved.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from retrograd.backend import BACKENDS
from retrograd.backend.arrays import Array
from retrograd.engine import failures
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.node import Node, forward_name
from retrograd.engine.packing import SavedTensor, pack_node
from retrograd.engine.saved import output_producer, stale_value
from retrograd.engine.slices import copy_with_strides
from retrograd.tensor import Tensor, VersionCell, cell_of, wrap


class Place(Protocol):
    """Where the elements of a value are, as long as somebody holds it."""

    def read(self) -> Array:
        """The elements, in any layout, on the device that they came from."""


# moves an array; None where it is to stay
Put = Callable[[Array, VersionCell], Place | None]


class Moved:
    """What a node holds in place of a value."""

    __slots__ = (
        *("array", "cell", "name", "number", "place", "producer", "strides", "tensor", "version"),
    )

    def __init__(self, saved: SavedTensor, value: Tensor, place: Place) -> None:
        self.place = place
        self.cell = cell_of(value)
        self.version = saved._version
        self.strides = value._array.strides
        self.name = saved.name
        self.number = saved.number if saved.is_output else None
        self.producer = "" if value._grad_fn is None else _producer(value._grad_fn)
        # As long as somebody else has the tensor, or its array, that is the value: nothing need be
        # read, and a saved input is still the very tensor that was given.
        self.array = weakly(value._array)
        self.tensor = None if saved.is_output else weakref.ref(value)

    def elements(self) -> Array:
        """The value's array, laid out as it was: the order of a sum depends on it."""
        found: Array | None = self.array()
        if found is None:
            found = self.place.read()
            if found.strides != self.strides:
                found = copy_with_strides(found, self.strides)
        return found


def weakly(array: Array) -> Callable[[], Array | None]:
    """The array, as long as somebody holds it; nothing where its library has no way to tell."""
    try:
        return weakref.ref(array)
    except TypeError:  # not every library's arrays take it
        return lambda: None


def _producer(maker: Node) -> str:
    return f", which is output 0 of {forward_name(maker)},"


def move_saved(node: Node, over: int, put: Put) -> int:
    """Move a node's saved values of more than `over` bytes; how many bytes went."""
    if not any(True for _ in _large(node, over)):
        return 0
    if not isinstance(node, FunctionNode):
        pack_node(node)
    moved = 0
    for saved in node.saved:
        if type(saved) is SavedTensor and saved._value is not None and saved._hooks is None:
            if is_movable(saved._value, over):
                moved += move(saved, put)
    return moved


def move(saved: SavedTensor, put: Put) -> int:
    """Move one saved value; how many bytes went."""
    value = saved._value
    assert value is not None
    array, version = value._array, saved._version
    cell = cell_of(value)
    if cell.version != version:
        return 0  # was written since, which unpacking will say
    place = put(array, cell)
    if place is None:
        return 0
    saved.replace(Moved(saved, value, place), restored_from)
    return int(array.nbytes)


def _large(node: Node, over: int) -> Iterator[object]:
    for value in node.saved:
        if type(value) is SavedTensor and value._hooks is None:
            value = value._value
        if is_movable(value, over):
            yield value


def _is_large(array: Any, over: int) -> bool:
    # elements that share memory (expand) take less of it than they say
    return bool(array.nbytes > over) and 0 not in array.strides


def is_movable(value: Any, over: int = 0) -> bool:
    """Whether moving a saved value frees memory: a tensor, or the array of an output.

    It does not for what a parameter holds anyway; examples of a batch are left where they are.
    """
    if not isinstance(value, Tensor):
        return type(value) in BACKENDS and _is_large(value, over)
    if value._level or type(value._array) not in BACKENDS or not _is_large(value._array, over):
        return False
    if value._meta is not None and (value._meta.tangents or value._meta.inference):
        return False
    origin = value if value._view is None else value._view.base
    return origin._grad_fn is not None or not origin._requires_grad


def restored_from(moved: Moved, node: Node | None) -> Tensor:
    """A moved value for the node that saved it; an error if it was written in place since."""
    tensor = None if moved.tensor is None else moved.tensor()
    if node is not None:
        _check(moved, node, tensor)
    if tensor is not None and tensor._array is moved.array():
        return tensor
    made = wrap(moved.elements())
    made._cell = moved.cell
    return made


def _check(moved: Moved, node: Node, tensor: Tensor | None) -> None:
    """The errors that unpacking the value itself would give."""
    cell, version = moved.cell, moved.version
    if cell.version != version:
        number = moved.number
        producer = moved.producer if number is None else output_producer(node, number)
        value = wrap(moved.elements()) if tensor is None else tensor
        raise failures.modified(node, moved.name, value, producer, cell, version)
    if tensor is not None:
        stale_value(node, moved.name, tensor, cell, version)  # may have been detached
