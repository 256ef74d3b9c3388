"""Graph nodes: what an op leaves behind so that its gradient can be computed.

A node points at the nodes of its inputs (`edges`), never at its outputs, so a graph has no
reference cycle and goes when its last user goes. Op nodes are subclasses made by `ops.compile`,
which also writes their `run_raw` (arrays in and out) and `run_recorded` (Tensors in and out).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.hooks import HookTable, RemovableHandle, check_hook
from retrograd.autograd.state import IN_HOOK, STATE, next_sequence, set_grad_mode
from retrograd.backend.kernels import iadd
from retrograd.notices import explained
from retrograd.size import CPU, Size
from retrograd.tensor import Array, Tensor, cell_of, meta_of, wrap

if TYPE_CHECKING:
    from retrograd.ops.registry import Op


class Freed:
    """What stands in a node's save list where a value was, after a backward call released it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<freed>"


FREED = Freed()


class BackwardCall:
    """One run of the engine: `backward()` or `grad()`. Freed nodes point at the call that did so."""

    __slots__ = (
        "callbacks",
        "code",
        "create_graph",
        "kind",
        "lasti",
        "need",
        "nodes_run",
        "number",
        "ordinal",
        "retain_graph",
        "root_nodes",
        "roots",
    )

    def __init__(
        self, kind: str, retain_graph: bool, create_graph: bool, code: Any, lasti: int
    ) -> None:
        self.kind = kind  # "backward" or "grad"
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.code = code
        self.lasti = lasti
        self.number = next_sequence()
        self.ordinal = _next_ordinal()
        self.roots: tuple[int, ...] = ()  # sequence numbers: a call must not keep a graph alive
        self.root_nodes: tuple[Node, ...] = ()  # only while the call runs
        self.nodes_run = 0
        self.need: Any = None
        self.callbacks: list[Callable[[], None]] | None = None


class _Ordinals:
    lock = threading.Lock()
    last = 0


def _next_ordinal() -> int:
    with _Ordinals.lock:
        _Ordinals.last += 1
        return _Ordinals.last


