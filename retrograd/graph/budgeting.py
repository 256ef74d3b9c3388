"""`graph.budget`: what is saved for backward stays under a size, by computing again or moving.

Whenever the next op might take the graph beyond the limit, values go until a quarter of it is free
again. For each block of memory the time is estimated that it takes to do without it: computing it
again, from values that stay, or writing it to a file and reading it back. What has the most bytes
for its time goes first, in the cheaper of the two ways. What is computed again lies in memory for a
while, too: when the block ends, as much as the largest of it needs is set free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from types import TracebackType
from typing import NamedTuple
from weakref import ref

from retrograd.backend.arrays import Array
from retrograd.diagnostics.render import display_path
from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.draws import Draws
from retrograd.engine.elsewhere import Moved, is_movable, move, weakly
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.letting_go import demote, result_bytes
from retrograd.engine.node import Node, dressed
from retrograd.engine.packing import SavedTensor, pack_node
from retrograd.engine.recipes import Recipe, Value
from retrograd.engine.recomputing import Entry, Survey, owner_of, restored, saved_values, survey
from retrograd.engine.state import STATE, set_on_saved
from retrograd.graph.offloading import offload
from retrograd.graph.sizes import bytes_of
from retrograd.graph.wording import counted, size
from retrograd.lifecycle.site import CallSite
from retrograd.tensor import Tensor

# Seconds for a number that a kernel reads or computes, and for a byte written and read back.
COMPUTING, MOVING = 1e-9, 2e-9
# The most calls that one value may take: what is made on the way lies in memory, too.
LONGEST = 6
SMALLEST = 4096  # bytes: what stands in place of a smaller value is hardly less


class Choice(NamedTuple):
    """What was decided about one block of memory."""

    way: str  # "computed again" or "moved"
    op: str  # whose node saved it
    line: str
    nbytes: int


class _Block:
    """The saved values that lie in one block of memory: they can only go together."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.nbytes = entries[0].nbytes
        self.values = {entry.value for entry in entries}
        self.sources: set[Value] = set()  # what stays for it, if it is computed again
        self.way = 0  # bytes that are there while it is computed

    def is_among(self, arrays: Container[int]) -> bool:
        """Whether one of its arrays is, by identity."""
        return any(id(entry.array) in arrays for entry in self.entries)

    def seconds_to_compute(self, found: Survey, gone: set[Value]) -> float | None:
        """None if it cannot be computed, or only by way of too much."""
        if any(entry.reason is not None for entry in self.entries):
            return None
        calls: set[Recipe] = set()
        self.sources = set()
        waiting = list(self.values)
        while waiting:
            value = waiting.pop()
            if value not in self.values and value not in gone and _stays(value, found):
                self.sources.add(value)
            elif value.recipe is None:
                return None
            elif value.recipe not in calls:
                calls.add(value.recipe)
                waiting += value.recipe.inputs()
                if len(calls) > LONGEST:
                    return None
        self.way = sum([result_bytes(call) for call in calls])
        return COMPUTING * sum([call.cost for call in calls])


def _stays(value: Value, found: Survey) -> bool:
    return value.array is not None or value in found.arrays


