"""CopySlices: the history of a tensor one of whose views was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.above import above
from retrograd.backend import backend_of
from retrograd.engine.node import BackwardCall, Node, dressed, fill_node
from retrograd.tensor import Array, Tensor

if TYPE_CHECKING:
    from retrograd.engine.node import Need
    from retrograd.engine.views import ViewStep


class CopySlices(Node):
    """The history of a base one of whose views was written.

    Holds the in-place op's own node and the way from the base to the written region. The first
    edge is the base's history before the write, the others are the op's other inputs.
    """

    __slots__ = ("chain", "inner", "strides")
    display_name = "torch::autograd::CopySlices"

    def __init__(self, inner: Node, chain: tuple[ViewStep, ...], strides: tuple[int, ...]) -> None:
        fill_node(self, CopySlices)
        self.inner: Node | None = inner
        self.chain = chain
        self.strides = strides  # of the base: whether a `view` fits depends on them

    def _inner_or_raise(self) -> Node:
        if self.inner is None:
            from retrograd.engine.saved import freed_failure

            raise freed_failure(self)
        return self.inner

    def run_raw(
        self, gradient: Any, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Array | None]:
        count = len(self.edges)
        if gradient is None:  # PyTorch does not ask here whether it was freed
            if freeing is not None:
                self.release(freeing)
            return (None,) * count
        inner = self._inner_or_raise()
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

    def run_recorded(
        self, gradient: Any, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Tensor | None]:
        count = len(self.edges)
        if gradient is None:  # PyTorch does not ask here whether it was freed
            if freeing is not None:
                self.release(freeing)
            return (None,) * count
        inner = self._inner_or_raise()
        result = clone_with_strides(gradient, self.strides)
        region = result
        for step in self.chain:
            region = step.recorded(region)
        parts = dressed(inner).run_recorded(region.clone(), None, None)
        part = parts[0]
        if part is not None and _has_more_batches(
            part, result
        ):  # then all of the gradient gets them
            result = result + part.reshape(-1)[:0].sum()
            region = result
            for step in self.chain:
                region = step.recorded(region)
        if self.edges[0] is not None:
            if part is None:
                region.zero_()
            else:
                region.copy_(part)
        if freeing is not None:
            self.release(freeing)
        return (result if self.edges[0] is not None else None, *parts[1:count])

    def release(self, call: BackwardCall) -> None:
        # Not what it saved: the second derivative may come to the inner node by another way.
        self.inner = None
        Node.release(self, call)


@above
def clone_with_strides(gradient: Tensor, strides: tuple[int, ...]) -> Tensor:
    """`copy_with_strides` as an op that is recorded."""
    raise NotImplementedError


@above
def batch_levels(tensor: Tensor) -> set[int]:
    """The levels of `vmap` that a tensor is batched at."""
    raise NotImplementedError


def _has_more_batches(part: Tensor, whole: Tensor) -> bool:
    if not part._level:
        return False
    return not batch_levels(part) <= batch_levels(whole)


def copy_with_strides(source: Array, strides: tuple[int, ...]) -> Array:
    """A copy laid out with the given strides, gaps included; plainly if they overlap."""
    xp = backend_of(source).xp
    copy: Array = xp.array(source)
    if copy.strides == strides or 0 in strides or not copy.size:
        return copy
    unit = copy.itemsize
    extent = 1 + sum((n - 1) * s for n, s in zip(copy.shape, strides, strict=True)) // unit
    laid: Array = xp.strided(xp.zeros(extent, copy.dtype), copy.shape, strides)
    laid[...] = copy
    return laid
