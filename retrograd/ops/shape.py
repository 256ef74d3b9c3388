"""Views: the same elements in another shape or order."""

from __future__ import annotations

from typing import Any

from retrograd.ops.kinds import Array, wrap_dim
from retrograd.ops.registry import composite, op
from retrograd.tensor import Tensor
from retrograd.testing.samples import Sample, T


@op(
    input=lambda m, g, input_shape: m.sum_to_size(g, input_shape),
    view="always",
    half="move",
    namespace=None,
    methods=(),
)
def expand(xp: Any, input: Array, size: tuple[int, ...]) -> Array:
    """A view with size-one dimensions repeated; `size` is complete (no -1)."""
    return xp.broadcast_to(input, size)


@op(
    input=lambda m, g, dim0, dim1: m.transpose(g, dim0, dim1),
    view="always",
    half="move",
    samples=lambda: [Sample(T(3, 4), 0, 1), Sample(T(2, 3, 4), -1, 0)],
)
def transpose(xp: Any, input: Array, dim0: int, dim1: int) -> Array:
    """A view with two dimensions swapped."""
    if input.ndim == 0:
        wrap_dim(dim0, 0), wrap_dim(dim1, 0)
        return input.view()
    return xp.swapaxes(input, wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim))


@composite(name="expand", namespace=None, methods=("expand",))
def _expand(self: Tensor, *size: Any) -> Tensor:
    """A view with size-one dimensions repeated to `size`; -1 keeps a dimension."""
    from retrograd.ops.registry import RECORDED

    result: Tensor = RECORDED.expand(self, tuple(size))
    return result


