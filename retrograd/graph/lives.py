"""The lives of nodes, written down while a program runs, without a reference to any of them.

A node is known by a tag in its `metadata`, which dies with it: that is how its end is noticed, in
both libraries, whoever held it. Everything that happens has a `Position`, which orders it among the
numbers that nodes get when they are made; the ticks of the page's clock are made of them later.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from retrograd.diagnostics.report import Place
from retrograd.graph.detaching import Cut, Uses
from retrograd.watching.lines import LEAF, Chains, LineLog
from retrograd.watching.modules import ModuleCall, ModuleLog
from retrograd.watching.reading import Node, Reader, RetrogradReader, Saved, memory_of

TAG = "retrograd.recording"  # under which a node's metadata has its tag
MOST_NODES = 20_000  # that are kept in all; the steps between the first and the last go first
MOST_CUTS = 1_000  # detached values that are followed
MOST_WRITES = 1_000  # memories whose last writes are remembered
MOST_WRITTEN = 2_000  # writes to saved values that are kept
WRITES_EACH = 4  # to one memory
NODES_EACH = 8  # that one write is told at

Site = tuple[int, int, int]  # chain, line, activation


class Position(NamedTuple):
    """When something happened: before event `slot`, or at it (`phase` 1)."""

    slot: int
    phase: int  # -1 in the walk of a backward call, 0 between two events, 1 the event itself
    number: float  # of the next node, or of the place in the walk
    after: int = 0  # 1: what happened when nodes up to `number` had been made


@dataclass(eq=False, slots=True)
class Memory:
    """Memory that saved values are in, as long as a node holds it."""

    bytes: int
    owner: str  # "" if the graph made it
    holders: int = 0


@dataclass(eq=False, slots=True)
class Life:
    """One node, and what became of it."""

    index: int
    name: str
    number: int
    born: Position
    shape: tuple[int, ...] | None
    dtype: str
    edges: list[int]
    leaf: bool = False
    label: str = ""
    saved: list[tuple[Saved, Memory]] = field(default_factory=list)
    site: Site | None = None  # in the line log
    place: Place | None = None  # where the log knows nothing: what the node itself says
    call: ModuleCall | None = None
    kept: Position | None = None
    freed: Position | None = None
    freed_by: int = 0
    cut: Position | None = None
    gone: Position | None = None
    unseen: str = ""
    doubtful: bool = False  # another thread may have made it: its line is not known

    @property
    def holds(self) -> bool:
        """Whether its saved values are still in memory."""
        return self.freed is None and self.gone is None

    @property
    def is_freed(self) -> bool:
        """Whether it has saved something, and a call has released it."""
        return self.freed is not None and (bool(self.saved) or not self.freed_by)


class Write(NamedTuple):
    """Something was written in place."""

    position: Position
    number: int  # of the next node before it
    place: Place | None
    how: str  # "mul_", "SGD.step()"


class Written(NamedTuple):
    """A write to a value that a node had saved."""

    write: Write
    life: int  # the node's index
    name: str  # of the saved value


class Clock:
    """Which event comes next, and what has ended since somebody looked."""

    __slots__ = ("counter", "ended", "slot")

    def __init__(self, counter: Callable[[], int]) -> None:
        self.counter = counter
        self.slot = 0
        self.ended: deque[tuple[int, Position]] = deque()

    def end(self, index: int) -> None:
        """A node or a leaf is no more. This may be called anywhere, so it only writes it down."""
        self.ended.append((index, Position(self.slot, 0, self.counter() - 0.25)))


class Tag:
    """Lies in a node's metadata, and dies with it. Its index is -1 until it is written down."""

    __slots__ = ("clock", "cut", "index", "tells")

    def __init__(
        self, clock: Clock, index: int, tells: bool = True, cut: Cut | None = None
    ) -> None:
        self.clock = clock
        self.index = index
        self.tells = tells  # not those of leaves: their nodes come and go
        self.cut: Cut | None = None

    def __del__(self) -> None:
        if self.tells and self.index >= 0:
            self.clock.end(self.index)


@dataclass(eq=False, slots=True)
class Marks:
    """The events of one thread, by the number of its next node then."""

    numbers: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    def add(self, number: int, slot: int) -> None:
        """An event; beyond some 100,000 the older half is forgotten."""
        self.numbers.append(number)
        self.slots.append(slot)
        if len(self.numbers) > 100_000:
            del self.numbers[:50_000], self.slots[:50_000]

    def birth(self, number: int, following: int) -> Position:
        """When the node of a number was made: before the first event that came after it."""
        place = bisect_right(self.numbers, number)
        slot = self.slots[place] if place < len(self.slots) else following
        return Position(slot, 0, number)


