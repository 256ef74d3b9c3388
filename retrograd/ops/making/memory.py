"""A tensor in memory: sizes, strides, contiguity and storage.

NumPy counts strides in bytes, PyTorch in elements; here they meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backend import CPU, backend_of, is_array, xp_of
from retrograd.backend.memory_order import axes_by_memory
from retrograd.backend.namespace import Namespace
from retrograd.engine.function_node import underivable
from retrograd.engine.grad_mode import check_counted
from retrograd.engine.sparse_array import SPARSE_ARRAY, STRANGERS, no_elements
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.engine.views import (
    announce_write,
    bump,
    check_writable,
    edge_of,
    is_dense,
    rebase,
)
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, warn_once
from retrograd.ops.determinism import uninitialized
from retrograd.ops.kinds import DType, Ints
from retrograd.ops.making.arguments import size_argument
from retrograd.ops.making.storages import TypedStorage as TypedStorage
from retrograd.ops.making.storages import UntypedStorage as UntypedStorage
from retrograd.ops.making.storages import address_of as address_of
from retrograd.ops.making.storages import pointer_of
from retrograd.signatures import forms, sized
from retrograd.tensor import Array, Tensor, tensor_method
from retrograd.tensor.size import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)

# ------------------------------------------------------------------------------- shape, strides


@tensor_method
@forms("(self: Tensor, dim: None = None) -> Size", "(self: Tensor, dim: int) -> int")
def size(self: Tensor, dim: int | None = None) -> Size | int:
    """The shape, or the size of one dimension.

    >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
    (torch.Size([2, 3]), 3)
    """
    shape = self._array.shape
    return Size(shape) if dim is None else shape[_existing_dim(dim, len(shape))]


@tensor_method
@forms("(self: Tensor, dim: None = None) -> tuple[int, ...]", "(self: Tensor, dim: int) -> int")
def stride(self: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """The steps between neighbours along every dimension, in elements."""
    found = strides_of(self._array)
    return found if dim is None else found[_existing_dim(dim, len(found))]


def _existing_dim(dim: int, ndim: int) -> int:
    if ndim == 0:
        raise explained(
            IndexError(f"Dimension specified as {dim} but tensor has no dimensions"), code="RG205"
        )
    if not -ndim <= dim < ndim:
        raise explained(
            IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {dim})"
            ),
            code="RG205",
        )
    return dim


def strides_of(array: Array) -> tuple[int, ...]:
    """An array's strides in elements; NumPy gives a new empty array none: as if contiguous."""
    if not array.size and not all(array.strides):
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
    copy = xp_of(array).copy_in_rows(array.transpose(axes))
    return copy.transpose(_inverse(axes))


def _inverse(axes: Sequence[int]) -> list[int]:
    """The permutation that takes `axes` back."""
    return sorted(range(len(axes)), key=axes.__getitem__)


def empty_array(
    xp: Namespace,
    shape: tuple[int, ...],
    dtype: DType,
    order: memory_format | None = None,
) -> Array:
    """Uninitialised memory in a memory format."""
    if order is None or order is contiguous_format:
        return xp.empty(shape, dtype)
    return _laid_out(xp, shape, dtype, format_order(order, len(shape)))


def _laid_out(xp: Namespace, shape: tuple[int, ...], dtype: DType, axes: Sequence[int]) -> Array:
    """Uninitialised memory whose dimensions lie in the order of `axes`, the slowest first."""
    memory: Array = xp.empty(tuple([shape[axis] for axis in axes]), dtype)
    return memory.transpose(_inverse(axes))


def array_like(array: Array, dtype: DType, order: memory_format | None = None) -> Array:
    """Uninitialised memory in the shape of `array` and in its memory order, without its gaps."""
    if type(array) in STRANGERS:
        raise no_elements(array)
    xp = xp_of(array)
    if order is None or order is preserve_format:
        if is_dense(array):
            return xp.empty_like(array, dtype, order="K")
        return _laid_out(xp, array.shape, dtype, axes_by_memory(array.shape, [array.strides]))
    return empty_array(xp, array.shape, dtype, order)


def _check_batch_format(tensor: Tensor, wanted: memory_format) -> None:
    if tensor._level and wanted is not contiguous_format:
        raise RuntimeError(
            "NYI: querying is_contiguous inside of vmap for memory_format other than "
            "torch.contiguous_format"
        )


