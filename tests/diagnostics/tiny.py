"""A graph without numbers: just enough of an engine to produce the facts that reports are made of.

Nodes and calls have the attributes of the real ones, so the reports can be tested without it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

from retrograd.lifecycle import why
from retrograd.lifecycle.site import mark_library_file, user_site

mark_library_file(__file__)

_COUNTER = itertools.count(1)
_ORDINALS = itertools.count(1)
_RECORDING = [True]


def restart() -> None:
    """Count from 1 again, so that every case has the same numbers."""
    global _COUNTER, _ORDINALS
    _COUNTER, _ORDINALS = itertools.count(1), itertools.count(1)
    _RECORDING[:] = [True]


class BackwardCall:
    def __init__(self, kind: str, retain_graph: bool, roots: tuple[Node, ...]) -> None:
        self.number = next(_COUNTER)
        self.ordinal = next(_ORDINALS)
        self.kind = kind
        self.retain_graph = retain_graph
        self.create_graph = False
        self.code, self.lasti = user_site()
        self.roots = tuple(root.sequence for root in roots)
        self.nodes_run = 0


class VersionCell:
    def __init__(self) -> None:
        self.version = 0
        self.writer: str | None = None
        self.code: CodeType | None = None
        self.lasti = 0

    def bump(self, writer: str) -> None:
        self.version += 1
        self.writer = writer
        self.code, self.lasti = user_site()


class Cut:
    def __init__(self, kind: str, operation: str) -> None:
        self.kind = kind
        self.operation = operation
        self.code, self.lasti = user_site()


class Node:
    def __init__(self, title: str, inputs: tuple[Tensor, ...], saves: dict[str, Tensor]) -> None:
        self.title = title
        self.edges = tuple(tensor.node for tensor in inputs)
        self.sequence = next(_COUNTER)
        self.code, self.lasti = user_site()
        self.shape = (4, 4)
        self.dtype = "float32"
        self.freed: BackwardCall | None = None
        self.reached_code: CodeType | None = None
        self.reached_lasti = 0
        self.saved = {name: (t.cell, t.cell.version, t.node) for name, t in saves.items()}

    def name(self) -> str:
        return self.title


class Accumulator(Node):
    def __init__(self) -> None:
        super().__init__("torch::autograd::AccumulateGrad", (), {})
        self.sequence += 2**40
        self.code = None


class Tensor:
    def __init__(self, leaf: bool = False) -> None:
        self.leaf = leaf
        self.node: Node | None = Accumulator() if leaf else None
        self.cell = VersionCell()
        self.cut: Cut | None = None

    @property
    def requires_grad(self) -> bool:
        return self.node is not None

    def __matmul__(self, other: Tensor) -> Tensor:
        return _record("MmBackward0", self, other, self=self, mat2=other)

    def __mul__(self, other: Tensor) -> Tensor:
        return _record("MulBackward0", self, other, self=self, other=other)

    def __add__(self, other: Tensor) -> Tensor:
        return _record("AddBackward0", self, other)

    def sum(self) -> Tensor:
        return _record("SumBackward0", self)

    def tanh(self) -> Tensor:
        out = _record("TanhBackward0", self)
        if out.node is not None:
            out.node.saved["result"] = (out.cell, out.cell.version, out.node)
        return out

    def detach(self) -> Tensor:
        out = Tensor()
        out.cut = Cut("detach", "detach") if self.requires_grad else self.cut
        return out

    def add_(self, other: object) -> Tensor:
        if self.leaf and _RECORDING[0]:
            raise why.leaf_error("add_")
        self.cell.bump("add_")
        return self

    def backward(self, retain_graph: bool = False) -> None:
        _run("backward", self, retain_graph)


def _record(name: str, *inputs: Tensor, **saves: Tensor) -> Tensor:
    out = Tensor()
    if not any(tensor.requires_grad for tensor in inputs):
        out.cut = next((tensor.cut for tensor in inputs if tensor.cut), None)
    elif _RECORDING[0]:
        out.node = Node(name, inputs, saves)
    else:
        out.cut = Cut("no_grad", name.removesuffix("Backward0").lower())
    return out


def _run(kind: str, root: Tensor, retain_graph: bool) -> None:
    node = root.node
    call = BackwardCall(kind, retain_graph, () if node is None else (node,))
    if node is None:
        raise why.no_grad_error(0, root.cut, call)
    consumers: dict[Node, Node | None] = {node: None}
    ready = [(-node.sequence, node)]
    while ready:
        _, current = heapq.heappop(ready)
        consumer = consumers[current]
        if current.saved and current.freed is not None:
            raise why.freed_error(current, consumer, call, (node,))
        for name, (cell, version, maker) in current.saved.items():
            if cell.version != version:
                producer = ""
                if maker is not None and not isinstance(maker, Accumulator):
                    producer = f", which is output 0 of {maker.name().removesuffix('Backward0')},"
                raise why.modified_error(
                    current, name, (4, 4), "torch.FloatTensor", producer, version, cell, call,
                    (node,),
                )  # fmt: skip
        call.nodes_run += 1
        if not retain_graph and current.freed is None:
            current.freed = call
            if consumer is not None:
                current.reached_code, current.reached_lasti = consumer.code, consumer.lasti
        for edge in current.edges:
            if edge is not None and edge not in consumers:
                consumers[edge] = current
                heapq.heappush(ready, (-edge.sequence, edge))


# --- what the cases use ---------------------------------------------------------------------------


def ones(*sizes: object, requires_grad: bool = False) -> Tensor:
    return Tensor(leaf=requires_grad)


def tanh(x: Tensor) -> Tensor:
    return x.tanh()


@contextmanager
def no_grad() -> Iterator[None]:
    before, _RECORDING[0] = _RECORDING[0], False
    try:
        yield
    finally:
        _RECORDING[0] = before


class autograd:
    @staticmethod
    def grad(output: Tensor, inputs: Tensor, retain_graph: bool = False) -> Tensor:
        _run("grad", output, retain_graph)
        return Tensor()


class SGD:
    def __init__(self, parameters: list[Tensor], lr: float) -> None:
        self.parameters = parameters

    def step(self) -> None:
        for parameter in self.parameters:
            parameter.cell.bump("SGD.step")


class optim:
    SGD = SGD
