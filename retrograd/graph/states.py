"""`graph.state` and `graph.history`: in which state a graph is, and what happened to a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.graph.ledgers import ledger_of
from retrograd.graph.wording import counted, size, where
from retrograd.lifecycle.site import CallSite
from retrograd.tensor import Tensor
from retrograd.watching.reading import (
    Freeing,
    Node,
    Reader,
    behind,
    names_released,
    node_of,
    place_at,
    reader_of,
)


@dataclass(frozen=True)
class State:
    """The state of the graph behind a tensor.

    `name` is one of

    - `created`: recorded, and no backward call has gone through yet;
    - `retained`: one has, and everything is still there;
    - `freed`: a backward call released what the nodes had saved;
    - `partly freed`: that of some, which are needed by others that still hold theirs;
    - `held`: nothing is released; PyTorch does not tell whether a backward went through;
    - `leaf`: the tensor is where a graph ends, and has none behind it;
    - `no graph`: the tensor has no history.
    """

    name: str
    nodes: int
    """Behind the tensor, those of leaves not counted."""
    leaves: int
    held: int
    """Nodes that hold values."""
    freed: int
    """Nodes whose values were released."""
    bytes: int
    """Of memory that the graph keeps; that of leaves and values without history is not counted."""
    outside: int
    """Of memory of values without history: inputs, targets, masks."""
    freed_by: tuple[Freeing, ...] = ()
    """The calls that released something, in their order; empty where that is not visible."""
    unseen: tuple[str, ...] = ()
    """What the library does not show."""

    def __str__(self) -> str:
        if self.name in ("no graph", "leaf"):
            return self.name
        parts = [f"{self.name}: {counted(self.nodes, 'node')}, {counted(self.leaves, 'leaf')}"]
        if self.held:
            parts.append(
                f"{counted(self.held, 'node')} hold{'s' * (self.held == 1)} {size(self.bytes)}"
            )
        if self.freed:
            calls = "; ".join(map(freed_text, self.freed_by))
            parts.append(f"{self.freed} freed" + (f" by {calls}" if calls else ""))
        return ", ".join([*parts, *self.unseen])

    def _repr_html_(self) -> str:
        from retrograd.graph.rich import state_html

        return state_html(self)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def freed_text(call: Freeing) -> str:
    """`backward call 2 (train.py:30)`."""
    place = where(call.place)
    return f"{call.kind} call {call.ordinal}" + (f" ({place})" if place else "")


def state(tensor: Any) -> State:
    """In which state the graph behind a tensor (or a `grad_fn`) is, of retrograd or of PyTorch.

    >>> x = torch.ones(3, requires_grad=True)
    >>> loss = x.exp().sum()
    >>> print(torch.graph.state(loss))
    created: 2 nodes, 1 leaf, 1 node holds 12 B
    >>> loss.backward()
    >>> torch.graph.state(loss).name
    'freed'
    """
    reader = reader_of(tensor)
    root = node_of(reader, tensor)
    if root is None:
        return State("no graph", 0, 0, 0, 0, 0, 0)
    if reader.leaf(root) is not None:
        return State("leaf", 0, 1, 0, 0, 0, 0)
    nodes = behind(reader, [root])
    states = [reader.state(node) for node in nodes]
    held, freed, leaves = (states.count(kind) for kind in ("held", "freed", "leaf"))
    kept = ledger_of(reader, nodes)
    calls = {call.ordinal: call for node in nodes if (call := reader.freed_by(node)) is not None}
    return State(
        _name(reader, nodes, held, freed),
        *(len(nodes) - leaves, leaves, held, freed),
        *(kept.total, kept.outside),
        tuple(calls[ordinal] for ordinal in sorted(calls)),
        kept.unseen,
    )


def _name(reader: Reader, nodes: list[Node], held: int, freed: int) -> str:
    if freed:
        return "partly freed" if held else "freed"
    walked = [reader.walked(node) for node in nodes if reader.leaf(node) is None]
    if None in walked:
        return "held"
    return "retained" if any(walked) else "created"


@dataclass(frozen=True)
class Event:
    """One thing that happened to a tensor, or to its node."""

    kind: str
    """`created`, `saved`, `walked`, `freed`, `detached`, `written`, `not visible`."""
    text: str
    place: Place | None = None

    def __str__(self) -> str:
        place = where(self.place)
        return f"{self.kind:<11} {self.text}" + (f"  {place}" if place else "")


@dataclass(frozen=True)
class History:
    """What happened to a tensor, in order; printed as one line for each event."""

    events: tuple[Event, ...]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> Event:
        return self.events[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.events))

    def _repr_html_(self) -> str:
        from retrograd.graph.rich import history_html

        return history_html(self)

    def to_json(self) -> list[dict[str, Any]]:
        """The same as plain data."""
        return [asdict(event) for event in self.events]


def history(tensor: Any) -> History:
    """What happened to a tensor: where it was made, what was saved, who freed, cut or wrote it.

    >>> x = torch.ones(3, requires_grad=True)
    >>> y = x.exp()
    >>> y.sum().backward()
    >>> [event.kind for event in torch.graph.history(y)]
    ['created', 'freed']
    >>> torch.graph.history(y)[1].text
    'by backward call ...; it had saved result'
    """
    reader = reader_of(tensor)
    node = node_of(reader, tensor)
    events: list[Event] = []
    if node is not None and reader.leaf(node) is None:
        events += _of_node(reader, node)
    elif isinstance(tensor, Tensor) and tensor._cut is not None:
        cut = tensor._cut
        place = place_at(CallSite(cut.code, cut.lasti))
        events.append(Event("detached", _CUT.get(cut.kind, f"by {cut.operation}"), place))
    else:
        events.append(Event("created", "a leaf" if node is not None else "without history"))
        if reader.library == "torch" and node is None:
            events.append(Event("not visible", "PyTorch does not keep whether it was detached"))
    if isinstance(tensor, reader.tensor):
        events += _writes(tensor)
    return History(tuple(events))


_CUT = {
    "detach": "by detach()",
    "data": "as .data of a tensor with history",
    "no_grad": "computed while gradients were off",
    "inference": "computed in inference mode",
    "nondifferentiable": "its operation has no derivative",
    "hook": "computed in a hook, where gradients are off",
}


def _of_node(reader: Reader, node: Node) -> Iterator[Event]:
    shape, dtype = reader.describe(node)
    made = f"by {reader.name(node)}"
    if shape is not None:
        made += f", {shape} {dtype}"
    place = reader.place(node)
    yield Event("created", made, place)
    if place is None and reader.library == "torch":
        yield Event("not visible", "its line: the program ran outside of graph.watch()")
    now = reader.state(node)
    rows = reader.saved(node)
    if rows:
        values = ", ".join(f"{row.name} {size(row.bytes)}" for row in rows)
        yield Event("saved", values, place)
    if now == "held" and reader.walked(node):
        yield Event("walked", "by a backward call that kept it (retain_graph=True)")
    call = reader.freed_by(node)
    if call is not None:
        text = f"by {call.kind} call {call.ordinal}; it had saved "
        yield Event("freed", text + (", ".join(names_released(node)) or "something"), call.place)
    elif now == "freed":
        yield Event("freed", "by a backward call; PyTorch does not keep which")
    words = reader.unseen(node)
    if words is not None:
        yield Event("not visible", words)


def _writes(tensor: Any) -> Iterator[Event]:
    if not isinstance(tensor, Tensor):
        if tensor._version:
            text = f"{counted(tensor._version, 'time')} in place; PyTorch does not keep where"
            yield Event("written", text)
        return
    cell = tensor._cell
    if cell is not None and cell.version and cell.counts:
        last = f", the last time by {cell.writer}" if cell.writer else ""
        site = place_at(CallSite(cell.code, cell.lasti))
        yield Event("written", f"{counted(cell.version, 'time')} in place{last}", site)
