"""Graph nodes: what an op leaves behind so that its gradient can be computed.

A node points at the nodes of its inputs (`edges`), never at its outputs, so a graph has no
reference cycle and goes when its last user goes. Op nodes are subclasses made by `calling.compile`,
which also writes their `run_raw` (arrays in and out) and `run_recorded` (Tensors in and out).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence, Set
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias

from retrograd import dtypes
from retrograd.engine.anomaly_stack import ForwardRecord
from retrograd.engine.growth import DUE, due
from retrograd.engine.hooks import HookTable, RemovableHandle
from retrograd.engine.state import ANOMALY, Cut, next_sequence
from retrograd.tensor import Array, Tensor, TensorHooks
from retrograd.tensor.size import CPU, Size

if TYPE_CHECKING:
    from retrograd.engine.accumulate import HooksDone
    from retrograd.ops.registry import Op

    # A gradient under way, for one output of a node: an array of some device, or a Tensor under
    # `create_graph` and in transforms. None: nobody sent one. With several outputs it is a list.
    Part = Array | Tensor | None
    Gradient = Part | list[Part]
    # the edges that wait for something; an accumulator is told that its leaf's hooks have run
    Need: TypeAlias = "set[Node] | HooksDone | None"


class Freed:
    """What stands in a node's save list where a value was, after a backward call released it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<freed>"


FREED = Freed()


class BackwardCall:
    """One run of the engine: `backward()` or `grad()`. Freed nodes point at their call."""

    __slots__ = (
        "__weakref__",
        "callbacks",
        "code",
        "create_graph",
        "interrupted_by",
        "kept",
        "kind",
        "lasti",
        "need",
        "node",
        "nodes_run",
        "number",
        "ordinal",
        "recomputed",
        "restricted",
        "retain_graph",
        "root_nodes",
        "roots",
    )

    def __init__(
        self, kind: str, retain_graph: bool, create_graph: bool, code: CodeType | None, lasti: int
    ) -> None:
        self.kind = kind  # "backward" or "grad"
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.code = code
        self.lasti = lasti
        self.number = next_sequence()
        self.ordinal = _next_ordinal()
        if self.ordinal >= DUE.at:
            due(self.ordinal, create_graph)
        self.roots: tuple[int, ...] = ()  # sequence numbers: a call must not keep a graph alive
        self.root_nodes: tuple[Node, ...] = ()  # only while the call runs
        self.nodes_run = 0
        self.need: set[Node] | None = None
        self.restricted = False  # to the paths to some inputs, or inside a call that is
        self.node: Node | None = None  # the one that runs, where somebody may ask
        self.callbacks: list[Callable[[], object]] | None = None
        self.interrupted_by: str | None = None  # the type of the exception that ended the call
        # nodes that it does not free, for `retain_graph=[...]`; empty once the call is over
        self.kept: Set[Node] | None = None
        self.recomputed: Any = None  # values that were computed again for it; see `recomputing`

    def frees(self, node: Node) -> bool:
        """Whether the call releases what a node saved, once the node has run."""
        return not self.retain_graph and (self.kept is None or node not in self.kept)


ordinals = itertools.count(1)
_next_ordinal = ordinals.__next__


