"""What a graph says of itself, in one form for retrograd's nodes and for PyTorch's.

Nothing here changes what it reads: no hook of the user's runs, no saved value is unpacked, no
reference stays behind. What a library does not tell is None or "unknown", never a guess.

>>> x = torch.ones(3, requires_grad=True)
>>> y = x.exp()
>>> reader = reader_of(y)
>>> node = reader.root(y)
>>> reader.name(node), reader.state(node), [(v.name, v.bytes) for v in reader.saved(node)]
('ExpBackward0', 'held', [('result', 12)])
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Protocol

from retrograd.backend import BACKENDS
from retrograd.backend.arrays import Array
from retrograd.diagnostics.report import Place
from retrograd.dtypes import from_numpy_dtype
from retrograd.engine.accumulate import AccumulateGrad
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.node import FREED, BackwardCall, dressed
from retrograd.engine.node import Node as OwnNode
from retrograd.engine.packing import SavedTensor
from retrograd.engine.saved_names import public_names
from retrograd.engine.slices import CopySlices
from retrograd.engine.views import edge_of
from retrograd.lifecycle.site import CallSite
from retrograd.tensor import Tensor
from retrograd.watching.engines import Engine
from retrograd.watching.graph import TWICE, saved_names
from retrograd.watching.lines import LEAF, Tracer, latest_tracer
from retrograd.watching.monitoring import make_tracer
from retrograd.watching.places import is_user_file

Node = Any
"""A node of either library; only its reader looks into it."""

HELD, FREED_STATE, NOTHING, LEAF_STATE, UNKNOWN = (
    *("held", "freed", "nothing saved", "leaf", "unknown"),
)


@dataclass(frozen=True, slots=True)
class Saved:
    """One value that a node keeps for backward."""

    name: str
    """`result`, `self`, `weight`; `ctx.mask` for an attribute of a custom Function's context."""
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    """Of the elements; a view of a larger memory may keep more."""
    storage: int
    """The same number for all views of one memory, as long as something keeps it."""
    storage_bytes: int
    owner: str
    """`graph`: made on the way to the loss; `leaf`: of a tensor that gets a gradient; `outside`: of
    a value without history, such as a batch of inputs; `hook`: what a pack hook has made of it."""


@dataclass(frozen=True, slots=True)
class Freeing:
    """The backward call that released what a node had saved."""

    kind: str  # "backward" or "grad"
    ordinal: int  # which call of the program, from 1
    place: Place | None


class Reader(Protocol):
    """Reads the graph of one library."""

    library: str
    tensor: type

    def is_node_class(self, kind: type) -> bool:
        """Whether objects of a class are nodes of this library."""

    def root(self, tensor: Any) -> Node | None:
        """The node behind a tensor: its `grad_fn`, or where a leaf's gradient arrives."""

    def edges(self, node: Node) -> list[tuple[Node, int]]:
        """The nodes of the inputs that get a gradient, each with the number of its output."""

    def number(self, node: Node) -> int:
        """Nodes made later have larger numbers; those of leaves are `LEAF` or more."""

    def name(self, node: Node) -> str:
        """Such as `MulBackward0`."""

    def describe(self, node: Node) -> tuple[tuple[int, ...] | None, str | None]:
        """Shape and dtype of the value that the node belongs to; None where it is not known."""

    def state(self, node: Node) -> str:
        """`held`, `freed`, `nothing saved`, `leaf`, or `unknown`."""

    def walked(self, node: Node) -> bool | None:
        """Whether a backward call has gone through; None where the library does not tell."""

    def saved(self, node: Node) -> list[Saved]:
        """What the node holds now."""

    def kept(self, node: Node) -> list[Any]:
        """The saved tensors themselves, without what is on a ctx; the caller must not keep them."""

    def place(self, node: Node) -> Place | None:
        """The line of the user's program that made the node."""

    def freed_by(self, node: Node) -> Freeing | None:
        """The call that released what it had saved; None also where that is not known."""

    def leaf(self, node: Node) -> Any:
        """The tensor whose `.grad` the node fills; None for the others."""

    def unseen(self, node: Node) -> str | None:
        """What cannot be seen of this node, in words."""


def _is_own(kind: type) -> bool:
    """Whether objects of a class are retrograd's nodes, or what a user sees of them."""
    return issubclass(kind, OwnNode) or hasattr(kind, "_function_node")


def plain(node: Any) -> Any:
    """The node behind what a user sees of it: the `ctx` of a custom Function stands for one."""
    return getattr(node, "_function_node", node)


