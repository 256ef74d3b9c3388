"""From dense to sparse and back, between sparse layouts, and into indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.function import Function, FunctionCtx
from retrograd.engine import sparse_sums as sums
from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.notices import explained, runtime_error
from retrograd.ops.shapes.copying import cast_array
from retrograd.sparse.checking import ascending
from retrograd.sparse.graph import (
    apply,
    as_tensor,
    is_sparse,
    missing,
    node,
    refuse_strided,
    sparse_of,
)
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import layout, sparse_coo, sparse_csc, sparse_csr, strided

# ------------------------------------------------------------------------------- dense or sparse


@node("ToDenseBackward0")
class _ToDense(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, masked: bool) -> Tensor:
        ctx.save_for_backward(tensor)
        ctx.masked = masked
        return wrap(sums.dense_of(sparse_of(tensor)))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        (tensor,) = ctx.saved_tensors
        if is_sparse(grad):
            grad = to_dense(grad)
        if ctx.masked:
            return sparse_mask(grad, coalesced_pattern(tensor)), None
        made = to_sparse(grad, sparse_of(tensor).sparse_dim)
        return _in_layout(made, tensor.layout), None


def to_dense(
    tensor: Tensor, dtype: dtypes.dtype | None = None, masked_grad: bool | None = None
) -> Tensor:
    """A strided tensor with all elements; a strided one is given back as it is."""
    if not is_sparse(tensor):
        return tensor if dtype is None else tensor.to(dtype)
    if dtype is not None and dtype is not tensor.dtype:
        name = "sparse_to_dense" if tensor.layout is sparse_coo else "sparse_csr_to_dense"
        raise RuntimeError(f"dtype argument is not supported by {name}")
    made: Tensor = apply(_ToDense, tensor, masked_grad is not False)
    return made


class _FromDense(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, sparse_dim: int) -> Tensor:
        return as_tensor(sums.coo_of_dense(tensor._array, sparse_dim))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        return to_dense(grad), None


@node("ToSparseBackward1")
class _ToSparse(_FromDense):
    pass


@node("ToSparseBackward0")
class _ToSparseDims(_FromDense):
    pass


def to_sparse(tensor: Tensor, sparse_dim: int | None = None) -> Tensor:
    """The entries of a tensor that are not zero, by coordinates."""
    ndim = tensor._array.ndim
    if is_sparse(tensor):
        if tensor.layout is not sparse_coo:
            return _from_compressed(tensor)
        if sparse_dim is not None and sparse_dim != sparse_of(tensor).sparse_dim:
            raise runtime_error(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                "!= self.sparse_dim() is not supported",
                code="RG306",
            )
        return tensor
    if sparse_dim is not None and not 0 <= sparse_dim <= ndim:
        raise runtime_error(
            f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but "
            f"{sparse_dim} is given",
            code="RG205",
        )
    function = _ToSparse if sparse_dim is None else _ToSparseDims
    made: Tensor = apply(function, tensor, ndim if sparse_dim is None else sparse_dim)
    return made


class _Compress(Function):
    """A matrix in a compressed layout."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, kind: layout) -> Tensor:
        ctx.before = tensor.layout
        array: Any = tensor._array
        whole = sums.as_coo(array) if is_sparse(tensor) else sums.coo_of_dense(array, 2)
        return as_tensor(sums.compressed_of_coo(kind, whole))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        return _in_layout(grad, ctx.before), None


@node("ToSparseCsrBackward0")
class _ToCsr(_Compress):
    pass


@node("ToSparseCscBackward0")
class _ToCsc(_Compress):
    pass


def _in_layout(tensor: Tensor, kind: layout) -> Tensor:
    """A gradient in the layout of what it is the gradient of."""
    if kind is strided:
        return to_dense(tensor)
    return to_sparse(tensor) if kind is sparse_coo else to_compressed(tensor, kind)


