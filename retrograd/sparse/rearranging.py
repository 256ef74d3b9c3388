"""Sparse tensors with entries at other places: transposed, selected, joined, copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.function import Function, FunctionCtx, FunctionMeta
from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.engine.state import STATE
from retrograd.engine.views import bump
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.ops.registry import RECORDED
from retrograd.sparse.conversions import to_sparse
from retrograd.sparse.graph import apply, as_tensor, is_sparse, missing, node, sparse_of
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import sparse_coo, sparse_csc, sparse_csr


def _dim(dim: int, count: int) -> int:
    if not -count <= dim < max(count, 1):
        raise explained(
            IndexError(
                f"Dimension out of range (expected to be in range of [{-max(count, 1)}, "
                f"{max(count, 1) - 1}], but got {dim})"
            ),
            code="RG205",
        )
    return dim % count if count else 0


def _coo_only(name: str, tensor: Tensor) -> SparseArray:
    if tensor.layout is not sparse_coo:
        raise missing(name, tensor)
    return sparse_of(tensor)


# ------------------------------------------------------------------------------------- transposed


class _Permute(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, order: tuple[int, ...]) -> Tensor:
        array = sparse_of(tensor)
        ctx.order = order
        sparse_dim = array.sparse_dim
        indices = array.indices[list(order[:sparse_dim])]
        inner = [axis - sparse_dim + 1 for axis in order[sparse_dim:]]
        values = array.values.transpose([0, *inner])
        shape = tuple(array.shape[axis] for axis in order)
        unmoved = order[:sparse_dim] == tuple(range(sparse_dim))
        return as_tensor(coo(indices, values, shape, array.coalesced and unmoved))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        back = tuple(int(axis) for axis in np.argsort(ctx.order))
        if not is_sparse(grad):
            return grad.permute(back), None
        return permute(grad, back), None


@node("PermuteBackward0")
class _PermuteAny(_Permute):
    pass


@node("TransposeBackward0")
class _Transpose(_Permute):
    pass


@node("TBackward0")
class _T(_Permute):
    pass


def permute(tensor: Tensor, dims: Any, function: Any = _PermuteAny) -> Tensor:
    """Dimensions in another order; sparse and dense ones stay among themselves."""
    array = _coo_only("permute", tensor)
    if len(dims) != array.ndim:
        raise runtime_error(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {array.ndim} is "
            f"not equal to len(dims) = {len(dims)}",
            code="RG205",
        )
    order = tuple(_dim(dim, array.ndim) for dim in dims)
    if len(set(order)) != len(order):
        raise runtime_error("permute(): duplicate dims are not allowed.", code="RG205")
    if any(axis >= array.sparse_dim for axis in order[: array.sparse_dim]):
        raise runtime_error(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed.Only transpositions within sparse and dense dimensions are supported.",
            code="RG205",
        )
    made: Tensor = apply(function, tensor, order)
    return made


class _Turned(Function):
    """The transpose of a compressed matrix: what were rows are columns, and nothing is moved."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        array = sparse_of(tensor)
        kind = sparse_csc if array.layout is sparse_csr else sparse_csr
        shape = array.shape[::-1]
        return as_tensor(SparseArray(kind, array.indices, array.values, shape, array.coalesced))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return grad.transpose(0, 1)


@node("TBackward0")
class _TurnedT(_Turned):
    pass


@node("TransposeBackward0")
class _TurnedTranspose(_Turned):
    pass


def transpose(tensor: Tensor, dim0: int, dim1: int, function: FunctionMeta = _Transpose) -> Tensor:
    """Two dimensions swapped."""
    count = tensor._array.ndim
    order = list(range(count))
    one, two = _dim(dim0, count), _dim(dim1, count)
    if tensor.layout is not sparse_coo:
        if one == two:
            return tensor
        turned: Tensor = apply(_TurnedT if function is _T else _TurnedTranspose, tensor)
        return turned
    if count:
        order[one], order[two] = order[two], order[one]
    return permute(tensor, order, function)


def t(tensor: Tensor) -> Tensor:
    """A matrix with rows and columns swapped."""
    array = sparse_of(tensor)
    if tensor.layout is sparse_coo and (array.sparse_dim > 2 or array.dense_dim):
        raise runtime_error(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{array.sparse_dim} sparse and {array.dense_dim} dense dimensions",
            code="RG205",
        )
    return transpose(tensor, 0, 0 if array.ndim < 2 else 1, _T)


# --------------------------------------------------------------------------------- parts of it


class _Refused(Function):
    """A function whose gradient PyTorch cannot compute for a sparse tensor."""

    lacking = ""

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        raise missing(ctx.lacking, grad if is_sparse(grad) else ctx.saved_tensors[0])


