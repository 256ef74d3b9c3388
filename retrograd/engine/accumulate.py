"""The leaves' end of the graph: adding what arrives to `.grad`, and the hooks that see it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeVar

from retrograd import dtypes
from retrograd.backend import apart, backend_of
from retrograd.engine import failures
from retrograd.engine.grad_mode import SWITCHES, check_counted
from retrograd.engine.hooks import check_hook
from retrograd.engine.inference import INFERENCE_CELL, mark_inference
from retrograd.engine.node import AnyDtype, BackwardCall, InputMetadata, Node
from retrograd.engine.ownership import ALONE, shows_memory_alone
from retrograd.engine.sparse_array import SPARSE, SPARSE_ARRAY, has_sparse
from retrograd.engine.sparse_gradients import accumulated_sparse, add_sparse_into, adopted
from retrograd.engine.state import (
    COUNTING,
    GIL,
    HOT,
    IN_HOOK,
    STATE,
    STRICT,
    TRANSFORMS,
    set_grad_mode,
)
from retrograd.notices import runtime_error
from retrograd.tensor import Array, Tensor, TensorHooks, cell_of, meta_of, wrap

if TYPE_CHECKING:
    from retrograd.engine.node import Need


_T = TypeVar("_T")


class HooksDone:
    """Given to an accumulator as `need` when its leaf's hooks have run: its own come after them.

    `owners` is how many more references to the array than usual are the engine's.
    """

    __slots__ = ("owners",)

    def __init__(self, owners: int) -> None:
        self.owners = owners


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

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return (InputMetadata(self.shape, self.variable._array.dtype),)

    def run_raw(self, gradient: Any, need: Need, freeing: BackwardCall | None) -> tuple[()]:
        # hooks run even if the leaf stopped requiring a gradient since
        variable: Tensor = self.saved[0]
        meta = meta_of(variable)
        known = ALONE
        if type(need) is HooksDone:
            known += need.owners
        elif meta.hooks:
            given = id(gradient)
            boxed = [None if gradient is None else wrap(gradient)]
            gradient = None
            with_grad_mode(False, lambda: call_tensor_hooks(self, boxed))
            gradient = None if boxed[0] is None else boxed.pop()._array  # type: ignore[union-attr]
            if id(gradient) != given:
                known -= 1  # the engine holds only what it gave
        if gradient is not None and variable._requires_grad:
            # a with block: an interrupt right after acquire() would leave the lock locked
            with GRAD_LOCK:
                if meta.grad is None:
                    # adopt the array if nobody else holds it; references: this frame's, the
                    # engine's, and getrefcount's own argument
                    alone = getrefcount(gradient) <= known and shows_memory_alone(gradient)
                    if not alone or (
                        gradient.strides != variable._array.strides and SWITCHES.grad_layout
                    ):
                        gradient = copy_in_layout(gradient, variable._array)
                    meta.grad = wrap(gradient)
                    if HOT["UNUSUAL"] and STATE.inference:
                        mark_inference(meta.grad)
                elif SPARSE.exist and has_sparse((gradient, meta.grad._array)):
                    add_sparse_into(meta, gradient)
                else:
                    add_into(meta.grad, gradient)
        if meta.post_accumulate_hooks:
            with_grad_mode(False, lambda: run_post_accumulate_hooks(variable))
        return ()

    def run_recorded(self, gradient: Any, need: Need, freeing: BackwardCall | None) -> tuple[()]:
        variable = self.variable
        meta = meta_of(variable)
        if meta.hooks and type(need) is not HooksDone:
            boxed = [gradient]
            call_tensor_hooks(self, boxed)
            gradient = boxed[0]
        if gradient is not None and variable._requires_grad:
            with GRAD_LOCK:
                meta.grad = _accumulated(variable, meta.grad, gradient)
        if meta.post_accumulate_hooks:
            run_post_accumulate_hooks(variable)
        return ()


def _accumulated(variable: Tensor, held: Tensor | None, gradient: Tensor) -> Tensor:
    """What `.grad` becomes when a gradient arrives as a Tensor.

    Under ``create_graph`` that is a new Tensor with history. Inside a function transform without
    it, an existing `.grad` is written in place, as with arrays. Copies are made by ops, so that
    batched gradients and tangents stay what they are.
    """
    from retrograd.engine.views import is_dense  # which imports this module

    if type(gradient._array) is SPARSE_ARRAY or (
        held is not None and type(held._array) is SPARSE_ARRAY
    ):
        return accumulated_sparse(held, gradient)
    if held is None:
        if TRANSFORMS.active or (gradient.requires_grad and not is_dense(variable._array)):
            return gradient.clone()
        if not gradient.requires_grad:
            return wrap(copy_in_layout(gradient._array, variable._array))
        xp = backend_of(variable._array).xp
        laid = wrap(xp.empty_like(variable._array, dtype=gradient._array.dtype))
        return laid.copy_(gradient)
    # a batched gradient does not fit into a tensor that all of the batch share
    if STATE.grad_enabled or gradient._level > held._level:
        return held + gradient
    return held.add_(gradient)


AccumulateGrad.run_raw.form = AccumulateGrad  # type: ignore[attr-defined]
_accumulate = AccumulateGrad.run_raw
_ACCUMULATOR_SEQUENCE = AccumulateGrad.SEQUENCE


class _Active:
    """How many backward calls run now: one alone may use the slots of the nodes."""

    calls = 0


ACTIVE = _Active()
# Reading, testing and writing `.grad` is one step. Re-entrant, since ops run while it is held.
GRAD_LOCK = threading.RLock()


def copy_in_layout(gradient: Array, like: Array) -> Array:
    """A copy laid out in memory as the leaf is, if the leaf is dense; else row by row."""
    if gradient.shape != like.shape:
        raise _mismatch(like, gradient)
    if type(gradient) is SPARSE_ARRAY:
        copy: Array = adopted(gradient)
        return copy
    if type(gradient) is not type(like):
        gradient = _on_device_of(like, gradient)
    xp = backend_of(gradient).xp
    if (
        type(like) is SPARSE_ARRAY
        or like.flags.c_contiguous
        or not (like.flags.f_contiguous or like.ndim > 2)
    ):
        copy = xp.copy_in_rows(gradient)
        return copy
    copy = xp.empty_like(like, dtype=gradient.dtype)
    copy[...] = gradient
    return copy


def _on_device_of(leaf: Array, gradient: Array) -> Array:
    """A gradient on the leaf's device: one without dimensions is moved there."""
    places = apart(leaf, gradient)
    if places is None:
        return gradient
    if gradient.ndim:
        raise failures.wrong_device(0, leaf, gradient)
    here, there = places
    moved: Array = here.from_numpy(there.to_numpy(gradient))
    return moved


