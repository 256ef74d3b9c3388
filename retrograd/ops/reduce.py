"""Reductions: sum, mean, max, variance, norms and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.ops.kinds import Array, restore_dims, wrap_dims
from retrograd.ops.registry import composite, op
from retrograd.testing import samples
from retrograd.tensor import Tensor


@op(
    input=lambda m, g, input_shape, dim, keepdim: m.expand(
        restore_dims(m, g, input_shape, dim, keepdim), input_shape
    ),
    out=True,
    samples=samples.reduction(),
)
def sum(
    xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    """Sum of all elements, or along dimensions."""
    axes = wrap_dims(dim, input.ndim)
    if dtype is not None:
        input = input.astype(dtype.numpy)
    elif input.dtype.kind in "biu":
        input = input.astype(np.int64)
    return xp.add.reduce(input, axis=axes, keepdims=keepdim)


@op(
    input=lambda m, g, input_shape: m.expand(g, input_shape),
    namespace=None,
    methods=(),
)
def sum_to_size(xp: Any, input: Array, size: tuple[int, ...]) -> Array:
    """Sum over the dimensions that broadcasting `size` to the input's shape would add."""
    lead = input.ndim - len(size)
    if lead:
        input = xp.add.reduce(input, axis=tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(size) if n == 1 and input.shape[i] != 1)
    return xp.add.reduce(input, axis=axes, keepdims=True) if axes else xp.array(input)


@composite(name="sum_to_size", namespace=None, methods=("sum_to_size",))
def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum the tensor down to `size`, the inverse of broadcasting."""
    from retrograd.ops.registry import RECORDED

    wanted = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if self._array.shape == wanted:
        return self
    result: Tensor = RECORDED.sum_to_size(self, tuple(int(n) for n in wanted))
    return result