@node("IndexSelectBackward0")
class _IndexSelect(_Refused):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, dim: int, index: Array) -> Tensor:
        ctx.lacking = "index_add_"
        ctx.save_for_backward(tensor)
        array = sparse_of(tensor)
        shape = (*array.shape[:dim], index.size, *array.shape[dim + 1 :])
        if dim >= array.sparse_dim:
            values = array.values.take(index, axis=dim - array.sparse_dim + 1)
            return as_tensor(coo(array.indices, values, shape, array.coalesced))
        order = np.argsort(array.indices[dim], kind="stable")
        row = array.indices[dim][order]
        first, last = np.searchsorted(row, index), np.searchsorted(row, index, side="right")
        counts = last - first
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        spots = order[np.repeat(first, counts) + offsets]
        indices = array.indices[:, spots]
        indices[dim] = np.repeat(np.arange(index.size), counts)
        return as_tensor(coo(indices, array.values[spots], shape, False))


def index_select(tensor: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices that `index` names."""
    array = _coo_only("index_select", tensor)
    dim = _dim(dim, array.ndim)
    numbers = np.atleast_1d(index._array)
    size = array.shape[dim]
    if numbers.size and (numbers.min() < -size or numbers.max() >= size):
        bad = numbers[(numbers < -size) | (numbers >= size)][0]
        raise explained(
            IndexError(
                f"index_select(): index contains {int(bad)} that is out of range for tensor of "
                f"size {list(array.shape)} at dimension {dim}"
            ),
            code="RG204",
        )
    made: Tensor = apply(_IndexSelect, tensor, dim, numbers % size if size else numbers)
    return made


@node("SelectBackward0")
class _Select(_Refused):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, dim: int, index: int) -> Tensor:
        ctx.lacking = "select_backward"
        ctx.place = (dim, index)
        ctx.save_for_backward(tensor)
        array = sparse_of(tensor)
        shape = (*array.shape[:dim], *array.shape[dim + 1 :])
        if dim >= array.sparse_dim:
            values = array.values.take(index, axis=dim - array.sparse_dim + 1)
            return as_tensor(coo(array.indices, values, shape, array.coalesced))
        spots = np.flatnonzero(array.indices[dim] == index)
        if array.sparse_dim == 1:
            dtype = array.values.dtype
            return wrap(np.asarray(array.values[spots].sum(0, dtype=dtype)))
        rest = [axis for axis in range(array.sparse_dim) if axis != dim]
        indices = array.indices[rest][:, spots]
        coalesced = array.coalesced and dim == 0
        return as_tensor(coo(indices, array.values[spots], shape, coalesced))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        (tensor,) = ctx.saved_tensors
        if is_sparse(grad):
            raise missing(ctx.lacking, grad)
        dim, index = ctx.place
        zeros = wrap(np.zeros(tensor._array.shape, grad._array.dtype))
        return RECORDED.select_scatter(zeros, grad, dim, index), None, None


def select(tensor: Tensor, dim: int, index: int) -> Tensor:
    """One slice; dense once no sparse dimension is left."""
    compressed = tensor.layout is not sparse_coo
    if compressed:
        tensor = to_sparse(tensor)
    array = sparse_of(tensor)
    if not array.ndim:
        raise explained(IndexError("select() cannot be applied to a 0-dim tensor."), code="RG204")
    dim = _dim(dim, array.ndim)
    size = array.shape[dim]
    if not -size <= index < size:
        raise explained(
            IndexError(
                f"select(): index {index} out of range for tensor of size {list(array.shape)} at "
                f"dimension {dim}"
            ),
            code="RG204",
        )
    made: Tensor = apply(_Select, tensor, dim, int(index) % size)
    if compressed and is_sparse(made):
        sparse_of(made).coalesced = True  # a row or a column of entries that are in order
    return made


def unbind(tensor: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All slices."""
    _coo_only("unbind", tensor)
    return tuple(select(tensor, dim, index) for index in range(tensor._array.shape[dim]))


@node("UnsqueezeBackward0")
class _Unsqueeze(_Refused):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, dim: int) -> Tensor:
        ctx.lacking = "as_strided"
        ctx.save_for_backward(tensor)
        array = sparse_of(tensor)
        shape = (*array.shape[:dim], 1, *array.shape[dim:])
        if dim > array.sparse_dim:
            values = np.expand_dims(array.values, dim - array.sparse_dim + 1)
            return as_tensor(coo(array.indices, values, shape, array.coalesced))
        indices = np.insert(array.indices, dim, 0, axis=0)
        return as_tensor(coo(indices, array.values, shape, False))


def unsqueeze(tensor: Tensor, dim: int) -> Tensor:
    """A new dimension of size 1."""
    array = _coo_only("unsqueeze", tensor)
    made: Tensor = apply(_Unsqueeze, tensor, _dim(dim, array.ndim + 1))
    return made


