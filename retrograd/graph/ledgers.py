"""`graph.ledger`: the bytes that graphs keep for backward, by line, op and module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from shutil import get_terminal_size
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.graph.wording import counted, size, where
from retrograd.watching.engines import choose_engine
from retrograd.watching.heap import tracked
from retrograd.watching.modules import ModuleLog
from retrograd.watching.reading import Node, Reader, Saved, behind, node_of, reader_of

KINDS = ("line", "op", "module")


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory that a graph keeps, with the oldest node that has saved a value in it."""

    bytes: int
    """Of the whole memory, also where only a view of it was saved."""
    op: str
    name: str
    """Of the saved value: `self`, `result`."""
    shape: tuple[int, ...]
    dtype: str
    line: Place | None
    module: str
    """`Net.layers.0.fc1`; empty where no module was at work, or none was watched."""
    outside: bool
    """It belongs to a value without history: an input, a target, a mask."""
    nodes: int = 1
    """How many nodes have saved something in this memory."""


@dataclass(frozen=True, slots=True)
class Row:
    """The entries of one line, op or module together."""

    key: str
    bytes: int
    values: int
    share: float
    """Of all bytes, between 0 and 1."""


@dataclass(frozen=True)
class Ledger:
    """What graphs keep for backward. `print` shows it by line; `by` and `table` by other keys."""

    entries: tuple[Entry, ...]
    unseen: tuple[str, ...] = ()
    """What the library does not show."""
    nodes: int = 0

    @property
    def total(self) -> int:
        """Bytes that the graphs keep, each memory once, without that of leaves and of `outside`."""
        return sum(entry.bytes for entry in self.entries if not entry.outside)

    @property
    def outside(self) -> int:
        """Bytes of values without history that the graphs refer to: inputs, targets, masks.

        The program mostly holds them itself; the graph keeps them where it does not.
        """
        return sum(entry.bytes for entry in self.entries if entry.outside)

    def by(self, key: str = "line") -> list[Row]:
        """Sums by "line", "op" or "module", the largest first."""
        if key not in KINDS:
            raise ValueError(f"key must be one of {', '.join(KINDS)}, not {key!r}")
        sums: dict[str, list[int]] = {}
        for entry in self.entries:
            if not entry.outside:
                name = where(entry.line) if key == "line" else getattr(entry, key)
                sums.setdefault(name or f"({key} not known)", []).append(entry.bytes)
        whole = self.total or 1
        rows = [Row(n, sum(kept), len(kept), sum(kept) / whole) for n, kept in sums.items()]
        return sorted(rows, key=lambda row: (-row.bytes, row.key))

    def table(self, key: str = "line", *, most: int = 20, width: int | None = None) -> str:
        """The sums as text; rows beyond `most` are one."""
        rows = self.by(key)
        lines = [f"{'saved':>10}  {'share':>5}  {'values':>6}  {key}"]
        room = max((width or get_terminal_size((100, 24)).columns) - 27, 12)
        for row in rows[:most]:
            name = row.key if len(row.key) <= room else f"...{row.key[3 - room :]}"
            lines.append(f"{size(row.bytes):>10}  {row.share:>5.0%}  {row.values:>6}  {name}")
        if rest := rows[most:]:
            kept, values = sum(row.bytes for row in rest), sum(row.values for row in rest)
            lines.append(f"{size(kept):>10}  {'':>5}  {values:>6}  {len(rest)} more")
        lines.append(f"{size(self.total):>10}  by {counted(self.nodes, 'node')}")
        if self.outside:
            lines.append(f"{size(self.outside):>10}  besides: inputs, targets, masks")
        return "\n".join([*lines, *self.unseen])

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from retrograd.graph.rich import ledger_html

        return ledger_html(self)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "total": self.total,
            "outside": self.outside,
            "nodes": self.nodes,
            "entries": [asdict(entry) for entry in self.entries],
            "unseen": list(self.unseen),
        }


@dataclass
class _Memory:
    """One memory while a graph is read."""

    node: Node
    row: Saved
    last: Node
    nodes: int = 1


def ledger(*tensors: Any, engine: str | None = None) -> Ledger:
    """What the graphs behind tensors keep for backward; without tensors, behind all live ones.

    engine   whose tensors are looked for, "torch" or "retrograd"; by default PyTorch's if the
             program has imported it

    Every memory is counted once, whoever saved values in it and however small the views of it are;
    that of leaves (parameters) is not counted. Modules are known inside of `graph.watch()`.

    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> kept = torch.graph.ledger((x.exp() * x).sum())
    >>> kept.total, [(row.key, row.bytes) for row in kept.by("op")]
    (24, [('ExpBackward0', 24)])
    """
    if not tensors:
        tensors = tuple(_live(engine))
        if not tensors:
            return Ledger(())
    reader = reader_of(tensors[0])
    for tensor in tensors:
        if reader_of(tensor).library != reader.library:
            raise TypeError("a ledger is of one library: these tensors are of both")
    return ledger_of(reader, behind(reader, [node_of(reader, tensor) for tensor in tensors]))


def _live(engine: str | None) -> list[Any]:
    """The tensors with history of all that Python knows."""
    kind = choose_engine(engine).torch.Tensor
    things = tracked(lambda each: issubclass(each, kind))
    return [tensor for tensor in things if tensor.grad_fn is not None]


def ledger_of(reader: Reader, nodes: Iterable[Node], modules: ModuleLog | None = None) -> Ledger:
    """What nodes keep; `modules` knows which module made them."""
    memories: dict[int, _Memory] = {}
    of_leaves: set[int] = set()
    unseen: dict[str, None] = {}
    ordered = sorted(nodes, key=reader.number)
    for node in ordered:
        words = reader.unseen(node)
        if words is not None:
            unseen[words] = None
        for row in reader.saved(node):
            known = memories.get(row.storage)
            if row.owner == "leaf":
                of_leaves.add(row.storage)
            elif known is None:
                memories[row.storage] = _Memory(node, row, node)
            else:
                known.nodes += known.last is not node
                known.last = node
                if known.row.owner == "outside" != row.owner:
                    known.node, known.row = node, row
    entries = []
    for storage, memory in memories.items():
        if storage not in of_leaves:
            entries.append(_entry(reader, memory, modules))
    inner = [node for node in ordered if reader.leaf(node) is None]
    return Ledger(tuple(entries), tuple(unseen), len(inner))


def _entry(reader: Reader, memory: _Memory, modules: ModuleLog | None) -> Entry:
    row, node = memory.row, memory.node
    call = None if modules is None else modules.of(reader.number(node))
    return Entry(
        *(row.storage_bytes, reader.name(node), row.name, row.shape, row.dtype),
        *(reader.place(node), "" if call is None else call.path, row.owner == "outside"),
        memory.nodes,
    )