class RetrogradReader:
    """retrograd's nodes, which know everything of themselves."""

    library = "retrograd"
    tensor: type = Tensor

    def is_node_class(self, kind: type) -> bool:
        return _is_own(kind)

    def root(self, tensor: Tensor) -> OwnNode | None:
        """The node that a consumer of the tensor would point at."""
        return edge_of(tensor)

    def edges(self, node: OwnNode) -> list[tuple[Node, int]]:
        node = plain(node)
        numbers = node.edge_numbers or (0,) * len(node.edges)
        pairs = zip(node.edges, numbers, strict=True)
        return [(following, number) for following, number in pairs if following is not None]

    def number(self, node: OwnNode) -> int:
        node = plain(node)
        return node._sequence_nr()

    def name(self, node: OwnNode) -> str:
        node = plain(node)
        return dressed(node).name().rpartition("::")[2]

    def describe(self, node: OwnNode) -> tuple[tuple[int, ...] | None, str | None]:
        node = plain(node)
        shape, dtype = node.shape, node.dtype
        if isinstance(shape, list):  # several outputs: the first
            shape, dtype = shape[0], dtype[0]
        if isinstance(node, AccumulateGrad):
            dtype = node.variable._array.dtype
        known = dtype is not None and hasattr(dtype, "itemsize")
        return (
            None if shape is None else tuple(shape),
            str(from_numpy_dtype(dtype)).removeprefix("torch.") if known else None,
        )

    def state(self, node: OwnNode) -> str:
        node = dressed(plain(node))
        if isinstance(node, AccumulateGrad):
            return LEAF_STATE
        if isinstance(node, CopySlices):
            return FREED_STATE if node.inner is None else self.state(node.inner)
        if isinstance(node, FunctionNode) and node.freed is not None:
            return FREED_STATE  # whatever the user has put on its ctx
        if any(True for _ in _own_values(node)):
            return HELD
        gone = any(value is FREED or _is_released(value) for value in node.saved)
        return FREED_STATE if gone else NOTHING

    def walked(self, node: OwnNode) -> bool | None:
        node = plain(node)
        if node.freed is not None or hasattr(node, "_reached_code"):
            return True
        # a root is not reached from anywhere: what follows it was reached from its line
        return any(
            hasattr(following, "_reached_code")
            and following.reached_code is node.code
            and following.reached_lasti == node.lasti
            for following, _ in self.edges(node)
        )

    def saved(self, node: OwnNode) -> list[Saved]:
        node = plain(node)
        return [_own_row(name, value, produced) for name, value, produced in _own_values(node)]

    def kept(self, node: OwnNode) -> list[Any]:
        values = [value for name, value, _ in _own_values(node) if not name.startswith("ctx.")]
        unpacked = [v._value if isinstance(v, SavedTensor) else v for v in values]
        return [value for value in unpacked if isinstance(value, Tensor)]

    def place(self, node: OwnNode) -> Place | None:
        node = plain(node)
        return _place_in(node.code, node.lasti)

    def freed_by(self, node: OwnNode) -> Freeing | None:
        node = plain(node)
        call = node.freed
        if call is None or self.state(node) != FREED_STATE:
            return None
        return Freeing(call.kind, call.ordinal, call_place(call))

    def leaf(self, node: OwnNode) -> Tensor | None:
        node = dressed(plain(node))
        return node.variable if isinstance(node, AccumulateGrad) else None

    def unseen(self, node: OwnNode) -> str | None:
        return None


def names_released(node: OwnNode) -> list[str]:
    """What an op's node had saved before it was released."""
    op = dressed(node).op
    saves = {} if op is None else public_names(op)
    return [name for name, save in saves.items() if node.saved[save.start] is FREED]


def call_place(call: BackwardCall) -> Place | None:
    """The line of a backward call."""
    return place_at(CallSite(call.code, call.lasti))


@lru_cache(maxsize=2048)
def _place_in(code: CodeType | None, instruction: int) -> Place | None:
    return place_at(CallSite(code, instruction))


def place_at(site: CallSite) -> Place | None:
    """A recorded site as a line."""
    place = site.place
    if place is None:
        return None
    return Place(place.file, place.line, place.function)


def _own_values(node: OwnNode) -> Iterator[tuple[str, Any, bool]]:
    """Name and value of everything that a node keeps, and whether it is the node's own output."""
    node = dressed(node)
    if isinstance(node, CopySlices):
        if node.inner is not None:
            yield from _own_values(node.inner)
    elif isinstance(node, FunctionNode):
        for number, value in enumerate(node.saved):
            yield from _held(f"saved_tensors[{number}]", value, value.is_output)
        for name, value in node.attributes.items():
            yield from _held(f"ctx.{name}", value, False)
    elif node.op is not None and not isinstance(node, AccumulateGrad):
        for name, save in public_names(node.op).items():
            if save.start < len(node.saved):
                yield from _held(name, node.saved[save.start], save.kind == "output")