class Lives:
    """All nodes that were seen."""

    def __init__(
        self, reader: Reader, counter: Callable[[], int], modules: ModuleLog | None = None
    ) -> None:
        self.reader = reader
        self.clock = Clock(counter)
        self.modules = modules
        self.known: dict[int, Life] = {}
        self.bytes = 0  # that the known nodes hold now, each memory once
        self.nodes = 0  # that are alive, leaves apart
        self.too_many = 0  # that were not written down, because of `MOST_NODES`
        self.detached: dict[int, tuple[weakref.ref[Any], Cut]] = {}  # by memory: the value
        self.cuts: list[tuple[Cut, int]] = []  # and the node that uses the detached value
        self.inputs: dict[int, str] = {}  # names of values without history, by their memory
        self.uses = Uses(lambda: self._chains)
        self.writes: dict[int, list[Write]] = {}  # by memory: the last ones
        self.written: list[Written] = []
        self._chains: Chains | None = None
        self._others: Sequence[tuple[int, int]] = ()
        self._count = 0
        self._leaves: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id of the tensor
        self._leaf_keys: dict[int, tuple[int, int]] = {}  # by index: id and memory of the tensor
        self._owners: dict[int, str] = {}  # names of leaves, by their memory
        self._memory: dict[int, Memory] = {}
        self._owned: dict[tuple[int, str], Memory] = {}
        self._savers: dict[int, dict[int, Life]] = {}  # by memory: nodes that hold a value in it
        self._kinds: dict[type, tuple[str, str]] = {}  # of PyTorch's nodes: name, what is unseen

    # ------------------------------------------------------------------------ finding nodes

    def index_of(self, node: Node) -> int | None:
        """The index of a node that was seen before."""
        tag = node.metadata.get(TAG)
        if tag is not None and tag.clock is self.clock:
            return tag.index if tag.index >= 0 else None
        if self.reader.number(node) < LEAF:
            return None
        # a leaf's node may come and go, as long as no graph leads to it
        leaf = self.reader.leaf(node)
        entry = self._leaves.get(id(leaf))
        if leaf is None or entry is None or entry[0]() is not leaf:
            return None
        node.metadata[TAG] = Tag(self.clock, entry[1], tells=False)
        return entry[1]

    def life_of(self, node: Node) -> Life | None:
        """What is written down of a node."""
        index = self.index_of(node)
        return None if index is None else self.known.get(index)

    def add(
        self,
        roots: Iterable[Node | None],
        log: LineLog,
        marks: Marks,
        others: Sequence[tuple[int, int]] = (),
    ) -> list[Life]:
        """Write down the nodes behind roots that are not known yet; gives the new leaves.

        `others` are the numbers of nodes that another thread may have made.
        """
        self.settle()
        self._chains = log.chains
        self._others = others
        fresh: dict[Node, list[Node]] = {}
        waiting = [root for root in roots if root is not None]
        while waiting:
            node = waiting.pop()
            if node in fresh or self.index_of(node) is not None:
                continue
            fresh[node] = edges = [following for following, _ in self.reader.edges(node)]
            waiting += edges
        if not fresh:
            return []
        number = self.reader.number
        order = sorted(((number(node), place) for place, node in enumerate(fresh)))
        nodes = list(fresh)
        users: dict[Node, int] = {}  # the first node that uses a leaf
        for age, place in order:
            for following in fresh[nodes[place]]:
                if following in fresh:
                    users.setdefault(following, age)
        leaves = [
            self._add_leaf(nodes[place], marks.birth(users.get(nodes[place], 0), self.clock.slot))
            for age, place in order
            if age >= LEAF
        ]
        for age, place in order:
            if age < LEAF:
                self._add(nodes[place], fresh[nodes[place]], age, log, marks)
        return leaves

    def _add_leaf(self, node: Node, first_use: Position) -> Life:
        shape, dtype = self.reader.describe(node)
        born = first_use._replace(number=first_use.number - 0.5)
        tensor = self.reader.leaf(node)
        life = Life(
            self._count, self.reader.name(node), LEAF, born, shape, dtype or "", [], leaf=True
        )
        self._keep(life)
        if tensor is not None:
            life.shape = tuple(tensor.shape)
            clock, index = self.clock, life.index
            reference = weakref.ref(tensor, lambda _: clock.end(index))
            key = memory_key(self.reader, tensor)
            self._leaves[id(tensor)] = reference, index
            self._leaf_keys[index] = id(tensor), key
            node.metadata[TAG] = Tag(self.clock, life.index, tells=False)
            self._owners[key] = "a leaf"
        return life

    def leaf_tensors(self, lives: list[Life]) -> list[tuple[Life, Any]]:
        """The tensors of leaves that are still there."""
        alive = {index: reference() for reference, index in self._leaves.values()}
        found = [(life, alive.get(life.index)) for life in lives]
        return [(life, tensor) for life, tensor in found if tensor is not None]

    def name_leaf(self, life: Life, tensor: Any, name: str) -> None:
        """Say how the program calls a leaf."""
        life.label = name
        self._owners[memory_key(self.reader, tensor)] = name

    @property
    def seen(self) -> int:
        """Nodes and leaves in all, also those that are not kept."""
        return self._count

    def _keep(self, life: Life) -> None:
        self._count += 1
        if len(self.known) >= MOST_NODES:
            self.too_many += 1
        else:
            self.known[life.index] = life

    def _add(
        self, node: Node, following: list[Node], number: int, log: LineLog, marks: Marks
    ) -> None:
        reader = self.reader
        shape, dtype = reader.describe(node)
        name, unseen = self._kind_of(node)
        edges = [self.index_of(each) for each in following]
        life = Life(
            index=self._count,
            name=name,
            number=number,
            born=marks.birth(number, self.clock.slot),
            shape=shape,
            dtype=dtype or "",
            edges=[index for index in edges if index is not None],
            site=log.site_of(number),
            call=None if self.modules is None else self.modules.of(number),
            unseen=unseen,
        )
        if self._others and any(first <= number < last for first, last in self._others):
            self._doubt(life, node)
        elif life.site is None:
            life.place = reader.place(node)
        before = node.metadata.get(TAG)
        if before is not None and before.clock is self.clock and before.cut is not None:
            before.cut.index = life.index
            life.cut = before.cut.position
        node.metadata[TAG] = Tag(self.clock, life.index)
        self._keep(life)
        self.nodes += 1
        for saved in reader.saved(node):
            life.saved.append((saved, self._memory_of(saved, life)))
            self._savers.setdefault(saved.storage, {})[life.index] = life
            if saved.storage in self.writes:
                self._note_writes(saved.storage, life, self.writes[saved.storage])
        if life.saved:
            return
        if reader.state(node) == "freed":
            life.freed = life.born._replace(after=1)  # by a call before the recording began
        elif self.uses.pending and life.site is not None:
            cut = self.uses.used_by(name, number, life.site, node.next_functions)
            if cut is not None:
                self.cuts.append((cut, life.index))

    def _doubt(self, life: Life, node: Node) -> None:
        """The log of this thread may not be that of the node: only what the node says counts."""
        place = self.reader.place(node) if isinstance(self.reader, RetrogradReader) else None
        if place is not None and life.site is not None and self._chains is not None:
            own = self._chains.stack(*life.site[:2])[-1][1]
            if (own.file, own.line) == (place.file, place.line):
                return
        life.site, life.call, life.place = None, None, place
        life.doubtful = place is None

    def _kind_of(self, node: Node) -> tuple[str, str]:
        """Name and what cannot be seen, the same for all nodes of one of PyTorch's classes."""
        if isinstance(self.reader, RetrogradReader):
            return self.reader.name(node), self.reader.unseen(node) or ""
        found = self._kinds.get(type(node))
        if found is None:
            found = self.reader.name(node), self.reader.unseen(node) or ""
            self._kinds[type(node)] = found
        return found

    def cut(self, node: Node, position: Position) -> Cut:
        """A node's result is detached; the node is written down when it is found."""
        tag = node.metadata.get(TAG)
        if tag is None or tag.clock is not self.clock:
            tag = node.metadata[TAG] = Tag(self.clock, -1)
        if tag.cut is None:
            tag.cut = Cut(position, tag.index)
            life = self.known.get(tag.index)
            if life is not None:
                life.cut = position
        found: Cut = tag.cut
        return found

    def note_detached(self, value: Any, cut: Cut) -> None:
        """A detached value may be used later: a node that saves it is known by its memory."""
        self.detached[memory_key(self.reader, value)] = weakref.ref(value), cut
        while len(self.detached) > MOST_CUTS:
            del self.detached[next(iter(self.detached))]

    def note_write(self, tensor: Any, write: Write) -> None:
        """Memory was written: nodes that have saved it may be known, or be found later."""
        key = memory_key(self.reader, tensor)
        past = self.writes.pop(key, None) or []
        self.writes[key] = [*past[1 - WRITES_EACH :], write]  # the newest memory comes last
        while len(self.writes) > MOST_WRITES:
            del self.writes[next(iter(self.writes))]
        for life in list(self._savers.get(key, {}).values())[:NODES_EACH]:
            self._note_writes(key, life, [write])

    def _note_writes(self, key: int, life: Life, writes: list[Write]) -> None:
        for write in writes:
            if write.number > life.number and life.holds:
                for saved, _ in life.saved:
                    if saved.storage == key:
                        self.written.append(Written(write, life.index, saved.name))
                        break
        if len(self.written) > MOST_WRITTEN:
            del self.written[: MOST_WRITTEN // 2]

    def _memory_of(self, saved: Saved, life: Life) -> Memory:
        """The memory of a saved value; an address is used again once nobody holds it."""
        if saved.owner in ("leaf", "outside"):
            owner = self._owner_of(saved, life)
            key = saved.storage, owner
            return self._owned.setdefault(key, Memory(saved.storage_bytes, owner))
        memory = self._memory.get(saved.storage)
        if memory is None:
            memory = self._memory[saved.storage] = Memory(saved.storage_bytes, "")
            self.bytes += memory.bytes
        memory.holders += 1
        return memory

    def _owner_of(self, saved: Saved, life: Life) -> str:
        """Whose memory it is that a node has saved, if the graph did not make it."""
        if saved.owner == "leaf":
            return self._owners.get(saved.storage, "a leaf")
        entry = self.detached.get(saved.storage)
        if entry is not None and entry[0]() is not None:
            self.cuts.append((entry[1], life.index))
            return "a detached value"
        return self.inputs.get(saved.storage, "an input")

    # ----------------------------------------------------------------------- ends of lives

    def settle(self) -> None:
        """Take in the ends that were written down."""
        ended = self.clock.ended
        while ended:
            index, position = ended.popleft()
            life = self.known.get(index)
            if life is None:
                continue
            if life.leaf:
                self._leaf_ended(index)
            elif life.holds:
                self._release(life)
            life.gone = position
            self.nodes -= not life.leaf

    def _leaf_ended(self, index: int) -> None:
        """Its tensor is no more; another may have its address by now."""
        address, memory = self._leaf_keys.pop(index, (0, 0))
        entry = self._leaves.get(address)
        if entry is not None and entry[1] == index:
            del self._leaves[address]
            self._owners.pop(memory, None)

    def free(self, life: Life, position: Position, call: int) -> None:
        """A backward call has released what a node had saved."""
        if life.holds:
            life.freed, life.freed_by = position, call
            self._release(life)

    def _release(self, life: Life) -> None:
        for saved, memory in life.saved:
            savers = self._savers.get(saved.storage)
            if savers is not None and savers.pop(life.index, None) is not None and not savers:
                del self._savers[saved.storage]
            if memory.owner:
                continue
            memory.holders -= 1
            if not memory.holders:
                self.bytes -= memory.bytes
                if self._memory.get(saved.storage) is memory:
                    del self._memory[saved.storage]

    def forget(self, start: Position, end: Position) -> None:
        """Drop the nodes that were made in a span, and what only they needed.

        A leaf stays as long as its tensor lives or a node that is kept leads to it.
        """
        for life in list(self.known.values()):
            if start <= life.born < end and not life.leaf:
                if life.holds:
                    self._release(life)
                self.nodes -= life.gone is None
                del self.known[life.index]
        needed = {edge for life in self.known.values() for edge in life.edges}
        for life in [life for life in self.known.values() if life.leaf]:
            if life.index not in needed and life.index not in self._leaf_keys:  # its tensor is gone
                del self.known[life.index]
        self.cuts = [pair for pair in self.cuts if pair[1] in self.known]
        self.written = [row for row in self.written if row.life in self.known]
        if len(self._owned) > MOST_CUTS:
            used = {id(memory) for life in self.known.values() for _, memory in life.saved}
            self._owned = {key: m for key, m in self._owned.items() if id(m) in used}

    def stop(self) -> None:
        """Nothing ends any more."""
        self.settle()
        self._leaves.clear()
        self.detached.clear()
        self.writes.clear()
        self.uses.pending.clear()


def memory_key(reader: Reader, tensor: Any) -> int:
    """The number by which the reader knows a tensor's memory."""
    if isinstance(reader, RetrogradReader):
        return id(memory_of(tensor._array))
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse: none of its own
        return id(tensor)