class budget:
    """A context in which what is saved for backward stays under a size.

    limit   how many bytes the graph may keep: a number, or a text such as "200MB"
    folder  where files go that values are moved to, as for `graph.offload`

    Gradients are those of a graph that keeps everything. Printed, it tells what it chose.

    >>> from retrograd import graph
    >>> x = torch.ones(500, 500, requires_grad=True)
    >>> with graph.budget("2.5MB") as chosen:
    ...     y = x
    ...     for _ in range(4):
    ...         y = (y * 1.5).tanh()
    >>> y.sum().backward(retain_graph=True)
    >>> chosen.nbytes <= chosen.peak <= 2_500_000
    True
    """

    def __init__(self, limit: int | str, *, folder: str | None = None) -> None:
        self.limit = bytes_of(limit, "graph.budget(): limit")
        self.choices: list[Choice] = []
        self.peak = 0  # bytes, with what was computed again, at the highest moment
        self.missing = 0  # bytes above the limit that nothing could be done about
        self._files = offload(to="disk", over=0, folder=folder)
        self._nodes: list[ref[Node]] = []
        self._blocks: dict[
            int, Callable[[], Array | None]
        ] = {}  # weak references to memory, by identity
        self._counted = 0
        self._largest = 0  # bytes that one op has added
        self._way = 0  # bytes that are there while a value is computed again
        self._stuck = 0  # what was kept when nothing more could go
        self._draws = Draws()
        self._outer: list[tuple[Callable[[Node], None] | None, Draws | None]] = []

    def __enter__(self) -> budget:
        self._outer.append((STATE.on_saved, STATE.draws))
        STATE.draws = self._draws
        set_on_saved(self.take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        told, STATE.draws = self._outer.pop()
        set_on_saved(told)
        if not self._outer:
            try:
                self._make_room(self.limit - self._way)
            finally:
                self._files.forget()

    @property
    def nbytes(self) -> int:
        """The bytes that the graphs made in the block keep now, each block of memory once."""
        seen: dict[int, int] = {}
        for node in self._alive():
            for owner in self._memory_of(node):
                seen[id(owner)] = int(owner.nbytes)
        return sum(seen.values())

    @property
    def above(self) -> int:
        """By how many bytes the limit was exceeded, at the highest moment."""
        return max(0, self.peak - self.limit)

    def _alive(self) -> Iterator[Node]:
        for entry in self._nodes:
            node = entry()
            if node is not None and node.freed is None:
                yield node

    def take(self, node: Node) -> None:
        """A node was made: if the graph is too large by now, let something go."""
        self._nodes.append(ref(node))
        before = self._counted
        self._count(self._memory_of(node))
        self._largest = max(self._largest, self._counted - before)
        if self._counted + self._largest > self.limit and self._counted > self._stuck:
            self._make_room(min(self.limit * 3 // 4, self.limit - self._largest))

    def _count(self, memory: Iterable[Array]) -> None:
        """Count what was not counted before; what has gone since, at the next full count."""
        for owner in memory:
            known = self._blocks.get(id(owner))
            if known is None or known() is not owner:  # an identity may be another's by now
                self._blocks[id(owner)] = weakly(owner)
                self._counted += int(owner.nbytes)

    def _make_room(self, wanted: int) -> None:
        """Let go until no more is kept than that, as far as it can be done."""
        self._nodes = [ref(node) for node in self._alive()]
        kept = self.nbytes
        self.peak = max(self.peak, kept)
        if kept > min(wanted, self.limit - self._largest):
            self._let_go(kept - max(0, wanted))
        self._counted, self._blocks = 0, {}
        for node in self._alive():
            self._count(self._memory_of(node))
        kept = self._counted
        self.missing = max(0, kept - self.limit)
        # not again for every node
        self._stuck = kept + self.limit // 8 if kept + self._largest > self.limit else 0

    def _memory_of(self, node: Node) -> Iterator[Array]:
        """The arrays that own the memory of what a node saved and the graph made or drew."""
        for _, maker, _, array, *_ in saved_values(node):
            if isinstance(maker, Node):
                if not _views_a_leaf(maker):
                    yield owner_of(array)
            elif self._draws.drawn(maker) is not None:
                yield owner_of(array)

    def _restored(self, value: Value, node: Node | None = None) -> Tensor:
        """A value that was let go; what is computed for it counts as long as it is there."""
        found = restored(value, node)
        call = STATE.call
        if call is not None and call.recomputed is not None:
            now = self._counted + call.recomputed.nbytes
            if now > max(self.peak, self.limit):  # a walk may have freed some of it
                now = self.nbytes + call.recomputed.nbytes
            self.peak = max(self.peak, now)
        return found

    def _let_go(self, wanted: int) -> None:
        found = survey(list(self._alive()), self._draws.drawn)
        held = _readers(found)  # for those that went before: letting go would free nothing
        gone: set[Value] = set()
        needed: set[Value] = set()
        again: list[Entry] = []
        away: list[_Block] = []
        for block, computes in _by_worth(found, gone):
            if wanted <= 0:
                break
            if computes and not block.values & needed and not block.is_among(held):
                seconds = block.seconds_to_compute(found, gone)
                cheap = seconds is not None and seconds <= MOVING * block.nbytes
                if cheap and block.way <= max(self.limit // 2, 2 * block.nbytes):
                    self._way = max(self._way, block.way)
                    gone |= block.values
                    needed |= block.sources
                    again += block.entries
                    wanted -= self._note("computed again", block)
                    continue
            if all(_can_move(entry) for entry in block.entries):
                away.append(block)
                wanted -= self._note("moved", block)
        if again:
            demote(found, again, self._restored)
        if away:
            self._move(away, found)

    def _note(self, way: str, block: _Block) -> int:
        node = block.entries[0].node
        site = CallSite(node.code, node.lasti)
        line = "" if site.file is None else f"{display_path(site.file)}:{site.line}"
        self.choices.append(Choice(way, node.name(), line, block.nbytes))
        return block.nbytes

    def _move(self, blocks: list[_Block], found: Survey) -> None:
        """Move blocks to files; those who compute from them read them there."""
        readers = _readers(found)
        for block in blocks:
            for entry in block.entries:
                node = entry.node
                if not isinstance(node, FunctionNode):
                    pack_node(node)
                saved = node.saved[entry.place]
                if type(saved) is not SavedTensor or not move(saved, self._files.put):
                    continue
                moved: Moved = saved._packed
                for value in (entry.value, *readers.get(id(entry.array), ())):
                    if value.array is entry.array:
                        value.array, value.elsewhere = None, moved.elements

    def __repr__(self) -> str:
        lines = [f"{size(self.nbytes)} kept of {size(self.limit)}, {size(self.peak)} at most"]
        sums: Counter[tuple[str, str, str]] = Counter()
        for choice in self.choices:
            sums[choice[:3]] += choice.nbytes
        times = Counter(choice[:3] for choice in self.choices)
        for key, nbytes in sums.most_common():
            way, op, line = key
            what = f"{counted(times[key], 'value')} of {op} {line}"
            lines.append(f"{size(nbytes):>10}  {way:<14}  {what}")
        if self.missing:
            lines.append(f"{size(self.missing)} above the limit could not go")
        elif self.above:
            lines.append(f"{size(self.above)} above the limit at the highest moment")
        return "\n".join(line.rstrip() for line in lines)


def _views_a_leaf(node: Node | None) -> bool:
    """Whether a node gives a view of a leaf, whose memory is not the graph's."""
    while node is not None:
        if is_accumulator(node):
            return True
        op = dressed(node).op
        if op is None or op.view is None or len(node.edges) != 1:
            return False
        node = node.edges[0]
    return False


def _by_worth(found: Survey, gone: set[Value]) -> Iterable[tuple[_Block, bool]]:
    """The blocks, those with the most bytes for their time first; whether they are computed."""
    members: dict[int, list[Entry]] = {}
    for entry in found.entries:
        if entry.nbytes >= SMALLEST:
            members.setdefault(entry.memory, []).append(entry)
    rated: list[tuple[float, int, _Block, bool]] = []
    for number, entries in enumerate(members.values()):
        block = _Block(entries)
        seconds, moving = block.seconds_to_compute(found, gone), MOVING * block.nbytes
        computes = seconds is not None and seconds <= moving
        cost = max(seconds if computes and seconds is not None else moving, 1e-12)
        rated.append((-block.nbytes / cost, number, block, computes))
    rated.sort(key=lambda row: row[:2])  # of equals the oldest: backward needs it last
    return [(block, computes) for _, _, block, computes in rated]


def _can_move(entry: Entry) -> bool:
    if entry.reason == "it is a view of a leaf":
        return False
    saved = entry.node.saved[entry.place]
    value = saved._value if type(saved) is SavedTensor else saved
    return is_movable(value) if value is not None else False


def _readers(found: Survey) -> dict[int, list[Value]]:
    """Values that recipes of what is gone read from memory, by the identity of their arrays."""
    readers: dict[int, list[Value]] = {}
    seen: set[Value] = set()
    waiting: list[Value] = []
    for node in found.nodes:
        for saved in node.saved:
            if type(saved) is SavedTensor and type(saved._packed) is Value:
                waiting.append(saved._packed)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.array is not None:
            readers.setdefault(id(value.array), []).append(value)
        if value.recipe is not None:
            waiting += value.recipe.inputs()
    return readers
