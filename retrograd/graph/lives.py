"""The lives of nodes, written down while a program runs, without a reference to any of them.

A node is known by a tag in its `metadata`, which dies with it: that is how its end is noticed, in
both libraries, whoever held it. Everything that happens has a `Position`, which orders it among the
numbers that nodes get when they are made; the ticks of the page's clock are made of them later.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from retrograd.watching.lines import LEAF, LineLog
from retrograd.watching.modules import ModuleCall, ModuleLog
from retrograd.watching.places import Place
from retrograd.watching.reading import Node, Reader, RetrogradReader, Saved, memory_of, plain

TAG = "retrograd.recording"  # under which a node's metadata has its tag
MOST_NODES = 20_000  # that are kept in all; the steps between the first and the last go first


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
    stack: list[Place] = field(default_factory=list)  # outermost first
    call: ModuleCall | None = None
    kept: Position | None = None
    freed: Position | None = None
    freed_by: int = 0
    cut: Position | None = None
    gone: Position | None = None
    unseen: str = ""

    @property
    def holds(self) -> bool:
        """Whether its saved values are still in memory."""
        return self.freed is None and self.gone is None


class Tag:
    """Lies in a node's metadata, and dies with it."""

    __slots__ = ("__weakref__", "index", "owner")

    def __init__(self, owner: object, index: int) -> None:
        self.owner = owner
        self.index = index


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
    """All nodes that were seen. `slot` is the number of the next event."""

    def __init__(
        self, reader: Reader, counter: Callable[[], int], modules: ModuleLog | None = None
    ) -> None:
        self.reader = reader
        self.counter = counter
        self.modules = modules
        self.known: dict[int, Life] = {}
        self.slot = 0
        self.bytes = 0  # that the known nodes hold now, each memory once
        self.nodes = 0  # that are alive, leaves apart
        self.too_many = 0  # that were not written down, because of `MOST_NODES`
        self.detached: dict[int, tuple[weakref.ref[Any], int]] = {}  # by memory: value, its node
        self.cuts: list[tuple[int, int]] = []
        self.inputs: dict[int, str] = {}  # names of values without history, by their memory
        self._count = 0
        self._tags: dict[int, weakref.ref[Tag]] = {}
        self._leaves: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id of the tensor
        self._owners: dict[int, str] = {}  # names of leaves, by their memory
        self._memory: dict[int, Memory] = {}
        self._owned: dict[tuple[int, str], Memory] = {}
        self._ended: deque[tuple[int, Position]] = deque()

    # ------------------------------------------------------------------------ finding nodes

    def index_of(self, node: Node) -> int | None:
        """The index of a node that was seen before."""
        leaf = self.reader.leaf(node)
        if leaf is not None:
            entry = self._leaves.get(id(leaf))
            return entry[1] if entry is not None and entry[0]() is leaf else None
        tag = node.metadata.get(TAG)
        return tag.index if tag is not None and tag.owner is self else None

    def add(self, roots: Iterable[Node | None], log: LineLog, marks: Marks) -> list[Life]:
        """Write down the nodes behind roots that are not known yet; gives the new leaves."""
        self.settle()
        fresh: dict[Node, int] = {}
        waiting = [plain(root) for root in roots if root is not None]
        while waiting:
            node = waiting.pop()
            if node in fresh or self.index_of(node) is not None:
                continue
            fresh[node] = self.reader.number(node)
            waiting += [following for following, _ in self.reader.edges(node)]
        order = sorted(fresh, key=lambda node: fresh[node])  # leaves last
        users: dict[int, int] = {}  # the first node that uses a leaf
        for node in order:
            for following, _ in self.reader.edges(node):
                users.setdefault(id(following), fresh[node])
        leaves = [
            self._add_leaf(node, marks.birth(users.get(id(node), 0), self.slot))
            for node in order
            if fresh[node] >= LEAF
        ]
        for node in order:
            if fresh[node] < LEAF:
                self._add(node, fresh[node], log, marks)
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
            gone = _at_end(self, life.index)
            self._leaves[id(tensor)] = weakref.ref(tensor, gone), life.index
            self._owners[memory_key(self.reader, tensor)] = "a leaf"
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

    def _add(self, node: Node, number: int, log: LineLog, marks: Marks) -> None:
        reader = self.reader
        shape, dtype = reader.describe(node)
        edges = [self.index_of(following) for following, _ in reader.edges(node)]
        life = Life(
            index=self._count,
            name=reader.name(node),
            number=number,
            born=marks.birth(number, self.slot),
            shape=shape,
            dtype=dtype or "",
            edges=[index for index in edges if index is not None],
            stack=[place for _, place in log.stack_of(number)],
            call=None if self.modules is None else self.modules.of(number),
            unseen=reader.unseen(node) or "",
        )
        if not life.stack:
            place = reader.place(node)
            life.stack = [] if place is None else [place]
        tag = Tag(self, life.index)
        node.metadata[TAG] = tag
        self._tags[life.index] = weakref.ref(tag, _at_end(self, life.index))
        self._keep(life)
        self.nodes += 1
        if reader.state(node) == "freed":  # by a call before the recording began
            life.freed = life.born._replace(after=1)
            return
        for saved in reader.saved(node):
            life.saved.append((saved, self._memory_of(saved, life)))

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

    def ended(self, index: int, position: Position) -> None:
        """A node or a leaf is no more; called wherever that happens, so it only writes it down."""
        self._ended.append((index, position))

    def settle(self) -> None:
        """Take in the ends that were written down."""
        while self._ended:
            index, position = self._ended.popleft()
            self._tags.pop(index, None)
            life = self.known.get(index)
            if life is None:
                continue
            if life.holds:
                life.gone = position
                self._release(life)
            life.gone = position
            self.nodes -= not life.leaf

    def free(self, life: Life, position: Position, call: int) -> None:
        """A backward call has released what a node had saved."""
        if life.holds:
            life.freed, life.freed_by = position, call
            self._release(life)

    def _release(self, life: Life) -> None:
        for saved, memory in life.saved:
            if memory.owner:
                continue
            memory.holders -= 1
            if not memory.holders:
                self.bytes -= memory.bytes
                if self._memory.get(saved.storage) is memory:
                    del self._memory[saved.storage]

    def forget(self, lives: Iterable[Life]) -> None:
        """Drop nodes; what they hold still counts in `bytes` until they end."""
        for life in lives:
            if life.holds:
                self._release(life)
            if not life.leaf:
                self.nodes -= life.gone is None
            self.known.pop(life.index, None)

    def stop(self) -> None:
        """Nothing ends any more."""
        self.settle()
        self._tags.clear()
        self._leaves.clear()
        self.detached.clear()


def _at_end(lives: Lives, index: int) -> Any:
    """What a weak reference calls. It must not keep the recording alive, nor look at a graph."""
    owner = weakref.ref(lives)
    at = Position  # modules are emptied before the last objects go

    def ended(_: object) -> None:
        found = owner()
        if found is not None:
            found.ended(index, at(found.slot, 0, found.counter() - 0.25))

    return ended


def memory_key(reader: Reader, tensor: Any) -> int:
    """The number by which the reader knows a tensor's memory."""
    if isinstance(reader, RetrogradReader):
        return id(memory_of(tensor._array))
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse: none of its own
        return id(tensor)