def add_into(held: Tensor, gradient: Array) -> None:
    """Add an array into an existing `.grad`, in place: its identity is kept, its version grows."""
    target = held._array
    cell = cell_of(held)
    if cell is INFERENCE_CELL:
        check_counted(held)
    if STRICT.enabled:
        from retrograd.engine.views import check_strictly  # which needs this module

        check_strictly(held, "accumulation into .grad")
    cell.version += 1  # before the write: an interrupt between them must not hide it
    cell.writer, cell.code = "accumulation into .grad", None
    try:
        xp = backend_of(target).xp
        if target.dtype is gradient.dtype:
            xp.iadd(target, gradient)
        else:
            xp.add(target, gradient, out=target, casting="unsafe")
    except ValueError:
        raise _mismatch(target, gradient) from None


def _mismatch(expected: Array, gradient: Array) -> Exception:
    """A gradient of another shape than its leaf, or than `.grad`: the data was replaced."""
    return failures.broadcast(expected.shape, gradient.shape)


def run_post_accumulate_hooks(variable: Tensor) -> None:
    """Hooks of `register_post_accumulate_grad_hook`, after the leaf's gradient was updated."""
    current = variable
    for hook in list((meta_of(variable).post_accumulate_hooks or {}).values()):
        result = hook(current)
        if result is not None and result is not current:
            current = check_hook(current, result, hook)
    if current is not variable:
        raise runtime_error("Tensor post accumulate grad hooks should return None.", code="RG403")


def has_accumulator(tensor: Tensor) -> bool:
    """Whether a graph, or somebody else, holds the leaf's AccumulateGrad."""
    meta = tensor._meta
    reference = None if meta is None else meta.accumulator
    return reference is not None and reference() is not None


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
    made.dtype = tensor._array.dtype if meta.grad_dtype is ... else gradient_dtype(tensor)
    made.edges = ()
    made.edge_numbers = made.code = made.extra = made.freed = None
    made.visit = 0
    # where other nodes keep an instruction, an accumulator has the version of its leaf
    cell = tensor._cell
    made.lasti = cell.version if cell is not None and cell.counts else 0
    fresh = weakref.ref(made)
    if GIL:
        if meta.accumulator is reference:
            meta.accumulator = fresh
            return made
    else:
        with COUNTING:
            if meta.accumulator is reference:
                meta.accumulator = fresh
                return made
    return accumulator(tensor)  # another thread has just made one: a leaf has one at a time


def gradient_dtype(tensor: Tensor) -> dtypes.ArrayDtype | AnyDtype:
    """What the gradients of a leaf are cast to on arrival, by its `grad_dtype`."""
    chosen, own = meta_of(tensor).grad_dtype, tensor._array.dtype
    if chosen is None:
        return AnyDtype(own.kind == "c")
    wanted: dtypes.ArrayDtype = own if chosen is ... else chosen.numpy
    if chosen is not ... and wanted not in dtypes.DIFFERENTIABLE:
        raise runtime_error(
            f"gradients cannot be of type {chosen}, as grad_dtype says", code="RG108"
        )
    return wanted


def is_accumulator(node: Node) -> bool:
    """Whether the node is a leaf's accumulator, dressed or not."""
    return node.run is AccumulateGrad.run_raw


# --------------------------------------------------------------------------------- hooks


def call_tensor_hooks(node: Node, gradients: list[Tensor | None]) -> None:
    """Run the tensor hooks and `retain_grad` of a node on Tensors, replacing entries in place."""
    tables: list[tuple[int, TensorHooks]] | None
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
                gradients[number] = check_hook(gradients[number], result, hook)
    for number, keep in list((retains or {}).items()):
        keep(gradients[number])


def with_grad_mode(enabled: bool, function: Callable[[], _T]) -> _T:
    """Run `function` under the given grad mode of this thread."""
    before, cut = STATE.grad_enabled, STATE.cut
    try:
        set_grad_mode(enabled, None if enabled else IN_HOOK)
        return function()
    finally:
        set_grad_mode(before, cut)
