"""How arrays lie in memory: what they share, views by strides, writing into them."""

from __future__ import annotations

from typing import Any


def shares_memory(xp: Any, first: Any, second: Any) -> bool:
    """Whether two arrays may share memory, by their bounds."""
    return bool(xp.may_share_memory(first, second))


def strided(xp: Any, array: Any, shape: Any, strides: Any, offset: int = 0) -> Any:
    """A view of a contiguous array's memory with any shape and strides, in bytes."""
    if offset:
        array = array.reshape(-1)[offset // array.itemsize :]
    return xp.lib.stride_tricks.as_strided(array, shape, strides)


def copy_into(xp: Any, target: Any, source: Any) -> None:
    """Write `source` into `target`, cast to its dtype whatever is lost."""
    xp.copyto(target, source, casting="unsafe")
