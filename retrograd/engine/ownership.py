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

import numpy as np

from retrograd.backend.arrays import Array
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
