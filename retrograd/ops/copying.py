"""Copies: clone, copy_, fill_, zero_ and conversion between dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.ops.kinds import Array, Operand
from retrograd.ops.registry import composite, op
from retrograd.size import memory_format, preserve_format
from retrograd.tensor import Tensor
from retrograd.testing.samples import Sample, T


@op(input=lambda m, g: g, half="move", namespace=None, methods=(), node_name="CloneBackward0")
def clone(xp: Any, input: Array) -> Array:
    """A copy in the same memory order."""
    return input.copy(order="K")


@composite(name="clone", samples=lambda: [Sample(T(3, 4)), Sample(T())])
def _clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy of the elements that stays in the graph."""
    from retrograd.ops.registry import RECORDED

    if memory_format in (None, preserve_format):
        result: Tensor = RECORDED.clone(input)
    else:
        result = RECORDED._contiguous_copy(input)
    return result


@op(input=lambda m, g: g, half="move", node_name="CloneBackward0")
def _contiguous_copy(xp: Any, input: Array) -> Array:
    return xp.array(input, order="C")


@op(
    input=lambda m, g, input_dtype: m._to_dtype(g, input_dtype),
    half="move",
    holomorphic=False,
    node_name="ToCopyBackward0",
    fast=False,
)
def _to_dtype(xp: Any, input: Array, dtype: Any) -> Array:
    """The elements in another dtype (a NumPy dtype); a real target takes the real part."""
    if input.dtype.kind == "c" and dtype not in dtypes.COMPLEX_TYPES:
        input = input.real
    return input.astype(dtype)


@op(
    input=lambda m, g: m.zeros_like(g),
    src=lambda m, g, src_shape: g,
    half="move",
    inplace="copy_",
    node_name="CopyBackwards",
)
def _copy(xp: Any, input: Array, src: Operand) -> Array:
    """`src` in the shape and dtype of `input`."""
    source = np.asarray(src)
    if source.dtype.kind == "c" and input.dtype not in dtypes.COMPLEX_TYPES:
        source = source.real
    return xp.array(xp.broadcast_to(source.astype(input.dtype), input.shape))


@op(input=lambda m, g: m.zeros_like(g), half="move", inplace="zero_", node_name="ZeroBackward0")
def _zero(xp: Any, input: Array) -> Array:
    """Zeros in the shape of `input`."""
    return xp.zeros_like(input)


@op(half="move", namespace=None, methods=())
def zeros_like(xp: Any, input: Array) -> Array:
    """Zeros in the shape, dtype and memory order of `input` (the op; creation has the function)."""
    return xp.zeros_like(input)


@op(half="move", namespace=None, methods=())
def ones_like(xp: Any, input: Array) -> Array:
    """Ones in the shape, dtype and memory order of `input`."""
    return xp.ones_like(input)
