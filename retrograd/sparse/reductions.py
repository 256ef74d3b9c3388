"""Sums of sparse tensors, and softmax over the entries they have."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.function import Function, FunctionCtx
from retrograd.engine import sparse_sums as sums
from retrograd.engine.sparse_array import Array, SparseArray, coo
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.ops.registry import RECORDED
from retrograd.sparse.arithmetic import with_values
from retrograd.sparse.conversions import (
    coalesce,
    from_values,
    take_places,
)
from retrograd.sparse.graph import (
    apply,
    as_tensor,
    is_sparse,
    layout_name,
    missing,
    node,
    refuse_strided,
    sparse_of,
)
from retrograd.sparse.rearranging import unsqueeze
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import sparse_coo, sparse_csr


def _dims(dim: Any, count: int) -> tuple[int, ...]:
    wanted = (dim,) if isinstance(dim, int) else tuple(dim)
    for one in wanted:
        if not -count <= one < count:
            raise explained(
                IndexError(
                    f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
                    f"but got {one})"
                ),
                code="RG205",
            )
    return tuple(sorted({one % count for one in wanted}))


@node("SumBackward0")
class _SumAll(Function):
    """The sum of everything; its gradient is dense, as in PyTorch."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        ctx.shape = tensor._array.shape
        values = sparse_of(tensor).values
        wide = np.float32 if values.dtype in dtypes.HALF_TYPES else values.dtype
        return wrap(np.asarray(values.sum(dtype=wide), values.dtype))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return grad.expand(ctx.shape)


