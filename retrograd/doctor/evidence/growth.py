"""Graph of earlier iterations that piles up: is it growth, who holds it, which line stores it?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Place
from retrograd.doctor.session import Watched
from retrograd.watching import storing
from retrograd.watching.graph import Ranges, in_ranges
from retrograd.watching.growth import last_rising, without_indices
from retrograd.watching.records import Call, GrowthSample, Holder

FULL_WINDOW = 16  # tensors in a collection of bounded length before it counts
FULL_AT = 2  # samples that have met so many


@dataclass
class Growing:
    """What piles up, and where."""

    sample: GrowthSample  # the last of those that rise
    nodes: int  # of earlier iterations, at that sample
    pace: float  # nodes per call
    holder: Holder  # a tensor that holds them
    made: list[Place]  # the stack that made it
    stored: Place  # the line that keeps it
    adds: bool  # that line is `name += value`
    name: str  # what it is kept in
    window: bool = False  # it grows no more: a collection of bounded length is full of them


def gather(watched: Watched) -> list[Growing]:
    """What grows, each line that stores it once."""
    calls = watched.recorder.calls
    by_site: dict[tuple[int, int], list[GrowthSample]] = {}
    for sample in watched.recorder.growth.samples:
        by_site.setdefault(sample.call.site, []).append(sample)
    found: dict[tuple[str, int], Growing] = {}
    for samples in by_site.values():
        idle = [_idle(sample, calls) for sample in samples]
        counts = [len(numbers) for numbers in idle]
        # what `autograd.grad` gives in a loop may wait there for the backward behind it
        sends = all(sample.call.kind == "backward" for sample in samples)
        last = last_rising([sample.count for sample in samples], counts, sends)
        if last is None:
            for each in _full_windows(samples, watched):
                each.nodes = counts[samples.index(each.sample)]
                found.setdefault((each.stored.file, each.stored.line), each)
            continue
        position, pace = last
        if not _stays(idle[position - 1] if position else set(), idle[position]):
            continue
        growing = _holders(samples[position], samples[:position], watched)
        for each in growing:
            each.nodes, each.pace = counts[position], pace
            found.setdefault((each.stored.file, each.stored.line), each)
    return list(found.values())


def _full_windows(samples: list[GrowthSample], watched: Watched) -> Iterator[Growing]:
    """Long collections of bounded length, with history of which no later call has used anything."""
    files = watched.tracer.chains.files()
    full: dict[str, list[GrowthSample]] = {}
    for sample in samples:
        for holder in sample.holders:
            pattern = without_indices(holder.path or "")
            if holder.window and sample.kinds[pattern] >= FULL_WINDOW:
                seen = full.setdefault(pattern, [])
                seen += [sample] if sample not in seen else []
    for pattern, seen in full.items():
        calls = watched.recorder.calls[seen[0].call.index :]
        holders = [h for s in seen for h in s.holders if without_indices(h.path or "") == pattern]
        if len(seen) < FULL_AT or any(
            in_ranges(c.ranges, h.number) for c in calls for h in holders
        ):
            continue
        made = [place for _, place in seen[-1].call.log.stack_of(holders[-1].number)]
        stored, adds = storing.stored(made, re.findall(r"[A-Za-z_]\w*", pattern), files)
        if stored is not None:
            name = holders[-1].path or ""
            yield Growing(seen[-1], 0, 0.0, holders[-1], made, stored, adds, name, window=True)


def _stays(before: set[int], now: set[int]) -> bool:
    """Whether what was held at one sample is held at the next: else each is of its own length.

    The log probabilities of an episode wait until the second of its losses went back. Episodes that
    happen to get longer keep nothing of each other.
    """
    return 2 * len(before & now) >= len(before)


def _idle(sample: GrowthSample, calls: list[Call]) -> set[int]:
    """The old nodes that no call went through from then on.

    What an inner `create_graph` call went through waits for an outer one: it is not counted.
    """
    if not sample.old:
        return set()
    lowest, highest = sample.old[0][0], sample.old[-1][1]
    near = [
        call
        for call in calls
        if call.log is sample.call.log
        and call.ranges
        and call.ranges[0][0] <= highest
        and call.ranges[-1][1] >= lowest
    ]
    here = sample.call.index
    wanted = [call for call in near if call.index < here and call.create]
    consumed = [call for call in near if call.index < here and not call.retain]
    idle = _numbers_outside(sample.old, [call.ranges for call in near if call.index >= here])
    return {
        number
        for number in idle
        if not any(in_ranges(c.ranges, number) for c in wanted)
        or any(in_ranges(c.ranges, number) for c in consumed)
    }


def _numbers_outside(ranges: Ranges, others: Iterable[Ranges]) -> set[int]:
    numbers = {number for low, high in ranges for number in range(low, high + 1)}
    for other in others:
        for low, high in other:
            if high - low < len(numbers):
                numbers.difference_update(range(low, high + 1))
            else:
                numbers = {number for number in numbers if not low <= number <= high}
    return numbers


# ------------------------------------------------------------------------------- holders


def _holders(
    sample: GrowthSample, earlier: list[GrowthSample], watched: Watched
) -> Iterator[Growing]:
    """The kinds of holders (they share a path, indices left out) that grow themselves."""
    files = watched.tracer.chains.files()
    log = sample.call.log
    first = earlier[-3] if len(earlier) > 2 else earlier[0]
    rise = {kind: count - first.kinds.get(kind, 0) for kind, count in sample.kinds.items()}
    most = max(rise.values(), default=0)
    for pattern in sorted(rise, key=lambda kind: -rise[kind]):
        holder = next(h for h in sample.holders if without_indices(h.path or "") == pattern)
        if holder.window and sample.tensors < FULL_WINDOW:
            continue
        made = [place for _, place in log.stack_of(holder.number)]
        names = re.findall(r"[A-Za-z_]\w*", pattern)
        stored, adds = storing.accumulator(made, names[-1])
        if stored is None:
            stored = storing.written_into(made, names[-1], storing.items_of_last(pattern))
        # other collections may show some of the same values for a moment
        if stored is None and "[" in pattern and rise[pattern] > 0 and rise[pattern] * 2 >= most:
            stored, adds = storing.stored(made, names, files)
        if stored is not None:
            yield Growing(sample, 0, 0.0, holder, made, stored, adds, holder.path or "")