@tensor_method
def is_contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the elements lie in memory in order, without gaps."""
    _check_batch_format(self, memory_format)
    return matches_format(self._array, memory_format)


@tensor_method
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in order, else a copy in which they do."""
    _check_batch_format(self, memory_format)
    if matches_format(self._array, memory_format):
        return self
    return self.clone(memory_format=memory_format)


# -------------------------------------------------------------------------------------- storage


def owner_of(array: Array) -> Array:
    """The array that owns the memory, or the last one known on the way to it."""
    while True:
        base = array.base
        if not is_array(base):  # NumPy's `as_strided` puts an object with the array in between
            base = getattr(base, "base", None)
        if not is_array(base):
            return array
        array = base


def region(flat: Array, shape: Sequence[int], offset: int, strides: Sequence[int]) -> Array:
    """A part of a flat array, by offset and strides in elements; raises if it lies outside."""
    unit = flat.itemsize
    steps = [stride * unit for stride in strides]
    backend = backend_of(flat)
    if backend is not CPU:
        last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if offset < 0 or (0 not in shape and offset + last >= flat.size):
            raise ValueError("strides is incompatible with shape and size of the storage")
        found: Array = backend.xp.strided(flat, tuple(shape), steps, offset * unit)
        return found
    # as bytes, because not every dtype is known to the buffer protocol
    return np.ndarray(tuple(shape), flat.dtype, flat.view(np.uint8), offset * unit, steps)


@tensor_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return pointer_of(self._array)


@tensor_method
def storage_offset(self: Tensor) -> int:
    """How many elements of the storage lie before the first one."""
    if type(self._array) is SPARSE_ARRAY:
        return 0
    array = self._array if self._view is None else self._view.base._array
    return (address_of(self._array) - address_of(owner_of(array))) // self._array.itemsize


def _storage_owner(tensor: Tensor) -> Array:
    if type(tensor._array) is SPARSE_ARRAY:
        name = "SparseTensorImpl" if tensor.is_sparse else "SparseCsrTensorImpl"
        raise explained(NotImplementedError(f"Cannot access storage of {name}"), code="RG306")
    own = owner_of(tensor._array)
    if tensor._view is None:
        return own
    base = owner_of(tensor._view.base._array)
    shares = type(own) is type(base) and xp_of(own).shares_memory(own, base)
    return base if shares else own  # else one got other memory by `.data`


@tensor_method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes behind this tensor: shared by all its views."""
    return UntypedStorage(_storage_owner(self))


@tensor_method
def storage(self: Tensor) -> TypedStorage:
    """The elements behind this tensor: shared by all its views (deprecated in PyTorch)."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()",
        user_level(),
    )
    return TypedStorage(_storage_owner(self))


# ------------------------------------------------------------------------------ other memory


@tensor_method
@forms(*sized("memory_format: memory_format | None = None", before="self: Tensor"))
def resize_(self: Tensor, *size: Ints, memory_format: memory_format | None = None) -> Tensor:
    """Give this tensor another size over the same memory, or new memory if that is too small."""
    if self.requires_grad and not STATE.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if TRANSFORMS.dual_levels and TRANSFORMS.has_tangents([self]):
        raise RuntimeError("cannot resize variables that has a forward grad")
    shape = size_argument("resize_", size, {})
    announce_write(self, "resize_")
    array = self._array
    if array.shape != shape:
        check_counted(self)
        self._array = in_same_memory(self, shape)
    if memory_format is not None and memory_format is not preserve_format:
        self._array = _reordered(self._array, memory_format)
    if array.shape != shape:
        bump(self, "resize_")
    return self


def in_same_memory(tensor: Tensor, shape: tuple[int, ...]) -> Array:
    """The memory behind a tensor, from its first element on, in another shape.

    New memory with the same elements where that is too small; other tensors keep the old one.
    """
    array, count = tensor._array, math.prod(shape)
    owner = _storage_owner(tensor)
    offset = (address_of(array) - address_of(owner)) // array.itemsize if array.size else 0
    memory = owner.reshape(-1, order="A")
    xp = xp_of(array)
    if not xp.shares_memory(memory, owner) or memory.size - offset < count:
        grown = xp.empty(offset + count, array.dtype)
        grown[: memory.size] = memory[: grown.size]
        uninitialized(grown[memory.size :])
        memory = grown
    return memory[offset : offset + count].reshape(shape)