class _SumDims(Function):
    """The sum over some dimensions, which leaves sparse ones."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(tensor)
        ctx.dims = dims
        made = _summed(sums.coalesced(sparse_of(tensor)), dims)
        # without sparse dimensions it is a dense tensor
        return as_tensor(made) if made.sparse_dim else wrap(sums.dense_of(made))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        (tensor,) = ctx.saved_tensors
        pattern = sums.coalesced(sparse_of(tensor))
        return _spread(grad, pattern, ctx.dims), None


def _summed(array: SparseArray, dims: tuple[int, ...]) -> SparseArray:
    count = array.sparse_dim
    inner = tuple(dim - count + 1 for dim in dims if dim >= count)
    values = array.values.sum(axis=inner, dtype=array.values.dtype) if inner else array.values
    kept = [axis for axis in range(count) if axis not in dims]
    shape = tuple(size for axis, size in enumerate(array.shape) if axis not in dims)
    if len(kept) == count:
        return coo(array.indices, values, shape, True)
    return sums.coalesced(coo(array.indices[kept], values, shape, False))


def _spread(grad: Tensor, pattern: SparseArray, dims: tuple[int, ...]) -> Tensor:
    """A gradient of a sum, at all places of what was summed."""
    count = pattern.sparse_dim
    kept = [axis for axis in range(count) if axis not in dims]
    shape = tuple(size for axis, size in enumerate(pattern.shape) if axis not in dims)
    entries = take_places(grad, pattern.indices[kept], shape) if kept else grad.unsqueeze(0).expand(
        (pattern.nnz, *grad.shape)
    )  # fmt: skip
    for dim in dims:
        if dim >= count:
            entries = entries.unsqueeze(dim - count + 1)
    return from_values(pattern.indices, entries.expand(pattern.values.shape), pattern.shape, True)


@node("SumBackward1")
class _SumBackward(_SumDims):
    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        if is_sparse(grad):
            raise runtime_error("expand is unsupported for Sparse tensors", code="RG306")
        (tensor,) = ctx.saved_tensors
        for dim in ctx.dims:
            grad = grad.unsqueeze(dim)
        return grad.expand(tensor._array.shape), None


@node("SparseSumBackward0")
class _SparseSum(_SumDims):
    pass


def sum_method(
    tensor: Tensor, dim: int | None = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Tensor:
    """`torch.sum` of a sparse tensor."""
    kind = tensor.dtype
    if dtype is not None:
        tensor = tensor.to(dtypes.as_dtype(dtype, "sum"))
    elif kind.category < dtypes.FLOAT:
        tensor = tensor.to(dtypes.int64)
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        made: Tensor = apply(_SumAll, tensor)
        return made
    if tensor.layout is sparse_csr and not keepdim:
        raise runtime_error(
            "reduction operations on CSR tensors with keepdim=False is unsupported", code="RG306"
        )
    if tensor.layout is sparse_csr:
        raise missing("sum.dim_IntList", tensor)
    if tensor.layout is not sparse_coo:
        raise runtime_error(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but "
            f"got layout {layout_name(tensor)}",
            code="RG306",
        )
    dims = _dims(dim, tensor._array.ndim)
    made = apply(_SumBackward, tensor, dims)
    if keepdim:
        for one in dims:
            made = unsqueeze(made, one) if is_sparse(made) else made.unsqueeze(one)
    return made


def sum_all(tensor: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """The op behind `torch.sum` without dimensions."""
    return sum_method(tensor, None, False, dtype)


def sparse_sum(input: Tensor, dim: object = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """The sum of a sparse tensor; gradients go to the entries it has.

    >>> x = torch.eye(2).to_sparse()
    >>> torch.sparse.sum(x), torch.sparse.sum(x, 0).to_dense()
    (tensor(2.), tensor([1., 1.]))
    """
    refuse_strided("coalesce", input, "coo")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        total: Tensor = coalesce(input).values().sum()
        return total
    dims = _dims(dim, input._array.ndim)
    made: Tensor = apply(_SparseSum, input, dims)
    return made


# ---------------------------------------------------------------------------------------- softmax


def _groups(array: SparseArray, dim: int) -> tuple[Array, Array]:
    """For each entry the number of the line along `dim` that it lies on, and an order by them."""
    rest = [axis for axis in range(array.sparse_dim) if axis != dim]
    sizes = tuple(array.shape[axis] for axis in rest)
    _, numbers = np.unique(sums.flat_places(array.indices[rest], sizes), return_inverse=True)
    return numbers, np.argsort(numbers, kind="stable")


def _by_line(values: Array, numbers: Array, order: Array, reduce: Any) -> Array:
    """A reduction of all entries of each line, for each entry."""
    if not numbers.size:
        return values
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    reduced: Array = reduce(values[order], starts, axis=0)[numbers]
    return reduced


class _Softmax(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, dim: int, logarithm: bool) -> Tensor:
        whole = as_tensor(sums.coalesced(sparse_of(tensor)))
        array = sparse_of(whole)
        ctx.dim, ctx.logarithm = dim, logarithm
        values = array.values
        if dim >= array.sparse_dim:
            dense = wrap(values)
            axis = dim - array.sparse_dim + 1
            result = (dense.log_softmax(axis) if logarithm else dense.softmax(axis))._array
        else:
            lines = _groups(array, dim)
            shifted = values - _by_line(values, *lines, np.maximum.reduceat)
            powers = np.exp(shifted)
            total = _by_line(powers, *lines, np.add.reduceat)
            result = shifted - np.log(total) if logarithm else powers / total
        made = with_values(whole, result.astype(values.dtype, copy=False))
        ctx.save_for_backward(made.detach())
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        (result,) = ctx.saved_tensors
        array = sparse_of(result)
        if grad.requires_grad:
            raise missing("_sparse_softmax_backward_data for second derivatives", grad)
        slopes = sums.values_at(grad._array, array.indices, array.shape[: array.sparse_dim])
        values = array.values
        weighted = slopes if ctx.logarithm else slopes * values
        if ctx.dim >= array.sparse_dim:
            total = weighted.sum(ctx.dim - array.sparse_dim + 1, keepdims=True)
        else:
            total = _by_line(weighted, *_groups(array, ctx.dim), np.add.reduceat)
        if ctx.logarithm:
            found = slopes - np.exp(values) * total
        else:
            found = values * (slopes - total)
        return with_values(result, found.astype(values.dtype, copy=False)), None, None


@node("SparseSoftmaxBackward0")
class _SparseSoftmax(_Softmax):
    pass


@node("SparseLogSoftmaxBackward0")
class _SparseLogSoftmax(_Softmax):
    pass


def _softmax(
    name: str, function: Any, input: Tensor, dim: int, dtype: dtypes.dtype | None
) -> Tensor:
    if input.layout is not sparse_coo:
        raise missing(f"_sparse_{name}", input)
    if dtype is not None:
        input = input.to(dtype)
    elif input.dtype.category < dtypes.FLOAT:
        raise explained(
            NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.type_name}'"),
            code="RG304",
        )
    (axis,) = _dims(dim, input._array.ndim)
    made: Tensor = apply(function, input, axis, name == "log_softmax")
    return made


def softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Softmax along a dimension over the entries there are: the others count as minus infinity.

    >>> x = torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> torch.sparse.softmax(x, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    return _softmax("softmax", _SparseSoftmax, input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, over the entries there are.

    >>> x = torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> torch.sparse.log_softmax(x, 1).values()
    tensor([-0.6931, -0.6931])
    """
    return _softmax("log_softmax", _SparseLogSoftmax, input, dim, dtype)


# ------------------------------------------------------------------------------------------- norms


@node("NormBackward1")
class _Norm(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, order: float) -> Tensor:
        ctx.save_for_backward(tensor)
        entries = wrap(sums.as_coo(sparse_of(tensor)).values.reshape(-1))
        return RECORDED.linalg_vector_norm(entries, order)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        raise missing("masked_fill_.Scalar", ctx.saved_tensors[0])


def norm(tensor: Tensor, order: str | float = 2, dim: object = None, **options: object) -> Tensor:
    """`torch.norm` of all entries; PyTorch has no gradient for it."""
    if dim is not None and len(_dims(dim, tensor._array.ndim)) != tensor._array.ndim:
        raise runtime_error(
            "norm_sparse currently only supports full reductions, so 'dim' must either be "
            "empty or contain all dimensions of the input",
            code="RG306",
        )
    given = [name for name, value in options.items() if value]
    if given or order == "nuc":
        what = given[0] if given else "p='nuc'"
        raise errors.unsupported(f"norm({what}) of a tensor of layout {tensor.layout!r}")
    made: Tensor = apply(_Norm, tensor, 2 if order is None or order == "fro" else order)
    return made