class NodeExtra:
    """The rarer facts of a node: hooks, user metadata, the node that a saved output belongs to."""

    __slots__ = ("forward", "metadata", "output_node", "post", "pre", "retains", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: list[tuple[int, TensorHooks]] | None = None
        self.retains: dict[int, Callable[[Tensor | None], None]] | None = None
        self.pre: HookTable | None = None
        self.post: HookTable | None = None
        self.metadata: dict[object, Any] | None = None
        self.output_node: weakref.ref[Node] | None = None
        self.forward: ForwardRecord | None = None  # kept in anomaly mode


class Node:
    """One step of the recorded computation; `tensor.grad_fn` is one.

    `shape` and `dtype` describe the output whose gradient the node receives; for a node with
    several outputs `shape` is a *list* of shapes and `dtype` a list of dtypes.

    Op nodes have `_saved_*` properties. There is no `__getattr__` here: a class that has one
    reads every attribute the slow way.

    The interpreter caches attribute places by type, so a walk over nodes of many types is slow.
    Op nodes and accumulators are therefore born as plain `Node` and get their own class, such as
    `MulBackward0`, when somebody looks at them: see `dressed`. Their behaviour is in `run`.
    """

    __slots__ = (
        "__weakref__",
        "_reached_code",
        "_reached_lasti",
        "buffer",
        "code",
        "cuts",
        "dtype",
        "edge_numbers",
        "edges",
        "extra",
        "freed",
        "lasti",
        "owned",
        "pending",
        "run",
        "saved",
        "sequence",
        "shape",
        "visit",
    )

    op: Op | None = None
    display_name: str | None = None
    hides_unwanted = True  # whether its hooks see None for gradients that nobody waits for

    run: Any  # run_raw of the node's own class; its attribute `form` is that class
    edges: tuple[Node | None, ...]
    edge_numbers: tuple[int, ...] | None  # None: every edge goes to output 0
    saved: tuple[Any, ...]
    sequence: int
    code: CodeType | None
    cuts: tuple[Cut, ...]  # where the paths to operands were cut; unset where none was
    lasti: int
    shape: Any
    dtype: Any
    extra: NodeExtra | None
    freed: BackwardCall | None  # the first call that released the saved values
    _reached_code: CodeType | None  # where the node that led that call here was made; unset before
    _reached_lasti: int
    # the engine's notes during a walk; see engine._walk_raw
    visit: int  # number of the call that they belong to
    pending: int  # edges that have not delivered yet
    buffer: Any  # the gradient so far
    owned: bool  # whether `buffer` is the engine's to write

    # ------------------------------------------------------------------ what the engine calls

    def run_raw(
        self, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Array | None]:
        """The gradients of the inputs, as arrays; `freeing` releases what was saved."""
        raise NotImplementedError(type(self).__name__)

    def run_recorded(
        self, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Tensor | None]:
        """The gradients of the inputs, as Tensors with a graph of their own."""
        raise NotImplementedError(type(self).__name__)

    def release(self, call: BackwardCall) -> None:
        """Let go of the saved values; remember the first call that did it."""
        if self.freed is None:
            self.freed = call

    # ------------------------------------------------------------------ facts for reports

    @property
    def reached_code(self) -> CodeType | None:
        """Code of the node through which the freeing call came here."""
        return getattr(self, "_reached_code", None)

    @property
    def reached_lasti(self) -> int:
        """Instruction of the node through which the freeing call came here."""
        return getattr(self, "_reached_lasti", 0)

    # ------------------------------------------------------------------ PyTorch's interface

    def name(self) -> str:
        """The node's name, such as ``MulBackward0``."""
        kind = type(dressed(self))
        return kind.display_name or kind.__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output."""
        numbers = self.edge_numbers or (0,) * len(self.edges)
        return tuple(
            (None, 0) if edge is None else (edge.shown(), number)
            for edge, number in zip(self.edges, numbers, strict=True)
        )

    @property
    def metadata(self) -> dict[object, Any]:
        """A dictionary that lives as long as the node, for anything.

        In anomaly mode it holds the forward stack (`traceback_`) and, for a node made in a backward
        pass, the node that ran then (`parent_`).
        """
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
            if extra.forward is not None:
                extra.metadata["traceback_"] = extra.forward.lines()
                if extra.forward.parent is not None:
                    extra.metadata["parent_"] = extra.forward.parent.shown()
        return extra.metadata

    @property
    def requires_grad(self) -> bool:
        """True: a node exists only where a gradient is wanted."""
        return True

    def shown(self) -> Any:
        """What a user sees of this node: itself, or the context of a custom Function."""
        return dressed(self)

    def _sequence_nr(self) -> int:
        return self.sequence

    def _set_sequence_nr(self, number: int) -> None:
        self.sequence = number

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        if isinstance(self.shape, list):
            facts = zip(self.shape, self.dtype, strict=True)
            return tuple(InputMetadata(s, d) for s, d in facts)[: self.carried()]
        return (InputMetadata(self.shape, self.dtype),)

    def carried(self) -> int:
        """How many gradients come in, as seen from outside: none for indices behind the values."""
        count = len(self.shape) if isinstance(self.shape, list) else 1
        op = dressed(self).op
        while op is not None and count - 1 in op.nondifferentiable:
            count -= 1
        return count

    def register_hook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node ran; it may replace the former."""
        extra, table = extra_of(self), HookTable()
        if extra.post is None:  # no call since: another thread gets the same table
            extra.post = table
        return extra.post.add(fn)

    def register_prehook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may replace grad_outputs."""
        extra, table = extra_of(self), HookTable()
        if extra.pre is None:
            extra.pre = table
        return extra.pre.add(fn)

    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Run the hooks that are, and will be, in the tensor's `_backward_hooks`."""
        extra = extra_of(self)
        if extra.tensor_pre is None:
            extra.tensor_pre = []
        if (hooks := tensor._backward_hooks) is not None:
            extra.tensor_pre.append((tensor._output_nr, hooks))

    def __call__(self, *gradients: Tensor | None) -> Tensor | tuple[Tensor | None, ...] | None:
        """Run this node alone: from the gradients of its outputs to those of its inputs."""
        several = isinstance(self.shape, list)
        wanted = self.carried()
        if len(gradients) != wanted:
            raise TypeError(f"expected {wanted} arguments, got {len(gradients)} instead")
        for index, gradient in enumerate(gradients):
            if gradient is not None and not isinstance(gradient, Tensor):
                raise TypeError(f"argument {index} is not a Variable")
        rest = [None] * (len(self.shape) - wanted) if several else []
        given: Gradient = [*gradients, *rest] if several else gradients[0]
        found = tuple(dressed(self).run_recorded(given, None, None))
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<{type(dressed(self)).__name__} object at {hex(id(self))}>"


def dressed(node: Node) -> Node:
    """The node in its own class; done at the first look, see `Node`."""
    if node.__class__ is Node:
        run = node.run
        node.__class__ = run.op.node_class if run.form is None else run.form
    return node


def plain_node(form: type[Node]) -> Node:
    """A new node of class `form`, not dressed yet."""
    node = Node()
    fill_node(node, form)
    return node


def fill_node(node: Node, form: type[Node]) -> None:
    """Give a blank node its fields. `Node` has no `__init__`: calling the class is then cheaper."""
    node.run = form.run_raw
    node.visit = 0
    node.edges = ()
    node.edge_numbers = None
    node.saved = ()
    node.sequence = next_sequence()
    node.code = None
    node.lasti = 0
    node.shape = ()
    node.dtype = None
    node.extra = None
    node.freed = None
    if ANOMALY.enabled:
        remember_forward(node)


def remember_forward(node: Node) -> None:
    """In anomaly mode: note the stack that makes the node."""
    extra = extra_of(node)
    if extra.forward is None:
        extra.forward = ForwardRecord()


class AnyDtype:
    """In place of an accumulator's dtype where its leaf's `grad_dtype` is None: nothing is cast.

    Only the imaginary part that some rules give to the gradient of a real value is cut off.
    """

    __slots__ = ("is_complex",)

    def __init__(self, is_complex: bool) -> None:
        self.is_complex = is_complex

    def takes(self, dtype: dtypes.ArrayDtype) -> bool:
        """Whether a gradient of a NumPy dtype stays as it is."""
        return self.is_complex or dtype not in dtypes.COMPLEX_TYPES


class InputMetadata:
    """Shape, dtype and device of a gradient that a node receives."""

    __slots__ = ("dtype", "shape")
    device = CPU
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: tuple[int, ...], dtype: dtypes.ArrayDtype) -> None:
        self.shape = Size(shape)
        self.dtype = dtypes.from_numpy_dtype(dtype)


def extra_of(node: Node) -> NodeExtra:
    """The node's rarer facts, made now if it had none."""
    extra = node.extra
    if extra is None:
        made = NodeExtra()
        extra = node.extra
        if extra is None:  # still: another thread may have run during the call
            extra = node.extra = made
    return extra


def forward_name(node: Node) -> str:
    """The op's forward name in PyTorch's messages: ``SumBackward1`` is ``Sum1``."""
    name = node.name()
    stem, found, number = name.rpartition("Backward")
    if not found or not (number.isdigit() or not number):
        return name  # `CopyBackwards` is no op's
    return stem + ("" if number == "0" else number)


class GraphRoot(Node):
    """Deals out the starting gradients of a backward call with several roots."""

    __slots__ = ("gradients",)

    def __init__(
        self, edges: tuple[Node, ...], numbers: tuple[int, ...], gradients: Sequence[object]
    ) -> None:
        fill_node(self, GraphRoot)
        self.edges = edges
        self.edge_numbers = numbers if any(numbers) else None
        self.gradients = gradients
        self.sequence = (1 << 61) + self.sequence

    def run_raw(
        self, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Any]:
        return self.gradients

    run_recorded = run_raw
