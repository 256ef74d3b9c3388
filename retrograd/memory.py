"""A tensor in memory: sizes, strides, contiguity and storage.

NumPy counts strides in bytes, PyTorch in elements; here they meet.
"""

from __future__ import annotations

import math

import numpy as np

from retrograd.ops import errors
from retrograd.size import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from retrograd.tensor import Array, Tensor, tensor_method

# ------------------------------------------------------------------------------- shape, strides


@tensor_method
def size(self: Tensor, dim: int | None = None) -> Size | int:
    """The shape, or the size of one dimension.

    >>> import retrograd as torch
    >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
    (torch.Size([2, 3]), 3)
    """
    shape = self._array.shape
    return Size(shape) if dim is None else shape[_existing_dim(dim, len(shape))]


@tensor_method
def stride(self: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """The steps between neighbours along every dimension, in elements."""
    found = strides_of(self._array)
    return found if dim is None else found[_existing_dim(dim, len(found))]


def _existing_dim(dim: int, ndim: int) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -ndim <= dim < ndim:
        raise errors.dimension_range(dim, ndim)
    return dim


def strides_of(array: Array) -> tuple[int, ...]:
    """An array's strides in elements; for an empty array those of a contiguous one."""
    if not array.size:
        steps = [max(n, 1) for n in array.shape[1:]] + [1]
        return tuple([math.prod(steps[i:]) for i in range(array.ndim)])
    unit = array.itemsize
    return tuple([stride // unit for stride in array.strides])


@tensor_method
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._array.ndim


@tensor_method
def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return self._array.ndim


@tensor_method
def numel(self: Tensor) -> int:
    """The number of elements."""
    return self._array.size


@tensor_method
def nelement(self: Tensor) -> int:
    """The number of elements."""
    return self._array.size


@tensor_method
def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self._array.itemsize


# ------------------------------------------------------------------------------- memory formats

# The dimensions from the slowest to the fastest.
_ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def format_order(order: memory_format, ndim: int) -> tuple[int, ...]:
    """The dimensions of a memory format from slowest to fastest."""
    if order is contiguous_format:
        return tuple(range(ndim))
    found = _ORDERS.get(order)
    if found is None:
        raise RuntimeError(f"unsupported memory format option {order!r}")
    if len(found) != ndim:
        raise RuntimeError(f"required rank {len(found)} tensor to use {order.name} format")
    return found


def matches_format(array: Array, order: memory_format | None) -> bool:
    """Whether the elements fill memory without gaps in the order that a memory format asks."""
    if order is None or order is contiguous_format or order is preserve_format:
        return array.flags.c_contiguous
    found = _ORDERS.get(order)
    if found is None or len(found) != array.ndim:
        return False
    return array.transpose(found).flags.c_contiguous


def in_format(array: Array, order: memory_format) -> Array:
    """A fresh copy of the elements in a memory format."""
    axes = format_order(order, array.ndim)
    copy = np.array(array.transpose(axes), order="C")
    return copy.transpose(np.argsort(axes))


@tensor_method
def is_contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the elements lie in memory in order, without gaps."""
    return matches_format(self._array, memory_format)


@tensor_method
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in order, else a copy in which they do."""
    if matches_format(self._array, memory_format):
        return self
    return self.clone(memory_format=memory_format)


# -------------------------------------------------------------------------------------- storage


def address_of(array: Array) -> int:
    """Where the first element lies."""
    found: int = array.__array_interface__["data"][0]
    return found


def owner_of(array: Array) -> Array:
    """The array that owns the memory, or the last one known on the way to it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@tensor_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return address_of(self._array) if self._array.size else 0


@tensor_method
def storage_offset(self: Tensor) -> int:
    """How many elements of the storage lie before the first one."""
    array = self._array if self._view is None else self._view.base._array
    return (address_of(self._array) - address_of(owner_of(array))) // self._array.itemsize