def _held(name: str, value: Any, produced: bool) -> Iterator[tuple[str, Any, bool]]:
    if isinstance(value, SavedTensor):
        if value._hooks is not None or value._value is not None:
            yield name, value, produced or value.is_output
    elif isinstance(value, Tensor) or type(value) in BACKENDS:
        yield name, value, produced
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _held(f"{name}[{number}]", item, produced)


def _is_released(value: object) -> bool:
    return isinstance(value, SavedTensor) and value._released


def _own_row(name: str, value: Any, produced: bool) -> Saved:
    if isinstance(value, SavedTensor):
        if value._hooks is not None:
            return _packed_row(name, value._packed)
        value = value._value
    owner = "graph"
    if isinstance(value, Tensor):
        origin = value if value._view is None else value._view.base  # `w.t()` lies in w's memory
        if origin._grad_fn is None and not produced:
            owner = "leaf" if origin.requires_grad else "outside"
        value = value._array
    base = memory_of(value)
    whole = max(int(base.nbytes), int(value.nbytes) if 0 not in value.strides else 0)
    dtype = str(from_numpy_dtype(value.dtype)).removeprefix("torch.")
    return Saved(name, tuple(value.shape), dtype, int(value.nbytes), id(base), whole, owner)


def memory_of(array: Array) -> Array:
    """The array that owns the memory of another, itself where it is no view."""
    while type(array.base) is type(array):
        array = array.base
    return array


def _packed_row(name: str, packed: Any) -> Saved:
    """What a pack hook returned: a tensor, or anything else, of which only the type is known."""
    if hasattr(packed, "untyped_storage"):
        size = int(packed.numel() * packed.element_size())
        storage = packed.untyped_storage()
        dtype = str(packed.dtype).removeprefix("torch.")
        return Saved(
            *(name, tuple(packed.shape), dtype, size),
            *(int(storage.data_ptr()), int(storage.nbytes()), "hook"),
        )
    size = int(getattr(packed, "nbytes", 0) or 0)
    return Saved(name, (), type(packed).__name__, size, id(packed), size, "hook")


class TorchReader:
    """Nodes of real PyTorch: slots are read raw, each object dropped at once.

    Lines are those of the line log, if one was kept when the node was made (`graph.watch`,
    `retrograd view`, the doctor).
    """

    library = "torch"

    def __init__(self, torch: Any, tracer: Tracer | None = None) -> None:
        self.torch = torch
        self.tensor: type = torch.Tensor
        self._tracer = tracer

    def is_node_class(self, kind: type) -> bool:
        return hasattr(kind, "next_functions") and not _is_own(kind)

    def root(self, tensor: Any) -> Node | None:
        if not tensor.requires_grad:
            return None
        if tensor.grad_fn is not None:
            return tensor.grad_fn
        # the accumulator exists while a graph holds it; asking makes one
        return self.torch.autograd.graph.get_gradient_edge(tensor).node

    def edges(self, node: Node) -> list[tuple[Node, int]]:
        return [(following, number) for following, number in node.next_functions if following]

    def number(self, node: Node) -> int:
        return int(node._sequence_nr())

    def name(self, node: Node) -> str:
        return str(node.name()).rpartition("::")[2]

    def describe(self, node: Node) -> tuple[tuple[int, ...] | None, str | None]:
        try:
            first = node._input_metadata[0]
        except (AttributeError, IndexError, RuntimeError):
            return None, None
        return tuple(first.shape), str(first.dtype).removeprefix("torch.")

    def state(self, node: Node) -> str:
        if self.leaf(node) is not None:
            return LEAF_STATE
        names = saved_names(node)
        if not names:
            return UNKNOWN if self.unseen(node) else NOTHING
        for name in names:
            for slot in self._slots(node, name):
                if slot.data is not None or slot.unpack_hook is not None:
                    return HELD
        for name in names:
            try:  # every slot is empty: reading unpacks nothing, and tells whether it was freed
                getattr(node, "saved_tensors" if name == "saved_tensors" else f"_{name}")
            except RuntimeError as error:
                return FREED_STATE if TWICE in str(error) else UNKNOWN
            except AttributeError:
                continue
        return NOTHING

    def walked(self, node: Node) -> bool | None:
        return True if self.state(node) == FREED_STATE else None

    def saved(self, node: Node) -> list[Saved]:
        found = []
        for name in saved_names(node):
            slots = self._slots(node, name)
            for number, slot in enumerate(slots):
                value, hooked = slot.data, slot.unpack_hook is not None
                shown = name.removeprefix("saved_") if name != "saved_tensors" else name
                if len(slots) > 1 or name == "saved_tensors":
                    shown = f"{shown}[{number}]"
                if hooked:
                    found.append(_packed_row(shown, value))
                elif isinstance(value, self.tensor):
                    found.append(self._row(shown, value))
        for name, value in vars(node).items() if hasattr(node, "__dict__") else ():
            if isinstance(value, self.tensor):
                found.append(self._row(f"ctx.{name}", value))
        return found

    def kept(self, node: Node) -> list[Any]:
        values = [slot.data for name in saved_names(node) for slot in self._slots(node, name)]
        return [value for value in values if isinstance(value, self.tensor)]

    def _row(self, name: str, value: Any) -> Saved:
        storage = value.untyped_storage()
        owner = "graph"
        origin = value if value._base is None else value._base  # `w.t()` lies in w's memory
        # a saved output comes back without history, as a value of its own
        if origin.grad_fn is None and not (name.startswith("result") or name in _OUTPUTS):
            owner = "leaf" if origin.requires_grad else "outside"
        return Saved(
            *(name, tuple(value.shape), str(value.dtype).removeprefix("torch.")),
            *(int(value.numel() * value.element_size()), int(storage.data_ptr())),
            *(int(storage.nbytes()), owner),
        )

    def _slots(self, node: Node, name: str) -> Sequence[Any]:
        try:
            raw = getattr(node, f"_raw_{name}")
        except RuntimeError:  # freed
            return ()
        return tuple(raw) if isinstance(raw, (tuple, list)) else (raw,)

    def place(self, node: Node) -> Place | None:
        stack = self.stack(node)
        return stack[-1] if stack else None

    def stack(self, node: Node) -> list[Place]:
        """The user's lines that made a node, outermost first, as far as a line log knows."""
        tracer = self._tracer or latest_tracer()
        number = self.number(node)
        if tracer is None or number >= LEAF:
            return []
        return [place for _, place in tracer.log.stack_of(number)]

    def freed_by(self, node: Node) -> Freeing | None:
        return None

    def leaf(self, node: Node) -> Any:
        return getattr(node, "variable", None)

    def unseen(self, node: Node) -> str | None:
        if self.name(node) == "CopySlices":
            return "PyTorch does not show what the node of a write into a view has saved"
        return None


