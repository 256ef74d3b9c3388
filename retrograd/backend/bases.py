"""Whether references to an array's `base` tell who else shows the memory.

A view holds the array that owns its memory, and so does every other view of it. Where that is one
object, Python's count of references to it says whether a view is the only one. Libraries may make a
new object for each look, hold it twice or not at all: so a library is tried, with its own arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np


def count_of_base(view: Any) -> int:
    """The count of the array whose memory a view shows: the view's, the local's, getrefcount's."""
    base = view.base
    return getrefcount(base)


def _counts(make: Callable[[], Any], show: Callable[[Any], Any]) -> tuple[int, int, int] | None:
    """The counts of a base that nobody else holds, its maker holds, a second view holds.

    None where it is not one object at each look, or not the base.
    """
    base = make()
    view = show(base)
    if view.base is not base or view.base is not view.base or base.base is not None:
        return None
    held = count_of_base(view)
    del base
    alone = count_of_base(view)
    second = show(view)
    shown = count_of_base(view)
    del second
    return None if count_of_base(view) != alone else (alone, held, shown)


_WAYS: tuple[Callable[[Any], Any], ...] = (
    lambda array: array[:],
    lambda array: array[1:],
    lambda array: array.T,
    lambda array: array.reshape(-1),
)


def _of_numpy() -> int:
    found = _counts(lambda: np.empty((4, 3)), _WAYS[0])
    return found[0] if found is not None and found[1:] == (found[0] + 1,) * 2 else 0


# The count of a base that one view alone shows; 0, which no count is, where it does not tell.
ALONE_AS_BASE = _of_numpy()


def tell_owners(make: Callable[[], Any]) -> bool:
    """Whether counts of bases tell the same for a library's arrays as for NumPy's.

    make  gives a new array with two dimensions that owns its memory
    """
    known = (ALONE_AS_BASE, ALONE_AS_BASE + 1, ALONE_AS_BASE + 1)
    try:
        return bool(ALONE_AS_BASE) and all([_counts(make, show) == known for show in _WAYS])
    except Exception:  # arrays of a library may lack anything
        return False
