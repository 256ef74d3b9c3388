"""How arrays lie in memory: what they share, views by strides, writing into them."""

from __future__ import annotations

from typing import Any

from retrograd.backend.namespace import Namespace


def shares_memory(xp: Namespace, first: Any, second: Any) -> bool:
    """Whether two arrays may share memory, by their bounds."""
    return bool(xp.may_share_memory(first, second))


def strided(xp: Namespace, array: Any, shape: Any, strides: Any, offset: int = 0) -> Any:
    """The memory from `offset` bytes after the first element on, with any shape and strides."""
    as_strided = xp.lib.stride_tricks.as_strided
    if offset:
        unit = array.itemsize
        array = as_strided(array, (offset // unit + 1,), (unit,))[-1:]
    return as_strided(array, shape, strides)


def writable(xp: Namespace, view: Any, source: Any) -> Any:
    """A view that can be written if its source can: some libraries mark theirs otherwise."""
    return view


def read_only(xp: Namespace, view: Any) -> Any:
    """A view that is not to be written, where a library can mark it."""
    return view


def take_rows(xp: Namespace, table: Any, rows: Any) -> Any:
    """Rows of a table by numbers that were checked to be inside."""
    return xp.take(table, rows, axis=0)


def copy_into(xp: Namespace, target: Any, source: Any) -> None:
    """Write `source` into `target`, cast to its dtype whatever is lost."""
    xp.copyto(target, source, casting="unsafe")
