"""`sparse_coo_tensor`, `sparse_csr_tensor` and the old constructors in `torch.sparse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.engine import sparse_sums as sums
from retrograd.engine.sparse_array import Array, SparseArray, coo, masked_like
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error, warn_once
from retrograd.ops.making.arguments import invalid_combination
from retrograd.ops.making.construction import tensor as make_tensor
from retrograd.ops.registry import function_only
from retrograd.sparse.graph import as_tensor, is_sparse, missing, sparse_of
from retrograd.sparse.later import Later
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import (
    Device,
    Size,
    layout,
    refuse_elsewhere,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from retrograd.sparse import checking, conversions
else:
    checking = Later("checking")
    conversions = Later("conversions")

_FORMS = (
    "Tensor indices, Tensor values, ...\n"
    "Tensor indices, Tensor values, tuple of ints size, ...\n"
    "tuple of ints size, ..."
)


def _is_size(value: object) -> bool:
    if isinstance(value, Tensor) or not isinstance(value, Sequence):
        return False
    return all(isinstance(x, (int, np.integer)) for x in value)


def _index_array(indices: object) -> Array:
    """Indices as int64, copied only where they are not."""
    if not isinstance(indices, Tensor):
        indices = make_tensor(indices, dtype=dtypes.int64)
    array: Array = indices._array
    return array if array.dtype == np.int64 else array.astype(np.int64)


def _values(values: object, dtype: dtypes.dtype | None) -> Tensor:
    if not isinstance(values, Tensor):
        return make_tensor(values, dtype=dtype)
    return values if dtype is None else values.to(dtype)


@function_only()
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor of which only some entries are given: a column of indices and a value for each.

    Entries that share a place add up. Without `size` the tensor is as large as the indices need.

    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    refuse_elsewhere("sparse tensors", device)
    if pin_memory:
        raise runtime_error(
            "Cannot access accelerator device when none is available.", code="RG302"
        )
    if values is None and (size is not None or _is_size(indices)):
        if indices is not None and size is not None:
            raise invalid_combination("sparse_coo_tensor", (indices,), _FORMS)
        made = _empty(tuple(indices if size is None else size), dtype)
        made.requires_grad_(bool(requires_grad))
        return made
    if indices is None or values is None:
        raise invalid_combination("sparse_coo_tensor", (), _FORMS)
    places = _index_array(indices)
    entries = _values(values, dtype)
    if entries._array.ndim == 0:
        entries = entries.reshape((1,))
    check = checking.CHECKS.enabled if check_invariants is None else check_invariants
    shape = checking.check_coo(places, entries._array, size, check, is_coalesced)
    if entries._array.dtype not in dtypes.DIFFERENTIABLE or not entries.requires_grad:
        made = as_tensor(coo(places, entries._array, shape, bool(is_coalesced)))
    else:
        made = conversions.from_values(places, entries, shape, bool(is_coalesced))
    if requires_grad:
        made = made.detach()
        made.requires_grad_(True)
    elif made.requires_grad and requires_grad is None:
        made = made.detach()
    return made


def _empty(shape: tuple[int, ...], dtype: dtypes.dtype | None) -> Tensor:
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if any(size < 0 for size in shape):
        raise RuntimeError("Trying to create tensor with negative dimension "
                f"{min(shape)}: {list(shape)}")  # fmt: skip
    return empty_coo(shape, len(shape), kind.numpy)


def empty_like_sparse(
    name: str, tensor: Tensor, dtype: dtypes.dtype | None, kind: layout | None, requires_grad: bool
) -> Tensor:
    """`zeros_like` and its relatives: the shape and layout of a sparse tensor, without entries.

    Of a compressed one, `ones_like` and `empty_like` have the entries of the other.
    """
    array: Any = tensor._array
    if not is_sparse(tensor):
        return masked_like(name, tensor, dtype)
    numpy_dtype = array.values.dtype if dtype is None else dtype.numpy
    if kind is strided:
        if name == "ones_like":
            return wrap(np.ones(array.shape, numpy_dtype))
        return wrap(np.zeros(array.shape, numpy_dtype))
    if array.layout is not sparse_coo and name != "zeros_like" and kind in (None, array.layout):
        filled = np.ones if name == "ones_like" else np.zeros
        values = filled(array.values.shape, numpy_dtype)
        made = as_tensor(SparseArray(array.layout, array.indices, values, array.shape, True))
        made.requires_grad_(bool(requires_grad))
        return made
    if name == "ones_like" or kind not in (None, array.layout) or kind in (sparse_csr, sparse_csc):
        raise missing("fill_.Scalar" if name == "ones_like" else name, tensor)
    made = empty_coo(array.shape, array.sparse_dim, numpy_dtype)
    if array.layout is not sparse_coo:
        made = as_tensor(sums.compressed_of_coo(array.layout, sparse_of(made)))
    made.requires_grad_(bool(requires_grad))
    return made


def without_entries(
    name: str,
    shape: tuple[int, ...],
    dtype: dtypes.dtype | None,
    kind: layout | None,
    requires_grad: bool,
) -> Tensor:
    """`zeros` and `empty` in a sparse layout; other functions have no such form."""
    if name not in ("zeros", "empty"):
        raise runtime_error("full(...) is not implemented for sparse layout", code="RG306")
    if kind in (sparse_csr, sparse_csc) and len(shape) != 2:
        raise explained(
            NotImplementedError(
                f"retrograd does not support layout {kind!r} with {len(shape)} dimensions in "
                f"{name}()"
            ),
            code="RG901",
        )
    wanted = dtypes.as_dtype(dtype, name) or dtypes.get_default_dtype()
    made = empty_coo(shape, len(shape), wanted.numpy)
    if kind is sparse_csr or kind is sparse_csc:
        made = as_tensor(sums.compressed_of_coo(kind, sparse_of(made)))
    made.requires_grad_(bool(requires_grad))
    return made


def empty_coo(shape: tuple[int, ...], sparse_dim: int, numpy_dtype: DTypeLike) -> Tensor:
    """A COO tensor without entries."""
    values = np.zeros((0, *shape[sparse_dim:]), numpy_dtype)
    return as_tensor(coo(np.zeros((sparse_dim, 0), np.int64), values, shape, True))


def _pointer_array(indices: object) -> Array:
    if not isinstance(indices, Tensor):
        indices = make_tensor(indices, dtype=dtypes.int64)
    array: Array = indices._array
    return array


@function_only()
def sparse_csr_tensor(
    crow_indices: object,
    col_indices: object,
    values: object,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix compressed by rows: where each row's entries begin, their columns, their values.

    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_csr,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


@function_only()
def sparse_csc_tensor(
    ccol_indices: object,
    row_indices: object,
    values: object,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix compressed by columns: where each one's entries begin, their rows, their values.

    >>> torch.sparse_csc_tensor([0, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 4.],
            [3., 5.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_csc,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


@function_only()
def sparse_compressed_tensor(
    compressed_indices: object,
    plain_indices: object,
    values: object,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A compressed matrix, by rows (``layout=torch.sparse_csr``) or columns (``torch.sparse_csc``).

    >>> x = torch.sparse_compressed_tensor([0, 1], [2], [3.0], layout=torch.sparse_csr)
    >>> x.layout
    torch.sparse_csr
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor_unsafe expected layout but got none")
    if layout not in (sparse_csr, sparse_csc):
        raise explained(
            NotImplementedError(
                f"retrograd does not support sparse_compressed_tensor with layout {layout!r}: "
                "torch.sparse_csr and torch.sparse_csc are the compressed layouts it has"
            ),
            code="RG901",
        )
    refuse_elsewhere("sparse tensors", device)
    if pin_memory:
        raise runtime_error(
            "Cannot access accelerator device when none is available.", code="RG302"
        )
    pointers, plain = _pointer_array(compressed_indices), _pointer_array(plain_indices)
    entries = _values(values, dtype)
    check = checking.CHECKS.enabled if check_invariants is None else check_invariants
    shape = checking.check_compressed(layout, pointers, plain, entries._array, size, check)
    made = conversions.from_compressed_values(layout, (pointers, plain), entries, shape)
    if requires_grad:
        made = made.detach()
        made.requires_grad_(True)
    return made


# ---------------------------------------------------------------------------- old constructors


class _SparseType(type):
    """The type of `torch.sparse.FloatTensor` and its relatives."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        refuse_elsewhere("sparse tensors", device)
        form, instead = _legacy_form(args)
        warn_once(
            f"torch.sparse.SparseTensor({form}) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({instead}).",
            stacklevel=user_level(),
        )
        if not args:
            return _empty((0,), cls.dtype)
        if isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args)
        shape = tuple(args[0]) if isinstance(args[0], Sequence) else args
        return _empty(tuple(int(size) for size in shape), cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.is_sparse and instance.dtype is cls.dtype


def _legacy_form(args: tuple[object, ...]) -> tuple[str, str]:
    if not args:
        return "", "(0,), dtype="
    if isinstance(args[0], Tensor):
        if len(args) > 2:
            return "indices, values, shape, *, device=", "indices, values, shape, dtype=, device="
        return "indices, values, *, device=", "indices, values, dtype=, device="
    return "shape, *, device=", "shape, dtype=, device="


def _legacy(kind: dtypes.dtype) -> _SparseType:
    doc = f"Sparse tensors of {kind!r}: the old way to make them; `isinstance` recognises them."
    return _SparseType(
        f"{kind.type_name}Tensor", (), {"dtype": kind, "__module__": "torch.sparse", "__doc__": doc}
    )


LEGACY_TYPES = {
    f"{kind.type_name}Tensor": _legacy(kind) for kind in dtypes.ALL if not kind.is_complex
}
globals().update(LEGACY_TYPES)


def resized(
    tensor: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int, clear: bool
) -> Tensor:
    """`sparse_resize_`: another shape for the same entries, or for none."""
    array: Any = tensor._array
    shape = tuple(Size(size))
    if sparse_dim + dense_dim != len(shape):
        raise runtime_error(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}"
            f", sparse_dim = {sparse_dim}, dense_dim = {dense_dim}",
            code="RG211",
        )
    if clear or not array.nnz:
        values = np.zeros((0, *shape[sparse_dim:]), array.values.dtype)
        whole = clear or array.coalesced
        array.become(coo(np.zeros((sparse_dim, 0), np.int64), values, shape, whole))
        return tensor
    old_sparse, old_dense = array.shape[: array.sparse_dim], array.shape[array.sparse_dim :]
    for what, before, after in (
        ("sparse", old_sparse, shape[:sparse_dim]),
        ("dense", old_dense, shape[sparse_dim:]),
    ):
        if len(before) != len(after):
            raise runtime_error(
                f"changing the number of {what} dimensions (from {len(before)} to "
                f"{len(after)}) on a non-empty sparse tensor is not supported.",
                code="RG211",
            )
        if any(new < old for new, old in zip(after, before, strict=True)):
            raise runtime_error(
                f"shrinking the size of {what} dimensions (from {list(before)} to "
                f"{list(after)}) on a non-empty sparse tensor is not supported.",
                code="RG211",
            )
    values = np.zeros((array.nnz, *shape[sparse_dim:]), array.values.dtype)
    values[tuple(slice(0, size) for size in array.values.shape)] = array.values
    array.become(coo(array.indices, values, shape, array.coalesced))
    return tensor


def in_place_zero(tensor: Tensor) -> Tensor:
    """`zero_`: all entries go."""
    array: Any = tensor._array
    sparse_dim = array.sparse_dim
    values = np.zeros((0, *array.shape[sparse_dim:]), array.values.dtype)
    cleared = coo(np.zeros((sparse_dim, 0), np.int64), values, array.shape, True)
    kind = array.layout
    array.become(cleared if kind is sparse_coo else sums.compressed_of_coo(kind, cleared))
    return tensor