def _reordered(array: Array, order: memory_format) -> Array:
    """The same memory read in the order of a memory format."""
    axes = format_order(order, array.ndim)
    flat = array.reshape(-1).reshape([array.shape[axis] for axis in axes])
    return flat.transpose(_inverse(axes))


@tensor_method
def resize_as_(
    self: Tensor, the_template: Tensor, memory_format: memory_format | None = None
) -> Tensor:
    """`resize_` to the size of another tensor; with `preserve_format` in its order too."""
    order = memory_format
    if order is preserve_format:
        order = _format_of(the_template._array)
    return self.resize_(the_template.shape, memory_format=order)


def _format_of(array: Array) -> memory_format:
    """The memory format that an array is in: contiguous where it is in none of the others."""
    if not matches_format(array, contiguous_format):
        for order in (channels_last, channels_last_3d):
            if matches_format(array, order):
                return order
    return contiguous_format


@tensor_method
def set_(
    self: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None,
    stride: Any = None,
) -> Tensor:  # fmt: skip
    """Make this tensor use the memory (and the size) of another one, or a part of a storage."""
    check_writable(self, "set_")
    if source is None:
        array = xp_of(self._array).empty(0, self._array.dtype)
    elif isinstance(source, UntypedStorage | TypedStorage):
        array = _part_of(source, self, storage_offset, size, stride)
    elif not isinstance(source, Tensor):
        raise TypeError(
            "set_() received an invalid combination of arguments: it takes a Tensor or a storage, "
            f"not {type(source).__name__}"
        )
    elif source._array.dtype is not self._array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {_c_name(source)} to a tensor of type {_c_name(self)}"
        )
    else:
        array = source._array
        if size is not None:
            steps = strides_of(np.empty(size, np.int8)) if stride is None else stride
            memory = _storage_owner(source).reshape(-1, order="A")
            array = region(memory, size, storage_offset, steps)
    operands = [value for value in (self, source) if isinstance(value, Tensor)]
    recorded = STATE.grad_enabled and any(value.requires_grad for value in operands)
    edges = tuple(edge_of(value) if value.requires_grad else None for value in operands)
    self._array = array
    if self._meta is not None:
        self._meta.accumulator = None  # old graphs keep feeding the old one
    bump(self, "set_")
    if recorded:
        node = underivable("set_", edges, tuple(value._output_nr for value in operands))
        node.shape, node.dtype = array.shape, array.dtype
        rebase(self, node, saves_output=False)
    return self


def _c_name(tensor: Tensor) -> str:
    from retrograd.ops.linalg.products import c_name  # the ops are built on this module

    return c_name(tensor._array)


def _part_of(
    storage: UntypedStorage | TypedStorage, tensor: Tensor, offset: int, size: Any, stride: Any
) -> Array:
    """Elements of a storage, of the type of a tensor; all that fit where there is no size."""
    kind = tensor._array.dtype
    if isinstance(storage, TypedStorage) and storage.dtype is not tensor.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {_c_name(tensor)} or an UntypedStorage, but got type "
            f"{storage.dtype.type_name} for argument 1 'storage'"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    flat = storage._owner.reshape(-1, order="A").view(np.uint8)
    memory = flat[: flat.size // kind.itemsize * kind.itemsize].view(kind)
    shape = (memory.size,) if size is None else tuple(size)
    steps = strides_of(np.empty(shape, np.int8)) if stride is None else tuple(stride)
    needed = offset + 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if 0 not in shape and needed > memory.size:
        raise explained(
            NotImplementedError(
                f"retrograd does not support set_() beyond the end of a storage: {needed} elements "
                f"are needed, and there are {memory.size}"
            ),
            code="RG901",
        )
    return region(memory, shape, offset, steps)


@tensor_method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors are the same region of the same memory."""
    a, b = self._array, tensor._array
    same: bool = address_of(a) == address_of(b) and a.shape == b.shape and a.strides == b.strides
    return same and a.dtype is b.dtype


@tensor_method
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape."""
    return bool(self._array.shape == other._array.shape)
