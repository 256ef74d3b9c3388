"""A graph that grows is noticed by default: at the 64th, 128th, 256th ... backward call.

At these calls three numbers are read: the interpreter's count of memory blocks, the allocator's
bytes in use, and the clock. Only where blocks or bytes have risen with the calls, twice in a row,
and enough time has passed for it not to matter, all live tensors are looked at (`graph.growing`):
more blocks may be graphs that are kept, more bytes a cache that every graph saves. Other calls
compare one number. ``RETROGRAD_GROWTH=0`` in the environment turns it off.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

from retrograd.above import above
from retrograd.backend.memory import bytes_in_use
from retrograd.engine.state import upcoming_sequence

FIRST = 64
BLOCKS = 4
"""Memory blocks that a call must leave behind: a kept node and its tensor are more."""

BYTES = 1 << 20
"""That two looks must lie apart: a cache that grows by less does no harm yet."""

SECONDS = 0.5
"""That must have passed since the call before, in which a look takes a few hundredths."""


class Mark(NamedTuple):
    """What was read at a call."""

    ordinal: int
    number: int  # of the next node
    blocks: int
    bytes: int
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


@above
def enlarged(ordinal: int, rise: int) -> bool:
    """Whether graphs save more and more of a cache, at the second such call; it warns.

    `rise` is by how many bytes the process has grown since the look before.
    """
    raise NotImplementedError


def due(ordinal: int, create_graph: bool) -> int:
    """A call begins; the number of the call at which to ask again."""
    if ordinal < DUE.at:
        return DUE.at  # another thread, or the other implementation, was here
    if create_graph:  # what it goes through waits for an outer call
        DUE.at = ordinal + 1
        return DUE.at
    now = Mark(
        ordinal,
        upcoming_sequence(),
        sys.getallocatedblocks(),
        bytes_in_use(),
        time.perf_counter(),
    )
    marks = DUE.marks = (*DUE.marks, now)
    DUE.at = max(ordinal, FIRST) * 2
    if len(marks) >= 3 and not DUE.paused and marks[-1].seconds - marks[-2].seconds >= SECONDS:
        DUE.at = sys.maxsize  # also while it looks
        if not _told(marks):
            DUE.at = ordinal * 2
    return DUE.at


def _told(marks: tuple[Mark, ...]) -> bool:
    first, second, third = marks[-3:]
    calls = second.ordinal - first.ordinal
    if all(
        after.blocks - before.blocks >= BLOCKS * (after.ordinal - before.ordinal)
        for before, after in ((first, second), (second, third))
    ) and grown(third.ordinal, marks[0].number, first.number, second.number, calls):
        return True
    earlier, later = second.bytes - first.bytes, third.bytes - second.bytes
    if earlier < BYTES or later < earlier:  # from twice as many calls
        return False
    return enlarged(third.ordinal, later)
