"""The leaves' end of the graph: adding what arrives to `.grad`, and the hooks that see it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.autograd.hooks import HookTable, check_hook
from retrograd.autograd.node import BackwardCall, Node
from retrograd.autograd.state import IN_HOOK, STATE, set_grad_mode
from retrograd.backend.kernels import iadd
from retrograd.notices import explained
from retrograd.tensor import Array, Tensor, cell_of, meta_of, wrap


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
            _acquire()
            try:
                if meta.grad is None:
                    # adopt the array if nobody else holds it; references: this frame's, the
                    # engine's, and getrefcount's own argument
                    alone = getrefcount(gradient) <= ALONE and gradient.base is None
                    if not alone or gradient.strides != variable._array.strides:
                        gradient = copy_in_layout(gradient, variable._array)
                    meta.grad = wrap(gradient)
                else:
                    add_into(meta.grad, gradient)
            finally:
                _release()
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
            with GRAD_LOCK:
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
    """How many backward calls run now: one alone may use the slots of the nodes."""

    def __init__(self) -> None:
        self.calls = 0
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
# Reading, testing and writing `.grad` is one step. Re-entrant, since ops run while it is held.
GRAD_LOCK = threading.RLock()
_acquire, _release = GRAD_LOCK.acquire, GRAD_LOCK.release  # half the cost of a with block
ALONE = 3


def copy_in_layout(gradient: Array, like: Array) -> Array:
    """A copy laid out in memory as the leaf is, if the leaf is dense; else row by row."""
    if like.flags.c_contiguous or not (like.flags.f_contiguous or like.ndim > 2):
        return np.array(gradient, order="C")
    copy = np.empty_like(like, dtype=gradient.dtype)
    copy[...] = gradient
    return copy


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


def is_accumulator(node: Node) -> bool:
    """Whether the node is a leaf's accumulator, dressed or not."""
    return node.run is AccumulateGrad.run_raw


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
