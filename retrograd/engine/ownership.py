"""Whether a reference count can tell that an array has no other owner.

The engine writes into a gradient, and a leaf adopts one, only if nobody else holds it. In CPython
with a global interpreter lock `sys.getrefcount` says so. Interpreters that borrow references, defer
their counting or compile this code differently give other numbers, and then a shared array would be
overwritten. So the counts are taken here once, in functions of the same form, and if they are not
exactly the known ones, no array ever counts as unshared: each step then makes a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.backend import backend_of, bases
from retrograd.backend.arrays import Array
from retrograd.backend.bases import count_of_base
from retrograd.engine.state import GIL


class _Holder:
    __slots__ = ("buffer", "run")

    buffer: Array | None
    run: Callable[..., int]


def _in_run(node: object, gradient: object, need: None, freeing: None) -> int:
    """As `AccumulateGrad.run_raw` counts: the walk's local, its own argument, getrefcount's."""
    return getrefcount(gradient)


def _in_delivery(target: _Holder, part: None) -> int:
    """As `engine._deliver` counts: the node's buffer, the walk's local, its own, getrefcount's."""
    held = target.buffer
    return getrefcount(held)


def counts(shared: bool) -> tuple[int, int]:
    """The counts of a gradient in both places, with or without an owner outside the engine."""
    node = _Holder()
    node.run = _in_run
    node.buffer = np.empty(0)
    owner = node.buffer if shared else None
    gradient = node.buffer
    node.buffer = None
    running = node.run(node, gradient, None, None)
    node.buffer = gradient
    del gradient
    held = node.buffer
    delivering = _in_delivery(node, None)
    del held, owner
    return running, delivering


# Since 3.14 an argument borrows the reference of the caller's local and is not counted. It is where
# C calls, or a hook gave the array: there these limits are too low, and such an array is copied.
_KNOWN = ((3, 4), (1, 3))


def _thresholds() -> tuple[int, int]:
    alone = counts(False)
    if not GIL or alone not in _KNOWN or counts(True) != (alone[0] + 1, alone[1] + 1):
        return 0, 0
    return alone


# The highest counts of an array without other owners; 0, which no count is, where they do not tell.
ALONE, ALONE_IN_BUFFER = _thresholds()
ALONE_AS_BASE = bases.ALONE_AS_BASE if ALONE else 0


def shows_memory_alone(array: Array) -> bool:
    """Whether no other array shows the memory: it is the array's own, or all of a base's.

    A base without other owners, of which this array shows everything: the gradient that a
    reshaped tensor gives to its leaf is such a view.
    """
    if array.base is None:
        return True
    if type(array) is not np.ndarray:
        return _shows_alone_elsewhere(array)
    if count_of_base(array) > ALONE_AS_BASE:
        return False
    base = array.base
    return (
        type(base) is np.ndarray
        and base.base is None
        and base.flags.owndata
        and array.flags.writeable
        and base.nbytes == array.nbytes
    )


def _shows_alone_elsewhere(array: Array) -> bool:
    """The same of an array of another device, where its library's bases were seen to tell it."""
    if not backend_of(array).counts_bases or count_of_base(array) > ALONE_AS_BASE:
        return False
    held: Any = array
    base = held.base
    # where each look makes a new object for the base, its count says nothing
    return base is held.base and base.base is None and base.nbytes == array.nbytes
