"""`graph.recompute` and `graph.recomputable`: saved values that are computed again when needed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

from retrograd.diagnostics.render import display_path
from retrograd.engine.recompute_scope import recomputing
from retrograd.engine.recomputing import VIEW_OF_LEAF, Entry, survey
from retrograd.engine.views import edge_of
from retrograd.graph.wording import size
from retrograd.lifecycle.site import CallSite
from retrograd.tensor import Tensor


def recompute() -> AbstractContextManager[None]:
    """Around a forward pass: its saved arrays go as it runs, and backward computes them again.

    The graph made in the block holds leaves, inputs and a few values in between, from which a
    backward call computes the rest piece by piece: so forward and backward need far less memory at
    their peak. Gradients are those of a graph that keeps everything. Random numbers are drawn
    again from the generator's state; a leaf that was written in between is an error (RG102) that
    names the line. The model need not be changed.

    >>> from retrograd import graph
    >>> layer = torch.nn.Linear(64, 64)
    >>> x = torch.randn(32, 64)
    >>> with graph.recompute():
    ...     loss = layer(layer(x).tanh()).tanh().sum()
    >>> loss.backward()
    >>> layer.weight.grad.shape
    torch.Size([64, 64])
    """
    return recomputing()


class Row(NamedTuple):
    """One saved value: what saved it and where, its bytes, and whether it can be computed again."""

    op: str
    line: str
    nbytes: int
    cost: int  # about how many numbers its op reads and computes
    reason: str | None  # why it has to stay; None if it can be computed again


class Recomputable:
    """What a graph saved that it made itself; printed as a table. `rows` are its data."""

    def __init__(self, entries: list[Entry]) -> None:
        self.rows: list[Row] = []
        memory: set[int] = set()
        for entry in entries:
            if entry.memory not in memory and entry.reason != VIEW_OF_LEAF:
                memory.add(entry.memory)
                row = (entry.node.name(), _line(entry), entry.nbytes, entry.cost, entry.reason)
                self.rows.append(Row(*row))

    @property
    def nbytes(self) -> int:
        """The bytes that can be let go and computed again."""
        return sum([row.nbytes for row in self.rows if row.reason is None])

    def __str__(self) -> str:
        total = sum([row.nbytes for row in self.rows])
        lines = [f"{size(self.nbytes)} of {size(total)} can be computed again"]
        for row in sorted(self.rows, key=lambda row: -row.nbytes):
            told = "" if row.reason is None else f"  stays: {row.reason}"
            lines.append(f"{size(row.nbytes):>10}  {row.op}  {row.line}{told}")
        return "\n".join(lines)

    __repr__ = __str__


def _line(entry: Entry) -> str:
    site = CallSite(entry.node.code, entry.node.lasti)
    return "" if site.file is None else f"{display_path(site.file)}:{site.line}"


def recomputable(tensor: Tensor) -> Recomputable:
    """What ``retain_graph="recompute"`` could let go of behind a tensor, and what not, and why.

    >>> from retrograd import graph
    >>> x = torch.ones(1000, requires_grad=True)
    >>> y = (x * 2).exp().tanh()
    >>> found = graph.recomputable(y)
    >>> found.nbytes, [row.reason for row in found.rows]
    (8000, [None, None])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "graph.recomputable() looks at graphs of retrograd: a graph of PyTorch does not tell "
            f"how to call its ops again (got {type(tensor).__module__}.{type(tensor).__name__})"
        )
    node = edge_of(tensor)
    return Recomputable([] if node is None else survey([node]).entries)