# Slots of PyTorch's nodes, besides `result...`, that hold what the op itself made.
_OUTPUTS = frozenset(
    """
    output out indices log_probs logsumexp log_sumexp rng_state philox_seed philox_offset reserve
    save_mean save_invstd save_var mean rstd workspace total_weight buffer noise mask1 values
    eigenvalues eigenvectors U S Vh L V Q R LU pivots inverse solution
    """.split()
)


def reader_of(value: object, tracer: Tracer | None = None) -> Reader:
    """The reader for a tensor or a node, by the library that it belongs to.

    `tracer` is the line log that knows the lines of PyTorch's nodes; else the latest one is asked.
    """
    if isinstance(value, (Tensor, OwnNode)) or hasattr(value, "_function_node"):
        return RetrogradReader()
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch, "__name__", "") == "torch":
        if isinstance(value, torch.Tensor) or hasattr(value, "next_functions"):
            return TorchReader(torch, tracer)
    raise TypeError(
        "expected a tensor or a grad_fn of retrograd or PyTorch, got "
        f"{type(value).__module__}.{type(value).__qualname__}"
    )


def reader_with_lines(
    engine: Engine, frame: FrameType | None
) -> tuple[Reader, Callable[[], None] | None]:
    """The reader of a library whose nodes' lines are known from now on, and what ends that.

    retrograd's nodes know their lines; for PyTorch's a log is kept. The functions from `frame`
    outwards run already.
    """
    if engine.name == "retrograd":
        return RetrogradReader(), None
    tracer = make_tracer(engine.counter, is_user_file)
    tracer.start(frame)
    return TorchReader(engine.torch, tracer), tracer.stop


def node_of(reader: Reader, value: object) -> Node | None:
    """The node of a tensor, or the node that was given."""
    if isinstance(value, reader.tensor):
        return reader.root(value)
    return plain(value)


def leading_to(reader: Reader, nodes: Sequence[Node], targets: Iterable[Node]) -> set[Node]:
    """The targets, and those of the nodes (as `behind` orders them) that lead to one."""
    found = set(targets)
    for node in reversed(nodes):  # what a node leads to comes first
        if any(following in found for following, _ in reader.edges(node)):
            found.add(node)
    return found


def behind(reader: Reader, roots: Iterable[Node | None]) -> list[Node]:
    """All nodes that can be reached from the roots, each after every node that leads to it."""
    order: list[Node] = []
    seen: set[Node] = set()
    for root in roots:
        if root is None or root in seen:
            continue
        seen.add(root)
        waiting: list[tuple[Node, Iterator[tuple[Node, int]]]] = [(root, iter(reader.edges(root)))]
        while waiting:
            node, edges = waiting[-1]
            for following, _ in edges:
                if following not in seen:
                    seen.add(following)
                    waiting.append((following, iter(reader.edges(following))))
                    break
            else:
                order.append(node)
                waiting.pop()
    order.reverse()
    return order
