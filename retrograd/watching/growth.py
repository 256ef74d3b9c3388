"""Does the program hold more and more graph of earlier iterations?

A sample counts the nodes made before the previous call of the same site that live tensors still
hold, and finds the variables that hold them. Looking at all live tensors takes time, so samples are
taken at the first calls of a site and then ever more rarely, within a share of the run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from types import FrameType

from retrograd.watching.graph import Node, ranges_of, saved_names, walk
from retrograd.watching.heap import Heap, with_history
from retrograd.watching.holders import paths_to
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Call, GrowthSample, Holder

SAMPLED = frozenset((*range(2, 9), 10, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 4096))
ALWAYS = 8
SHARE = 0.02
"""Of the time since the start that samples may take; those of the first calls are always taken."""

LONGEST = 2.0
"""Seconds for all samples of the first calls: huge graphs are looked at less often."""

LEAST = 0.5
"""Seconds that samples may always take."""

MOST_HOLDERS = 3  # of one kind
RISING = 4  # samples in a row that must rise
SAWTOOTH = 3  # or so many, twice: a sum that starts anew in each epoch


class Growth:
    """Takes the samples."""

    def __init__(self, tensor: type, heap: Heap) -> None:
        self.samples: list[GrowthSample] = []
        self.skipped = 0
        self._tensor = tensor
        self._heap = heap
        self._counts: dict[tuple[int, int], int] = {}
        self._previous: dict[tuple[int, int], int] = {}  # where the site's last call began
        self._started = time.perf_counter()
        self._spent = 0.0

    def before_call(self, call: Call, nodes: dict[Node, int], frames: Iterable[FrameType]) -> None:
        """Count the call of this site, and take a sample if it is one of those."""
        count = self._counts[call.site] = self._counts.get(call.site, 0) + 1
        previous = self._previous.get(call.site, 0)
        self._previous[call.site] = call.start
        if count not in SAMPLED:
            return
        self._heap.begin()
        allowed = SHARE * (time.perf_counter() - self._started) if count > ALWAYS else LONGEST
        if self._spent > max(allowed, LEAST):
            self.skipped += 1
            return
        now = time.thread_time()  # waiting for a processor does not count
        self._take(call, count, previous, nodes, list(frames))
        self._spent += time.thread_time() - now

    def _take(
        self,
        call: Call,
        count: int,
        previous: int,
        current: dict[Node, int],
        frames: list[FrameType],
    ) -> None:
        """Nodes with numbers below `previous` are of earlier iterations."""
        kind = self._tensor
        for frame in frames:
            frame.f_locals  # noqa: B018  the snapshot of the last look holds what was rebound since
        objects = self._heap.objects()
        live = with_history(thing for thing in objects if issubclass(type(thing), kind))
        numbers = walk(tensor.grad_fn for tensor in live)
        # what saves nothing costs next to nothing: `w = w - rate * gradient` is a chain of such;
        # but a mean of parameters takes them in anew each time
        old = [n for node, n in numbers.items() if n < previous and _counts(node)]
        sample = GrowthSample(call, count, ranges_of(old))
        self.samples.append(sample)
        if not old:
            return
        reaching = _reaching(numbers, previous)
        holding = [t for t in live if t.grad_fn in reaching and t.grad_fn not in current]
        holding.sort(key=lambda tensor: -numbers[tensor.grad_fn])
        sample.tensors = len(holding)
        paths = paths_to(holding, frames, kind)
        for tensor in holding:
            held = paths.get(id(tensor))
            if held is None:
                continue
            pattern = without_indices(held.path)
            sample.kinds[pattern] = sample.kinds.get(pattern, 0) + 1
            if sample.kinds[pattern] <= MOST_HOLDERS:
                number = numbers[tensor.grad_fn]
                sample.holders.append(Holder(number, tensor.dim(), held.path, held.window))


def _counts(node: Node) -> bool:
    """Whether a node keeps a tensor: one that it saved, or a leaf that it was computed from."""
    return bool(saved_names(node)) or any(
        hasattr(following, "variable") for following, _ in node.next_functions
    )


def without_indices(path: str) -> str:
    """A path with what is between brackets left out.

    >>> without_indices("self.records[3]['loss']")
    'self.records[][]'
    """
    return re.sub(r"\[[^]]*\]", "[]", path)


def _reaching(numbers: dict[Node, int], previous: int) -> set[Node]:
    """The nodes whose history has a node made before `previous`."""
    found: set[Node] = set()
    # a node is younger than those it follows
    for node, number in sorted(numbers.items(), key=lambda pair: pair[1]):
        if number >= LEAF:
            break
        if number < previous or any(following in found for following, _ in node.next_functions):
            found.add(node)
    return found


def last_rising(
    positions: list[int], counts: list[int], from_nothing: bool = False
) -> tuple[int, float] | None:
    """The last sample of a rise at one pace, and the pace; None for a plateau or a few samples.

    from_nothing  the first call counts as the beginning of a sawtooth: nothing old is held there

    >>> last_rising([2, 3, 4, 5, 6], [10, 20, 30, 40, 50])
    (4, 10.0)
    >>> last_rising([2, 3, 4, 5, 6], [10, 20, 30, 30, 30]) is None  # a window that is full
    True
    >>> last_rising([2, 3, 4, 6, 7, 8], [10, 20, 30, 10, 20, 30])  # anew in each epoch
    (2, 10.0)
    >>> last_rising([2, 3, 4, 5, 6], [10, 20, 0, 10, 20], True)  # epochs of three batches
    (1, 10.0)
    >>> last_rising([2, 3, 4, 5, 6, 8, 12, 16], [10, 20, 30, 40, 10, 30, 50, 30])[0]  # and later
    3
    """
    if from_nothing and positions[:1] == [2]:
        found = _last_rising([1, *positions], [0, *counts])
        return None if found is None else (found[0] - 1, found[1])
    return _last_rising(positions, counts)


def _last_rising(positions: list[int], counts: list[int]) -> tuple[int, float] | None:
    runs: list[list[int]] = []
    run = [0] if counts else []
    fell = False  # to less than a half: later, rarer samples may meet any height of a sawtooth
    for index in range(1, len(counts)):
        change = counts[index] - counts[index - 1]
        if change > 0:
            run.append(index)
            continue
        if len(run) >= SAWTOOTH:
            if counts[index] * 2 <= counts[index - 1]:
                fell = True
            elif not fell or counts[index] * 10 > counts[index - 1] * 9:
                return None  # it stays where it is: a window, a cache
        runs.append(run)
        run = [index]
    runs.append(run)
    seen = [run[1:] if positions[run[0]] == 1 else run for run in runs if run]  # by samples
    long = [run for run in seen if len(run) >= RISING and _one_pace(positions, counts, run)]
    short = [run for run in runs if len(run) >= SAWTOOTH and _one_pace(positions, counts, run)]
    chosen = long or (short if len(short) > 1 else [])
    if not chosen:
        return None
    best = max(chosen, key=len)
    return best[-1], median(_paces(positions, counts, best))


def _paces(positions: list[int], counts: list[int], run: list[int]) -> list[float]:
    return [(counts[b] - counts[a]) / (positions[b] - positions[a]) for a, b in pairwise(run)]


def _one_pace(positions: list[int], counts: list[int], run: list[int]) -> bool:
    paces = _paces(positions, counts, run)
    middle = median(paces)
    return paces[-1] >= middle / 3 and max(paces[1:]) <= 4 * middle
