"""A graph that grows is noticed by default: at the 64th, 128th, 256th ... backward call.

At these calls two numbers are read: the interpreter's count of memory blocks, and the clock. Only
where blocks have risen with the calls, twice in a row, and enough time has passed for it not to
matter, all live tensors are looked at (`graph.growing.grown`). Other calls compare one number.
``RETROGRAD_GROWTH=0`` in the environment turns it off.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

from retrograd.above import above
from retrograd.engine.state import upcoming_sequence

FIRST = 64
BLOCKS = 4
"""Memory blocks that a call must leave behind: a kept node and its tensor are more."""

SECONDS = 0.5
"""That must have passed since the call before, in which a look takes a few hundredths."""


class Mark(NamedTuple):
    """What was read at a call."""

    ordinal: int
    number: int  # of the next node
    blocks: int
    seconds: float


class _Due:
    """When to read again, and what was read. The compiled core has a copy of `at`."""

    at = sys.maxsize if os.environ.get("RETROGRAD_GROWTH") == "0" else FIRST
    paused = 0  # while another tool watches
    marks: tuple[Mark, ...] = ()


DUE = _Due()


@above
def grown(ordinal: int, first: int, since: int, before: int, calls: int) -> bool:
    """Whether nodes numbered from `since` to `before`, made in `calls` calls, pile up; it warns.

    `ordinal` is the number of the call that begins; nodes before `first` do not count at all.
    """
    raise NotImplementedError


def due(ordinal: int, create_graph: bool) -> int:
    """A call begins; the number of the call at which to ask again."""
    if ordinal < DUE.at:
        return DUE.at  # another thread, or the other implementation, was here
    if create_graph:  # what it goes through waits for an outer call
        DUE.at = ordinal + 1
        return DUE.at
    now = Mark(ordinal, upcoming_sequence(), sys.getallocatedblocks(), time.perf_counter())
    marks = DUE.marks = (*DUE.marks, now)
    DUE.at = max(ordinal, FIRST) * 2
    if len(marks) >= 3 and not DUE.paused and _rises(*marks[-3:]):
        older, newer = marks[-3:-1]
        calls = newer.ordinal - older.ordinal
        DUE.at = sys.maxsize  # also while it looks
        if not grown(ordinal, marks[0].number, older.number, newer.number, calls):
            DUE.at = ordinal * 2
    return DUE.at


def _rises(first: Mark, second: Mark, third: Mark) -> bool:
    if third.seconds - second.seconds < SECONDS:
        return False
    return all(
        after.blocks - before.blocks >= BLOCKS * (after.ordinal - before.ordinal)
        for before, after in ((first, second), (second, third))
    )