def to_csr(tensor: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix compressed by rows."""
    return to_compressed(tensor, sparse_csr, dense_dim)


def to_compressed(tensor: Tensor, kind: layout, dense_dim: int | None = None) -> Tensor:
    """A matrix compressed by rows or by columns."""
    if tensor.layout is kind:
        return tensor
    name = "SparseCsr" if kind is sparse_csr else "SparseCsc"
    dims = sparse_of(tensor).sparse_dim if is_sparse(tensor) else tensor._array.ndim
    if dense_dim or dims != 2 or tensor._array.ndim != 2:
        if tensor._array.ndim < 2 and kind is sparse_csc:
            count = max(tensor._array.ndim, 1)
            raise explained(
                IndexError(
                    f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
                    "but got 1)"
                ),
                code="RG205",
            )
        if tensor._array.ndim < 2:
            raise runtime_error(
                f"Expected self to have at least 2 dimensions to convert to {name} "
                f"but got {tensor._array.ndim} dimensions",
                code="RG306",
            )
        raise explained(
            NotImplementedError(
                f"retrograd does not support to_{kind.name}() of anything but matrices without "
                "dense dimensions"
            ),
            code="RG901",
        )
    made: Tensor = apply(_ToCsr if kind is sparse_csr else _ToCsc, tensor, kind)
    return made


@node("ToSparseBackward1")
class _FromCompressed(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        ctx.before = tensor.layout
        array = sums.places_of(sparse_of(tensor))
        if tensor.layout is sparse_csc:
            array = sums.coalesced(array)
            array.coalesced = False  # although it is: PyTorch does not say so either
        return as_tensor(array)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return _in_layout(grad if is_sparse(grad) else to_sparse(grad), ctx.before)


def _from_compressed(tensor: Tensor) -> Tensor:
    made: Tensor = apply(_FromCompressed, tensor)
    return made


# ----------------------------------------------------------------------------- values and places


@node("SparseCooTensorWithDimsAndTensorsBackward0")
class _FromValues(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, values: Tensor, indices: Any, shape: Any, coalesced: bool
    ) -> Tensor:
        ctx.indices, ctx.shape = indices, shape
        return as_tensor(coo(indices, values._array, shape, coalesced))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return take_places(grad, ctx.indices, ctx.shape), None, None, None


def from_values(indices: object, values: Tensor, shape: tuple[int, ...], coalesced: bool) -> Tensor:
    """A COO tensor of given entries, which may share a place; gradients go to the values."""
    made: Tensor = apply(_FromValues, values, indices, shape, coalesced)
    return made


@node("SparseCompressedTensorBackward0")
class _FromCompressedValues(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, values: Tensor, kind: layout, indices: Any, shape: Any) -> Tensor:
        ctx.pattern = kind, indices, shape
        made = SparseArray(kind, indices, values._array, shape, ascending(*indices))
        return as_tensor(made)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        kind, indices, shape = ctx.pattern
        pattern = SparseArray(kind, indices, np.zeros(indices[1].shape, np.float32), shape)
        return take_places(grad, sums.places_of(pattern).indices, shape), None, None, None


def from_compressed_values(
    kind: layout, indices: tuple[Any, Any], values: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """A compressed tensor of given entries; gradients go to the values."""
    made: Tensor = apply(_FromCompressedValues, values, kind, indices, shape)
    return made


class _TakePlaces(Function):
    """The elements of a tensor at given places; backward puts them there."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, indices: Any, shape: Any) -> Tensor:
        ctx.indices, ctx.shape = indices, shape
        ctx.was_sparse = is_sparse(tensor)
        return wrap(sums.values_at(tensor._array, indices, shape[: indices.shape[0]]))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        made = from_values(ctx.indices, grad, ctx.shape, False)
        return (made if ctx.was_sparse else to_dense(made)), None, None


def take_places(tensor: Tensor, indices: object, shape: tuple[int, ...]) -> Tensor:
    """The elements of a dense or sparse tensor at given places: zeros where it has none."""
    made: Tensor = apply(_TakePlaces, tensor, indices, shape)
    return made


@node("CoalesceBackward0")
class _Coalesce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        return as_tensor(sums.coalesced(sparse_of(tensor)))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return grad


def coalesce(tensor: Tensor) -> Tensor:
    """Entries sorted by place, and those that share one summed; itself if that is so already."""
    refuse_strided("coalesce", tensor, "coo")
    if sparse_of(tensor).coalesced:
        return tensor
    made: Tensor = apply(_Coalesce, tensor)
    return made


def coalesced_pattern(tensor: Tensor) -> SparseArray:
    """The places of a tensor, each once, in the tensor's own layout."""
    array = sparse_of(tensor)
    return sums.coalesced(array) if array.layout is sparse_coo else array


@node("ValuesBackward0")
class _Values(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        array = sparse_of(tensor)
        ctx.pattern = (array.layout, array.indices, array.shape)
        return wrap(array.values.view())

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        kind, indices, shape = ctx.pattern
        if kind is not sparse_coo:
            return from_compressed_values(kind, indices, grad, shape)
        made = from_values(indices, grad, shape, True)
        sparse_of(made).kept = True
        return made


def values(tensor: Tensor) -> Tensor:
    """The values of a sparse tensor; a coalesced one, if it is COO."""
    if not is_sparse(tensor):
        raise runtime_error("values expected sparse tensor layout but got Strided", code="RG306")
    if tensor.layout is sparse_coo and not sparse_of(tensor).coalesced:
        raise runtime_error(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first",
            code="RG307",
        )
    made: Tensor = apply(_Values, tensor)
    return made


def indices(tensor: Tensor) -> Tensor:
    """The places of the values of a coalesced COO tensor, one column each."""
    refuse_strided("indices", tensor, "coo")
    if not sparse_of(tensor).coalesced:
        raise runtime_error(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first",
            code="RG307",
        )
    return wrap(sparse_of(tensor).indices)


# -------------------------------------------------------------------------------------- by a mask


@node("SparseMaskBackward0")
class _Mask(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, mask: SparseArray) -> Tensor:
        ctx.mask = mask
        ctx.was_sparse = is_sparse(tensor)
        pattern = mask if mask.layout is sparse_coo else sums.places_of(mask)
        sizes = mask.shape[: pattern.sparse_dim]
        values = sums.values_at(tensor._array, pattern.indices, sizes)
        made = SparseArray(mask.layout, mask.indices, values, mask.shape, mask.coalesced)
        made.plans = mask.plans
        return as_tensor(made)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        if ctx.was_sparse:
            return sparse_mask(to_dense(grad), coalesced_pattern(as_tensor(ctx.mask))), None
        return to_dense(sparse_mask(grad, ctx.mask)), None


def sparse_mask(tensor: Tensor, mask: Any) -> Tensor:
    """The elements of a tensor at the places that a sparse tensor has entries for."""
    if isinstance(mask, Tensor):
        if not is_sparse(mask):
            raise missing("sparse_mask", mask)
        mask = sparse_of(mask)
    if tensor._array.shape != mask.shape:
        raise runtime_error(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(tensor._array.shape)} but mask has size {list(mask.shape)}",
            code="RG201",
        )
    made: Tensor = apply(_Mask, tensor, mask)
    return made


# ------------------------------------------------------------------------------------------ dtype


@node("ToCopyBackward0")
class _Cast(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, target: Any) -> Tensor:
        array = sparse_of(tensor)
        ctx.before = dtypes.from_numpy_dtype(array.dtype)
        values = cast_array(array.values, target)
        made = SparseArray(array.layout, array.indices, values, array.shape, array.coalesced)
        made.plans = array.plans
        return as_tensor(made)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        return grad.to(ctx.before), None


def cast(tensor: Tensor, target: object) -> Tensor:
    """A sparse tensor with values of another (NumPy) dtype."""
    made: Tensor = apply(_Cast, tensor, target)
    return made


def converted(tensor: Tensor, wanted: dtypes.dtype | None, copy: bool) -> Tensor:
    """`Tensor.to` for sparse tensors."""
    if wanted is None or wanted is tensor.dtype:
        return tensor.clone() if copy else tensor
    return cast(tensor, wanted.numpy)
