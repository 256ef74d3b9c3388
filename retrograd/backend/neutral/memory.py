"""How arrays lie in memory: what they share, views by strides, writing into them."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backend.arrays import Array
from retrograd.backend.namespace import Namespace


def shares_memory(xp: Namespace, first: Array, second: Array) -> bool:
    """Whether two arrays may share memory, by their bounds."""
    return bool(xp.may_share_memory(first, second))


def strided(
    xp: Namespace, array: Array, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> Array:
    """The memory from `offset` bytes after the first element on, with any shape and strides."""
    as_strided = xp.lib.stride_tricks.as_strided
    if offset:
        unit = array.itemsize
        array = as_strided(array, (offset // unit + 1,), (unit,))[-1:]
    found: Array = as_strided(array, shape, strides)
    return found


def writable(xp: Namespace, view: Array, source: Array) -> Array:
    """A view that can be written if its source can: some libraries mark theirs otherwise."""
    return view


def read_only(xp: Namespace, view: Array) -> Array:
    """A view that is not to be written, where a library can mark it."""
    return view


def take_rows(xp: Namespace, table: Array, rows: Array) -> Array:
    """Rows of a table by numbers that were checked to be inside."""
    return xp.take(table, rows, axis=0)


def copy_in_rows(xp: Namespace, array: Array) -> Array:
    """A copy in row-major order that can be written; of a number, an array without dimensions."""
    return xp.array(array, order="C")


def copy_into(xp: Namespace, target: Array, source: Array) -> None:
    """Write `source` into `target`, cast to its dtype whatever is lost."""
    xp.copyto(target, source, casting="unsafe")