class NodeExtra:
    """The rarer facts of a node: hooks, user metadata, the node that a saved output belongs to."""

    __slots__ = ("metadata", "output_node", "post", "pre", "retains", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: list[tuple[int, HookTable]] | None = None
        self.retains: dict[int, Callable[[Any], None]] | None = None
        self.pre: HookTable | None = None
        self.post: HookTable | None = None
        self.metadata: dict[Any, Any] | None = None
        self.output_node: weakref.ref[Node] | None = None


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

    run: Any  # run_raw of the node's own class; its attribute `form` is that class
    edges: tuple[Node | None, ...]
    edge_numbers: tuple[int, ...] | None  # None: every edge goes to output 0
    saved: tuple[Any, ...]
    sequence: int
    code: Any
    lasti: int
    shape: Any
    dtype: Any
    extra: NodeExtra | None
    freed: BackwardCall | None  # the first call that released the saved values
    _reached_code: Any  # where the node that led that call here was made; unset before
    _reached_lasti: int
    # the engine's notes during a walk; see engine._walk_raw
    visit: int  # number of the call that they belong to
    pending: int  # edges that have not delivered yet
    buffer: Any  # the gradient so far
    owned: bool  # whether `buffer` is the engine's to write

    # ------------------------------------------------------------------ what the engine calls

    def run_raw(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> Any:
        """The gradients of the inputs, as arrays; `freeing` releases what was saved."""
        raise NotImplementedError(type(self).__name__)

    def run_recorded(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> Any:
        """The gradients of the inputs, as Tensors with a graph of their own."""
        raise NotImplementedError(type(self).__name__)

    def release(self, call: BackwardCall) -> None:
        """Let go of the saved values; remember the first call that did it."""
        if self.freed is None:
            self.freed = call

    # ------------------------------------------------------------------ facts for reports

    @property
    def reached_code(self) -> Any:
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
            (None, 0) if edge is None else (dressed(edge), number)
            for edge, number in zip(self.edges, numbers, strict=True)
        )

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary that lives as long as the node, for anything."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    @property
    def requires_grad(self) -> bool:
        """True: a node exists only where a gradient is wanted."""
        return True

    def _sequence_nr(self) -> int:
        return self.sequence

    def _set_sequence_nr(self, number: int) -> None:
        self.sequence = number

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        if isinstance(self.shape, list):
            return [InputMetadata(s, d) for s, d in zip(self.shape, self.dtype, strict=True)]
        return [InputMetadata(self.shape, self.dtype)]

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node ran; it may replace the former."""
        extra = extra_of(self)
        if extra.post is None:
            extra.post = HookTable()
        return extra.post.add(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may replace grad_outputs."""
        extra = extra_of(self)
        if extra.pre is None:
            extra.pre = HookTable()
        return extra.pre.add(fn)

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


class InputMetadata:
    """Shape, dtype and device of a gradient that a node receives."""

    __slots__ = ("dtype", "shape")
    device = CPU
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = Size(shape)
        self.dtype = dtypes.from_numpy_dtype(dtype)


def is_accumulator(node: Node) -> bool:
    """Whether the node is a leaf's accumulator, dressed or not."""
    return node.run is AccumulateGrad.run_raw


def extra_of(node: Node) -> NodeExtra:
    """The node's rarer facts, made now if it had none."""
    extra = node.extra
    if extra is None:
        extra = node.extra = NodeExtra()
    return extra


def forward_name(node: Node) -> str:
    """The op's forward name in PyTorch's messages: ``SumBackward1`` is ``Sum1``."""
    name = node.name()
    stem, found, number = name.rpartition("Backward")
    if not found:
        return name
    return stem + ("" if number == "0" else number)


# --------------------------------------------------------------------------------- leaves


class AccumulateGrad(Node):
    """The end of the graph: adds what arrives to the leaf's `.grad`. Made by `accumulator`."""

    __slots__ = ()
    display_name = "torch::autograd::AccumulateGrad"

    # Accumulators run as soon as they are complete: newer than any op node.
    SEQUENCE = 1 << 62

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        found: Tensor = self.saved[0]
        return found

    def _sequence_nr(self) -> int:
        return (1 << 64) - 1

    def run_raw(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> tuple[()]:
        # hooks run even if the leaf stopped requiring a gradient since
        variable: Tensor = self.saved[0]
        meta = meta_of(variable)
        if meta.hooks:
            boxed = [None if gradient is None else wrap(gradient)]
            gradient = None
            with_grad_mode(False, lambda: call_tensor_hooks(self, boxed))
            gradient = None if boxed[0] is None else boxed.pop()._array  # type: ignore[union-attr]
        if gradient is not None and variable._requires_grad:
            if ACTIVE.calls > 1:
                with ACTIVE.lock:
                    if meta.grad is None:
                        meta.grad = wrap(copy_in_layout(gradient, variable._array))
                    else:
                        add_into(meta.grad, gradient)
            elif meta.grad is None:
                # adopt the array if nobody else holds it; references: this frame's, the
                # engine's, and getrefcount's own argument
                alone = getrefcount(gradient) <= ALONE and gradient.base is None
                if not alone or gradient.strides != variable._array.strides:
                    gradient = copy_in_layout(gradient, variable._array)
                meta.grad = wrap(gradient)
            else:
                add_into(meta.grad, gradient)
        if meta.post_accumulate_hooks:
            with_grad_mode(False, lambda: run_post_accumulate_hooks(variable))
        return ()

    def run_recorded(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> tuple[()]:
        variable = self.variable
        meta = meta_of(variable)
        if meta.hooks:
            boxed = [gradient]
            call_tensor_hooks(self, boxed)
            gradient = boxed[0]
        if gradient is not None and variable._requires_grad:
            with ACTIVE.lock:
                held = meta.grad
                if held is not None:
                    meta.grad = held + gradient
                elif gradient.requires_grad:
                    meta.grad = gradient.clone()
                else:
                    meta.grad = wrap(copy_in_layout(gradient._array, variable._array))
        if meta.post_accumulate_hooks:
            run_post_accumulate_hooks(variable)
        return ()


AccumulateGrad.run_raw.form = AccumulateGrad  # type: ignore[attr-defined]
_accumulate = AccumulateGrad.run_raw
_ACCUMULATOR_SEQUENCE = AccumulateGrad.SEQUENCE


class _Active:
    """How many backward calls run now: one alone may use the nodes' own slots, without locks."""

    def __init__(self) -> None:
        self.calls = 0
        self.lock = threading.RLock()  # for `.grad`; re-entrant, since ops run while it is held
        counting = threading.Lock()
        self._acquire, self._release = counting.acquire, counting.release

    def enter(self) -> bool:
        """Count a call that starts; True if it is alone."""
        self._acquire()
        self.calls += 1
        alone = self.calls == 1
        self._release()
        return alone

    def leave(self) -> None:
        """Count a call that ended."""
        self._acquire()
        self.calls -= 1
        self._release()


ACTIVE = _Active()
ALONE = 3


def copy_in_layout(gradient: Array, like: Array) -> Array:
    """A copy laid out in memory as the leaf is, if the leaf is dense; else row by row."""
    if like.flags.c_contiguous or not (like.flags.f_contiguous or like.ndim > 2):
        return np.array(gradient, order="C")
    copy = np.empty_like(like, dtype=gradient.dtype)
    copy[...] = gradient
    return copy


def copy_with_strides(source: Array, strides: tuple[int, ...]) -> Array:
    """A copy laid out with the given strides, gaps included; with overlaps it is laid out plainly."""
    copy = np.array(source)
    if copy.strides == strides or 0 in strides or not copy.size:
        return copy
    unit = copy.itemsize
    extent = 1 + sum((n - 1) * s for n, s in zip(copy.shape, strides, strict=True)) // unit
    laid = np.lib.stride_tricks.as_strided(np.empty(extent, copy.dtype), copy.shape, strides)
    laid[...] = copy
    return laid


def add_into(held: Tensor, gradient: Array) -> None:
    """Add an array into an existing `.grad`, in place: its identity is kept, its version grows."""
    target = held._array
    if target.dtype is gradient.dtype:
        iadd(target, gradient)
    else:
        np.add(target, gradient, out=target, casting="unsafe")
    cell = cell_of(held)
    cell.version += 1
    cell.writer, cell.code = "accumulation into .grad", None


def run_post_accumulate_hooks(variable: Tensor) -> None:
    """Hooks of `register_post_accumulate_grad_hook`, after the leaf's gradient was updated."""
    for hook in list(meta_of(variable).post_accumulate_hooks.values()):
        result = hook(variable)
        if result is not None and not isinstance(result, Tensor):
            raise explained(
                TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            )


def accumulator(tensor: Tensor) -> Node:
    """The leaf's AccumulateGrad, made anew when no graph holds one."""
    meta = tensor._meta
    if meta is None:
        meta = meta_of(tensor)
    reference = meta.accumulator
    if reference is not None:
        node = reference()
        if node is not None:
            return node
    # written out: a leaf whose graphs are short-lived gets a new one for every op
    made = Node()
    made.run = _accumulate
    made.saved = (tensor,)
    made.sequence = _ACCUMULATOR_SEQUENCE
    made.shape = tensor._array.shape
    made.dtype = tensor._array.dtype
    made.edges = ()
    made.edge_numbers = made.code = made.extra = made.freed = None
    made.visit = made.lasti = 0
    meta.accumulator = weakref.ref(made)
    return made


# ----------------------------------------------------------------------- writes through views


class CopySlices(Node):
    """The history of a base one of whose views was written.

    Holds the in-place op's own node and the way from the base to the written region. The first
    edge is the base's history before the write, the others are the op's other inputs.
    """

    __slots__ = ("chain", "inner", "strides")
    display_name = "torch::autograd::CopySlices"

    def __init__(self, inner: Node, chain: Any, strides: tuple[int, ...]) -> None:
        fill_node(self, CopySlices)
        self.inner: Node | None = inner
        self.chain = chain
        self.strides = strides  # of the base: whether a `view` fits depends on them

    def _inner_or_raise(self) -> Node:
        if self.inner is None:
            from retrograd.autograd.saved import freed_failure

            raise freed_failure(self)
        return self.inner

    def run_raw(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> Any:
        inner = self._inner_or_raise()
        count = len(self.edges)
        if gradient is None:
            return (None,) * count
        result = copy_with_strides(gradient, self.strides)  # ours to write
        region = result
        for step in self.chain:
            region = step.raw(region)
        parts = list(inner.run(inner, region.copy(), None, None))
        if self.edges[0] is not None:
            region[...] = 0 if parts[0] is None else parts[0]
        if freeing is not None:
            self.release(freeing)
        return (result if self.edges[0] is not None else None, *parts[1:count])

    def run_recorded(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> Any:
        inner = self._inner_or_raise()
        count = len(self.edges)
        if gradient is None:
            return (None,) * count
        from retrograd.ops.registry import RECORDED

        result = RECORDED._clone_with_strides(gradient, self.strides)
        region = result
        for step in self.chain:
            region = step.recorded(region)
        parts = dressed(inner).run_recorded(region.clone(), None, None)
        if self.edges[0] is not None:
            if parts[0] is None:
                region.zero_()
            else:
                region.copy_(parts[0])
        if freeing is not None:
            self.release(freeing)
        return (result if self.edges[0] is not None else None, *parts[1:count])

    def release(self, call: BackwardCall) -> None:
        if self.inner is not None:
            dressed(self.inner).release(call)
        self.inner = None
        Node.release(self, call)


class GraphRoot(Node):
    """Deals out the starting gradients of a backward call with several roots."""

    __slots__ = ("gradients",)

    def __init__(self, edges: Any, numbers: tuple[int, ...], gradients: Any) -> None:
        fill_node(self, GraphRoot)
        self.edges = edges
        self.edge_numbers = numbers if any(numbers) else None
        self.gradients = gradients
        self.sequence = (1 << 61) + self.sequence

    def run_raw(self, gradient: Any, need: Any, freeing: BackwardCall | None) -> Any:
        return self.gradients

    run_recorded = run_raw


# --------------------------------------------------------------------------------- hooks


def call_tensor_hooks(node: Node, gradients: list[Any]) -> None:
    """Run the tensor hooks and `retain_grad` of a node on Tensors, replacing entries in place."""
    tables: list[tuple[int, HookTable]] | None
    retains = None
    if is_accumulator(node):
        meta = node.saved[0]._meta
        tables = [(0, meta.hooks)] if meta is not None and meta.hooks else None
    else:
        extra = node.extra
        tables = None if extra is None else extra.tensor_pre
        retains = None if extra is None else extra.retains
    for number, table in tables or ():
        for hook in list(table.values()):
            result = hook(gradients[number])
            if result is not None:
                check_hook(gradients[number], result, hook)
                gradients[number] = result
    for number, keep in list((retains or {}).items()):
        keep(gradients[number])


def with_grad_mode(enabled: bool, function: Callable[[], Any]) -> Any:
    """Run `function` under the given grad mode of this thread."""
    before, cut = STATE.grad_enabled, STATE.cut
    set_grad_mode(enabled, None if enabled else IN_HOOK)
    try:
        return function()
    finally:
        set_grad_mode(before, cut)
