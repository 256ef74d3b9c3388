"""Does the program hold more and more of graphs that backward has already consumed?

A sample looks at all live tensors, which takes time: it is taken at the 3rd, 4th, 6th, 8th ... call
of a site, and only while all samples together stay within a share of the run.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from types import FrameType
from typing import Any

from retrograd.doctor.watching.graph import in_ranges, walk
from retrograd.doctor.watching.holders import holder_of
from retrograd.doctor.watching.lines import LEAF
from retrograd.doctor.watching.records import Call, GrowthSample, Holder

SAMPLED = frozenset({3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 4096})
SHARE = 0.02
"""Of the time since the start that samples may take; the first four are always taken."""

RECENT_CALLS = 64
MOST_HOLDERS = 40


class Growth:
    """Takes the samples."""

    def __init__(self, tensor: type) -> None:
        self.samples: list[GrowthSample] = []
        self.skipped = 0
        self._tensor = tensor
        self._counts: dict[tuple[int, int], int] = {}
        self._started = time.perf_counter()
        self._spent = 0.0

    def before_call(self, call: Call, earlier: list[Call], frames: Iterable[FrameType]) -> None:
        """Count the call of this site, and take a sample if it is one of those."""
        count = self._counts[call.site] = self._counts.get(call.site, 0) + 1
        if count not in SAMPLED:
            return
        now = time.perf_counter()
        if count > 8 and self._spent > SHARE * (now - self._started):
            self.skipped += 1
            return
        self._take(call, count, earlier, frames)
        self._spent += time.perf_counter() - now

    def _take(
        self, call: Call, count: int, earlier: list[Call], frames: Iterable[FrameType]
    ) -> None:
        consumed = [c for c in earlier[:-1] if not c.retain and not c.failed][-RECENT_CALLS:]
        if not consumed:
            return
        live = self._live_tensors()

        def is_consumed(number: int) -> bool:
            return number < LEAF and any(in_ranges(c.ranges, number) for c in consumed)

        numbers = walk(tensor.grad_fn for tensor in live).values()
        total = sum(1 for number in numbers if is_consumed(number))
        sample = GrowthSample(call, count, total)
        if total:
            frames = list(frames)
            for tensor in live:
                if len(sample.holders) >= MOST_HOLDERS:
                    break
                if any(is_consumed(n) for n in walk([tensor.grad_fn], 4000).values()):
                    held = holder_of(tensor, frames, self._tensor)
                    path = None if held is None else held.path
                    window = held is not None and held.window
                    number = tensor.grad_fn._sequence_nr()
                    sample.holders.append(Holder(number, tensor.dim(), path, window))
        self.samples.append(sample)

    def _live_tensors(self) -> list[Any]:
        # isinstance would ask lazy proxies for their class, and wake them
        kind = self._tensor
        tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]
        return [tensor for tensor in tensors if tensor.grad_fn is not None]
