"""Graph that piles up from step to step: how much of it is held, by what, through which line.

A look counts the nodes of earlier steps that live tensors hold. Healthy programs hold none, or a
number that stays: a window, the state of the last step. A number that rises at one pace is a leak.
It also counts the bytes that are saved: they rise at one pace with a cache that is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.engine.node import Node as OwnNode
from retrograd.engine.node import dressed
from retrograd.watching import storing
from retrograd.watching.enlarged import Caches, Enlarged, saved_bytes
from retrograd.watching.graph import saved_names
from retrograd.watching.growth import without_indices
from retrograd.watching.heap import Heap, with_history
from retrograd.watching.holders import paths_to
from retrograd.watching.lines import LEAF
from retrograd.watching.places import is_user_file
from retrograd.watching.reading import Node, Reader, TorchReader, behind, leading_to

SAMPLED = frozenset((*range(2, 9), 10, 12, *range(16, 65, 8), 96))
"""Steps at which a look is taken; then at powers of two, and one and a half times these."""

EARLIEST = 64
"""Steps after which growth is told at once; before, at the end of what is watched."""

FEWEST_STEPS = 8
SETTLED = 4
"""Steps before which a program may still fill what it keeps."""


@dataclass(frozen=True)
class Growing:
    """What grows from step to step, and where."""

    step: int
    """At which it was seen, counted from 1: backward calls, or what the caller counts."""
    nodes: int
    """Of earlier steps that are held at that step."""
    pace: float
    """How many more at each step; bytes where the kind is `enlarged`."""
    bytes: int
    """What these nodes have saved for backward, each memory once; all nodes for `enlarged`."""
    path: str | None
    """What holds them: `self.history[3]`; None where no variable was found."""
    line: Place | None
    """The line that links one step to the next: where a value is added to, carried, or stored."""
    kind: str
    """`carried`: each step is computed from the one before; `collected`: all are kept; `enlarged`:
    no node of an earlier step is kept, but a value that gets larger, which every step saves."""

    def __str__(self) -> str:
        where = "" if self.line is None else f", {self.line.file}:{self.line.line}"
        if self.kind == "enlarged":
            return (
                f"the graph saves more at every step: `{self.path}` gets larger{where} "
                f"({self.bytes} bytes at step {self.step}, about {round(self.pace)} more each)"
            )
        kept = "each step keeps the graph of the one before"
        if self.kind == "collected":
            kept = "the graphs of earlier steps are kept"
        by = f" by `{self.path}`" if self.path else ""
        return (
            f"the graph grows at every step: {kept}{by}{where} "
            f"({self.nodes} nodes at step {self.step}, about {round(self.pace, 1):g} more each)"
        )

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {**vars(self), "line": None if self.line is None else self.line.to_json()}


def is_sampled(step: int) -> bool:
    """Whether a look is taken at a step: ever more rarely.

    >>> [step for step in range(1, 200) if is_sampled(step)][-5:]
    [56, 64, 96, 128, 192]
    """
    if step <= 96:
        return step in SAMPLED
    return step & (step - 1) == 0 or (step % 3 == 0 and (step // 3) & (step // 3 - 1) == 0)


class StepGrowth:
    """Counts steps, looks at some of them, and tells once what grows.

    Call `step` once in each step, `finish` after the last one.
    """

    def __init__(self, reader: Reader, counter: Any, heap: Heap | None = None) -> None:
        self.reader = reader
        self.found: Growing | None = None
        self.looks: list[tuple[int, int]] = []
        """Steps, and the nodes of earlier steps that were held then."""
        self.saved: list[tuple[int, int]] = []
        """Steps, and the bytes that were saved then."""
        self._caches = Caches(reader)
        self._counter = counter
        self._heap = heap or Heap(reader.tensor)
        self._own_heap = heap is None
        self._count = 0
        self._likely: Growing | None = None
        self._start = int(counter())  # older nodes are of something else
        self._marks = [self._start, self._start]  # where the last two steps began

    def step(self, frames: Iterable[FrameType]) -> Growing | None:
        """A step begins; what grows, the first time that it is certain."""
        self._count += 1
        self._marks = [self._marks[-1], int(self._counter())]
        if self.found is not None or not is_sampled(self._count):
            return None
        running = list(frames)
        pile, cache = self._look(running)
        certain = self._count >= EARLIEST and _is_rising(self.looks, self._count / 8)
        rises = self._count >= FEWEST_STEPS and _rose_always(self.looks)
        # described now: when the steps are over, the variables may be gone
        self._likely = self._describe(pile, running) if certain or rises else None
        if self._likely is None and cache is not None and _rose_always(self.saved):
            certain = self._count >= EARLIEST and _is_rising(self.saved, 1)
            self._likely = self._describe_cache(cache)
        if certain:
            self.found = self._likely
        return self.found

    def finish(self) -> Growing | None:
        """The last step is over; what grows, if that was not told before."""
        if self.found is None:
            self.found = self._likely
        if self._own_heap:
            self._heap.release()
        return self.found

    def _look(self, frames: list[FrameType]) -> tuple[Pile, Enlarged | None]:
        tensors = self._heap.objects()
        live = with_history(tensors)
        pile = Pile(self.reader, live, self._marks[0], self._start)
        self.looks.append((self._count, len(pile.old)))
        new = [node for node in pile.nodes if self._start <= self.reader.number(node) < LEAF]
        self.saved.append((self._count, saved_bytes(self.reader, new)))
        if len(self.saved) < 2 or self.saved[-1][1] <= self.saved[-2][1]:
            return pile, None
        return pile, self._caches.look(tensors, frames)

    def _describe(self, pile: Pile, frames: list[FrameType]) -> Growing | None:
        return pile.describe(self._count, _pace(self.looks), frames)

    def _describe_cache(self, cache: Enlarged) -> Growing:
        step, now = self.saved[-1]
        return Growing(step, 0, _pace(self.saved), now, cache.path, cache.line, "enlarged")


def _pace(looks: list[tuple[int, int]]) -> float:
    (first, before), (last, now) = looks[-2:]
    return (now - before) / max(last - first, 1)


def _is_rising(looks: list[tuple[int, int]], least: float) -> bool:
    """At one pace over the last three quarters: a window that was filled has a bend."""
    counts, last = dict(looks), looks[-1][0]
    quarter, half = counts.get(last // 4), counts.get(last // 2)
    if quarter is None or half is None:
        return False
    first, second = half - quarter, counts[last] - half
    return first >= least and second >= 1.8 * first


def _rose_always(looks: list[tuple[int, int]]) -> bool:
    settled = max(SETTLED, looks[-1][0] // 4)
    counts = [count for step, count in looks if step >= settled]
    return len(counts) >= 4 and all(after > before for before, after in pairwise(counts))


class Pile:
    """The nodes made before a number that live tensors hold."""

    def __init__(self, reader: Reader, live: Sequence[Any], before: int, since: int = 0) -> None:
        self.reader = reader
        self.live = live
        self.before = before
        roots = [reader.root(tensor) for tensor in live]
        self._roots = {id(tensor): root for tensor, root in zip(live, roots, strict=True)}
        self.nodes = behind(reader, roots)
        self.old = [
            node
            for node in self.nodes
            if since <= reader.number(node) < before and _costs(reader, node)
        ]

    def describe(self, step: int, pace: float, frames: list[FrameType]) -> Growing | None:
        """Who holds it through which line; None if every holder is of bounded length."""
        reader = self.reader
        reaching = self._reaching()
        holding = [t for t in self.live if self._roots[id(t)] in reaching]
        holding.sort(key=lambda tensor: -reader.number(self._roots[id(tensor)]))
        if not holding or not self.old:
            return None
        paths = paths_to(holding, frames, reader.tensor)
        if paths and all(held.window for held in paths.values()):
            return None
        named = [tensor for tensor in holding if id(tensor) in paths]
        carried = self._carried(named) or self._carried(holding)
        if carried is not None:
            tensor, line = carried
            kind = "carried"
        else:
            kinds: dict[str, int] = {}
            for held in paths.values():
                pattern = without_indices(held.path)
                kinds[pattern] = kinds.get(pattern, 0) + 1
            most = max(kinds, key=lambda pattern: kinds[pattern], default="")
            chosen = [t for t in named if without_indices(paths[id(t)].path) == most]
            tensor = (chosen or holding)[0]
            line, kind = self._stored(tensor, most, frames), "collected"
        path = paths[id(tensor)].path if id(tensor) in paths else None
        return Growing(step, len(self.old), pace, self._bytes(), path, line, kind)

    def _reaching(self) -> set[Node]:
        """The nodes whose history has one of the old ones."""
        return leading_to(self.reader, self.nodes, self.old)

    def _carried(self, holding: list[Any]) -> tuple[Any, Place | None] | None:
        """A tensor of the last step that leads to half of the old nodes, and the line where.

        That is the line of the node which takes in something of an earlier step.
        """
        reader = self.reader
        old = set(self.old)
        for tensor in holding[:4]:
            root = self._roots[id(tensor)]
            if reader.number(root) < self.before:
                return None
            history = behind(reader, [root])
            if sum(node in old for node in history) * 2 < len(old):
                continue
            for node in sorted(history, key=reader.number):
                number = reader.number(node)
                if self.before <= number < LEAF and any(
                    reader.number(following) < self.before for following, _ in reader.edges(node)
                ):
                    return tensor, reader.place(node)
        return None

    def _stored(self, tensor: Any, pattern: str, frames: list[FrameType]) -> Place | None:
        """The line that puts it into a collection; else the line that made it."""
        made = _stack(self.reader, self._roots[id(tensor)])
        files = list(dict.fromkeys(frame.f_code.co_filename for frame in frames))
        names = re.findall(r"[A-Za-z_]\w*", pattern)
        place = None
        if names:
            place, _ = storing.stored(made, names, [file for file in files if is_user_file(file)])
        return place or (made[-1] if made else None)

    def _bytes(self) -> int:
        storages: dict[int, int] = {}
        for node in self.old:
            for value in self.reader.saved(node):
                if value.owner == "graph":
                    storages[value.storage] = value.storage_bytes
        return sum(storages.values())


def _stack(reader: Reader, node: Node) -> list[Place]:
    if isinstance(reader, TorchReader):
        return reader.stack(node)
    place = reader.place(node)
    return [] if place is None else [place]


def _costs(reader: Reader, node: Node) -> bool:
    """Whether a node keeps a tensor: one that it saved, or a leaf that it was computed from.

    What saves nothing costs next to nothing: `w = w - rate * gradient` is a chain of such.
    """
    if saved_names(dressed(node) if isinstance(node, OwnNode) else node):
        return True
    return any(reader.number(following) >= LEAF for following, _ in reader.edges(node))
