"""Which values stay when the others are computed again: those that are needed across a few cuts.

To compute a value again, everything that it came from has to be there or be computed too. So some
values stay, as in a checkpointed network. Where to cut is chosen by bytes: what stays, and the most
that lies between two cuts, are together as small as can be found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """Memory of the graph: made by one node, last needed by another (their places), its bytes."""

    start: int
    end: int
    nbytes: int
    is_saved: bool  # else it is gone, and can only be computed


_GONE = 8  # how much worse it is if such memory is needed across a cut


def best_cuts(spans: Sequence[Span], count: int) -> list[int]:
    """After which nodes to cut: the fewest bytes that stay, with the most between two cuts."""
    if not spans:
        return []
    across, made = _sums(spans, count)
    best: list[int] = []
    least = made[-1]  # without a cut, all of it is there at once
    number = 1
    while number < count:
        cuts = _cuts(across, made, number)
        held = 0
        between = [0] * (len(cuts) + 1)
        for span in spans:
            place = bisect_right(cuts, span.start - 1)
            if place == len(cuts) or cuts[place] >= span.end:
                between[place] += span.nbytes
            else:
                held += span.nbytes if span.is_saved else _GONE * span.nbytes
        if held + max(between) < least:
            least, best = held + max(between), cuts
        number += 1 + number // 4
    return best


def best_border(spans: Sequence[Span], count: int) -> int:
    """After which node to cut once, while more nodes are still to come.

    In the later half by bytes, but before its end, where it does not show yet what is needed on.
    """
    if not spans:
        return count - 1
    across, made = _sums(spans, count)
    start, end = [bisect_right(made, made[-1] * part) for part in _BAND]
    return min(range(min(start, count - 1), max(start + 1, end)), key=across.__getitem__)


_BAND = (0.5, 0.9)


def _sums(spans: Sequence[Span], count: int) -> tuple[list[int], list[int]]:
    """The bytes that are needed across a cut after each node, and those made until it."""
    across = [0] * (count + 1)
    made = [0] * count
    for start, end, size, is_saved in spans:
        # what is gone cannot be kept at a cut: beyond it, the way back goes on
        across[start] += size if is_saved else _GONE * size
        across[end] -= size if is_saved else _GONE * size
        made[start] += size
    return list(accumulate(across)), list(accumulate(made))


def _cuts(across: Sequence[int], made: Sequence[int], number: int) -> list[int]:
    """That many cuts, about equally many bytes apart, each where the fewest bytes cross it."""
    middles = [made[-1] * part / (2 * number + 2) for part in range(1, 2 * number + 2, 2)]
    borders = [bisect_right(made, middle) for middle in middles]
    found: set[int] = set()
    for start, end in pairwise(borders):
        if end > start:
            found.add(min(range(start, end), key=across.__getitem__))
    return sorted(found)


def crossing(spans: Sequence[Span], cuts: Sequence[int]) -> list[bool]:
    """For each span, whether it is kept: a cut comes after it was made, before its last use."""
    return [
        span.is_saved
        and (place := bisect_right(cuts, span.start - 1)) < len(cuts)
        and cuts[place] < span.end
        for span in spans
    ]