# ------------------------------------------------------------------------------------------ joined


def _check_joined(tensors: list[Tensor]) -> None:
    for position, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise runtime_error(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}.",
                code="RG306",
            )
        _coo_only("cat", tensor)


@node("CatBackward0")
class _Cat(_Refused):
    @staticmethod
    def forward(ctx: FunctionCtx, dim: int, *tensors: Tensor) -> Tensor:
        ctx.lacking = "as_strided"
        ctx.save_for_backward(*tensors)
        return as_tensor(_joined([sparse_of(x) for x in tensors], dim))


def _joined(arrays: list[Any], dim: int) -> SparseArray:
    first = arrays[0]
    shape = list(first.shape)
    shape[dim] = sum(array.shape[dim] for array in arrays)
    if dim < first.sparse_dim:
        parts, offset = [], 0
        for array in arrays:
            moved = array.indices.copy()
            moved[dim] += offset
            offset += array.shape[dim]
            parts.append(moved)
        values = np.concatenate([array.values for array in arrays])
        return coo(np.concatenate(parts, axis=1), values, tuple(shape), False)
    axis, offset, entries = dim - first.sparse_dim + 1, 0, []
    for array in arrays:
        size = array.shape[dim]
        padding = [(0, 0)] * array.values.ndim
        padding[axis] = (offset, shape[dim] - offset - size)
        entries.append(np.pad(array.values, padding))
        offset += size
    indices = np.concatenate([array.indices for array in arrays], axis=1)
    return coo(indices, np.concatenate(entries), tuple(shape), False)


def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Sparse tensors one after another."""
    tensors = list(tensors)
    _check_joined(tensors)
    first = sparse_of(tensors[0])
    dim = _dim(dim, first.ndim)
    for position, tensor in enumerate(tensors):
        array = sparse_of(tensor)
        same = array.sparse_dim == first.sparse_dim and array.dense_dim == first.dense_dim
        rest = [size for axis, size in enumerate(array.shape) if axis != dim]
        expected = [size for axis, size in enumerate(first.shape) if axis != dim]
        if not same:
            raise runtime_error(
                "All tensors must have the same number of sparse and dense dimensions: "
                f"tensor 0 has {first.sparse_dim} and {first.dense_dim}, but tensor at "
                f"position {position} has {array.sparse_dim}, {array.dense_dim}.",
                code="RG206",
            )
        if rest != expected:
            raise runtime_error(
                f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(array.shape)} at position "
                f"{position}",
                code="RG206",
            )
        if tensor.dtype is not tensors[0].dtype:
            raise errors.unsupported("cat of sparse tensors of different dtypes")
    made: Tensor = apply(_Cat, dim, *tensors)
    return made


@node("StackBackward0")
class _Stack(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, dim: int, *tensors: Tensor) -> Tensor:
        ctx.dim = dim
        arrays = []
        for x in tensors:
            array = sparse_of(x)
            shape = (*array.shape[:dim], 1, *array.shape[dim:])
            if dim > array.sparse_dim:
                values = np.expand_dims(array.values, dim - array.sparse_dim + 1)
                arrays.append(coo(array.indices, values, shape, False))
            else:
                indices = np.insert(array.indices, dim, 0, axis=0)
                arrays.append(coo(indices, array.values, shape, False))
        return as_tensor(_joined(arrays, dim))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *grad.unbind(ctx.dim))


def stack(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Sparse tensors along a new dimension."""
    tensors = list(tensors)
    _check_joined(tensors)
    shapes = [tuple(x._array.shape) for x in tensors]
    for position, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise runtime_error(
                f"stack expects each tensor to be equal size, but got {list(shapes[0])} at "
                f"entry 0 and {list(shape)} at entry {position}",
                code="RG206",
            )
    made: Tensor = apply(_Stack, _dim(dim, len(shapes[0]) + 1), *tensors)
    return made


# ------------------------------------------------------------------------------------------ copied


@node("CloneBackward0")
class _Clone(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        return as_tensor(sparse_of(tensor).copy())

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return grad


def clone(tensor: Tensor) -> Tensor:
    """A copy of indices and values."""
    made: Tensor = apply(_Clone, tensor)
    return made


def copy_in_place(target: Tensor, source: Tensor) -> Tensor:
    """`copy_` between sparse tensors."""
    if not is_sparse(target) or not is_sparse(source):
        raise runtime_error(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{target.type()} and src type = {source.type()}",
            code="RG306",
        )
    if STATE.grad_enabled and (target.requires_grad or source.requires_grad):
        raise errors.unsupported("recording copy_ of a sparse tensor")
    array = sparse_of(source).copy()
    if source.dtype is not target.dtype:
        array = array.astype(target.dtype.numpy)
    sparse_of(target).become(array)
    bump(target, "copy_")
    return target
