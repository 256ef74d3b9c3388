"""Copies: clone, copy_, fill_, zero_ and conversion between dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.memory import in_format
from retrograd.ops import errors
from retrograd.ops.kinds import Array
from retrograd.ops.registry import OPS, RECORDED, composite, op
from retrograd.size import memory_format, preserve_format
from retrograd.tensor import Tensor, wrap
from retrograd.testing.samples import Sample, T


@op(input=lambda m, g: g, half="move", namespace=None, methods=(), node_name="CloneBackward0")
def clone(xp: Any, input: Array) -> Array:
    """A copy in the same memory order."""
    return input.copy(order="K")


@op(input=lambda m, g: g, half="move", node_name="CloneBackward0")
def _clone_as(xp: Any, input: Array, order: memory_format) -> Array:
    return in_format(input, order)


@composite(name="clone", samples=lambda: [Sample(T(3, 4)), Sample(T())])
def _clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy of the elements that stays in the graph.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.clone()
    tensor([1., 1.], grad_fn=<CloneBackward0>)
    """
    if memory_format is None or memory_format is preserve_format:
        result: Tensor = RECORDED.clone(input)
    else:
        result = RECORDED._clone_as(input, memory_format)
    return result


# --------------------------------------------------------------------------------------- dtypes


def cast_array(array: Array, dtype: Any) -> Array:
    """A fresh array in another dtype, by PyTorch's rules where C leaves the result open.

    A real target takes the real part; uint8 the low bits of the whole number.
    """
    source = array.dtype.kind
    if source == "c" and dtype.kind != "c" and dtype is not dtypes.B8:
        array = array.real
    if dtype is dtypes.U8 and source not in "biu":
        array = array.astype(dtypes.I64)
    return array.astype(dtype)


@op(
    input=lambda m, g, input_dtype: m._to_dtype(g, input_dtype),
    half="move",
    holomorphic=False,
    node_name="ToCopyBackward0",
    fast=False,
)
def _to_dtype(xp: Any, input: Array, dtype: Any, order: Any = None) -> Array:
    """The elements in another dtype (a NumPy dtype) and, if asked, another memory format."""
    result = cast_array(input, dtype)
    return result if order is None else in_format(result, order)


# -------------------------------------------------------------------------------------- writing


@op(
    input=lambda m, g: m.zeros_like(g),
    src=lambda m, g: g,
    half="move",
    inplace="_copy_",
    node_name="CopyBackwards",
)
def _copy(xp: Any, input: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `input`."""
    return xp.array(xp.broadcast_to(cast_array(src, input.dtype), input.shape))


@composite(name="copy_", namespace=None, methods=("copy_",))
def _copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `other`, broadcast and converted, into this tensor."""
    if isinstance(other, (bool, int, float, complex)):
        other = wrap(np.asarray(other))
    elif not isinstance(other, Tensor):
        raise errors.argument_type("copy_", "other", 1, "Tensor", other)
    result: Tensor = OPS["_copy"].inplace_function(self, other)  # type: ignore[misc]
    return result


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
