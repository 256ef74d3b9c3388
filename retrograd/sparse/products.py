"""Matrix products with sparse operands, and their gradients.

`torch.mm` and ``@`` give the sparse operand a dense gradient, as PyTorch does; `torch.sparse.mm`
gives it one that has entries only where the operand has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.function import Function, FunctionCtx
from retrograd.engine import sparse_sums as sums
from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.engine.state import STATE
from retrograd.engine.views import edge_of
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.ops.making.arguments import as_element
from retrograd.sparse.conversions import (
    coalesced_pattern,
    from_compressed_values,
    from_values,
    take_places,
    to_dense,
    to_sparse,
)
from retrograd.sparse.graph import apply, as_tensor, is_sparse, missing, node, sparse_of
from retrograd.sparse.rearranging import permute
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import sparse_coo


def _check(sparse: Tensor, dense: Tensor) -> None:
    """A sparse matrix and a dense one that can be multiplied."""
    array = sparse_of(sparse)
    if array.sparse_dim != 2 or array.dense_dim:
        raise runtime_error(
            f"addmm: matrices expected, got {array.sparse_dim}D tensor", code="RG202"
        )
    if dense._array.ndim != 2:
        raise runtime_error(
            f"addmm: matrices expected, got {dense._array.ndim}D tensor", code="RG202"
        )
    if dense._array.shape[0] != array.shape[1] and sparse.layout is not sparse_coo:
        (rows, inner), (height, columns) = array.shape, dense._array.shape
        raise runtime_error(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {height}x{columns})",
            code="RG202",
        )
    if dense._array.shape[0] != array.shape[1]:
        raise runtime_error(
            f"addmm: Argument #3 (dense): Expected dim 0 size {array.shape[1]}, got "
            f"{dense._array.shape[0]}",
            code="RG202",
        )
    check_dtypes(sparse, dense)


def check_dtypes(one: Tensor, two: Tensor) -> None:
    """Both operands of a product have one dtype."""
    if one.dtype is not two.dtype:
        raise runtime_error(
            f"expected scalar type {one.dtype.type_name} but found {two.dtype.type_name}",
            code="RG301",
        )


def _times(sparse: Tensor, dense: Tensor) -> Tensor:
    return wrap(sums.times_dense(sparse_of(sparse), dense._array))


def _transposed_times(sparse: Tensor, dense: Tensor) -> Tensor:
    """``sparse.T @ dense``, conjugated; recorded, for gradients."""
    made: Tensor = apply(_TransposedProduct, sparse, dense)
    return made


def _real_only(tensor: Tensor, name: str) -> None:
    if tensor.dtype.is_complex:
        raise errors.unsupported(f"gradients of {name} of complex sparse tensors")


class _TransposedProduct(Function):
    """``a.T @ b`` of a sparse and a dense matrix, without making the transpose."""

    @staticmethod
    def forward(ctx: FunctionCtx, sparse: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(sparse, dense)
        return wrap(sums.times_dense(sparse_of(sparse), dense._array, True))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        sparse, dense = ctx.saved_tensors
        needs = ctx.needs_input_grad
        of_sparse = masked_product(sparse, dense, grad) if needs[0] else None
        return of_sparse, mm(sparse, grad) if needs[1] else None


@node("MmBackward0")
class _Mm(Function):
    """The product of a sparse matrix and a dense one; the sparse one's gradient is dense."""

    @staticmethod
    def forward(ctx: FunctionCtx, sparse: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(sparse, dense)
        return _times(sparse, dense)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        sparse, dense = ctx.saved_tensors
        _real_only(sparse, "mm")
        needs = ctx.needs_input_grad
        of_sparse = grad @ dense.t() if needs[0] else None
        return of_sparse, _transposed_times(sparse, grad) if needs[1] else None


@node("MmBackward0")
class _DenseSparse(Function):
    """The product of a dense matrix and a sparse one."""

    @staticmethod
    def forward(ctx: FunctionCtx, dense: Tensor, sparse: Tensor) -> Tensor:
        ctx.save_for_backward(dense, sparse)
        return wrap(sums.times_dense(sparse_of(sparse), dense._array.T, True).T)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        dense, sparse = ctx.saved_tensors
        _real_only(sparse, "mm")
        needs = ctx.needs_input_grad
        of_dense = mm(sparse, grad.t()).t() if needs[0] else None
        return of_dense, dense.t() @ grad if needs[1] else None


@node("MmBackward0")
class _SparseSparseMm(Function):
    """The product of two sparse matrices, by ``@``."""

    @staticmethod
    def forward(ctx: FunctionCtx, one: Tensor, two: Tensor) -> Tensor:
        ctx.save_for_backward(one, two)
        made = sums.times_sparse(sparse_of(one), sparse_of(two))
        return as_tensor(made if one.layout is sparse_coo else sums.csr_of_coo(made))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        one, two = ctx.saved_tensors
        _real_only(one, "mm")
        needs = ctx.needs_input_grad
        of_one = mm(grad, to_dense(two).t() if not is_sparse(grad) else _turned(two))
        of_two = mm(_turned(one), grad) if needs[1] else None
        return (of_one if needs[0] else None), of_two


def _turned(tensor: Tensor) -> Tensor:
    return permute(to_sparse(tensor), (1, 0))


def mm(one: Tensor, two: Tensor) -> Tensor:
    """`torch.mm` where an operand is sparse."""
    if is_sparse(one) and is_sparse(two):
        _check_matrices(one, two)
        check_dtypes(one, two)
        function: Any = _SparseSparseMm
    elif is_sparse(one):
        _check(one, two)
        function = _Mm
    else:
        _check_matrices(one, two)
        check_dtypes(one, two)
        function = _DenseSparse
    made: Tensor = apply(function, one, two)
    return made


def _check_matrices(one: Tensor, two: Tensor) -> None:
    for tensor in (one, two):
        if tensor._array.ndim != 2 or (is_sparse(tensor) and sparse_of(tensor).dense_dim):
            raise runtime_error(
                f"addmm: matrices expected, got {tensor._array.ndim}D tensor", code="RG202"
            )
    (rows, inner), (height, columns) = one._array.shape, two._array.shape
    if inner != height:
        raise runtime_error(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {height}x{columns})",
            code="RG202",
        )


# ---------------------------------------------------------------------------- torch.sparse.mm


def masked_product(pattern: Tensor, one: Tensor, two: Tensor) -> Tensor:
    """``one @ two.T`` at the places of a sparse tensor, which is the layout of the result."""
    mask = coalesced_pattern(pattern)
    places = mask.indices if mask.layout is sparse_coo else sums.places_of(mask).indices
    values: Tensor = apply(_ProductsAt, one, two, places)
    if mask.layout is sparse_coo:
        return from_values(places, values, mask.shape, True)
    return from_compressed_values(mask.layout, mask.indices, values, mask.shape)


class _ProductsAt(Function):
    """Elements of ``one @ two.T`` at given places."""

    @staticmethod
    def forward(ctx: FunctionCtx, one: Tensor, two: Tensor, places: Any) -> Tensor:
        ctx.save_for_backward(one, two)
        ctx.places = places
        return wrap(sums.products_at(places, one._array, two._array))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        one, two = ctx.saved_tensors
        needs = ctx.needs_input_grad
        shape = (one._array.shape[0], two._array.shape[0])
        spread = from_values(ctx.places, grad, shape, True)
        of_one = sparse_mm(spread, two) if needs[0] else None
        return of_one, _transposed_times(spread, one) if needs[1] else None, None


def _factor(number: float, array: Array) -> Array:
    """A number as an element of an array, which it has to fit."""
    return np.asarray(as_element(number, dtypes.from_numpy_dtype(array.dtype)), array.dtype)


@node("SparseAddmmBackward0")
class _SparseAddmm(Function):
    """``beta * input + alpha * (sparse @ dense)``; the sparse one's gradient has its entries."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        input: Tensor | None,
        sparse: Tensor,
        dense: Tensor,
        beta: float,
        alpha: float,
    ) -> Tensor:
        ctx.save_for_backward(sparse, dense)
        ctx.scales = (beta, alpha)
        ctx.shape = None if input is None else input._array.shape
        result = sums.times_dense(sparse_of(sparse), dense._array)
        if alpha != 1:
            result *= _factor(alpha, result)
        if input is not None and beta != 0:
            result = result + input._array * _factor(beta, result)
        return wrap(result)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        sparse, dense = ctx.saved_tensors
        _real_only(sparse, "sparse.mm")
        needs = ctx.needs_input_grad
        beta, alpha = ctx.scales
        of_input = of_sparse = of_dense = None
        if needs[0]:
            of_input = (grad if beta == 1 else grad * beta).sum_to_size(ctx.shape)
        scaled = grad if alpha == 1 else grad * alpha
        if needs[1]:
            of_sparse = masked_product(sparse, scaled, dense)
        if needs[2]:
            of_dense = _transposed_times(sparse, scaled)
        return of_input, of_sparse, of_dense, None, None


@node("SparseSparseMatmulBackward0")
class _SparseSparse(Function):
    """The product of two sparse matrices; gradients have entries where the operands have."""

    @staticmethod
    def forward(ctx: FunctionCtx, one: Tensor, two: Tensor) -> Tensor:
        ctx.save_for_backward(one, two)
        return as_tensor(sums.times_sparse(sparse_of(one), sparse_of(two)))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        one, two = ctx.saved_tensors
        _real_only(one, "sparse.mm")
        needs = ctx.needs_input_grad
        if not is_sparse(grad):
            grad = to_sparse(grad)
        of_one = _kept(mm(grad, _turned(two)), one) if needs[0] else None
        return of_one, _kept(mm(_turned(one), grad), two) if needs[1] else None


def _kept(tensor: Tensor, pattern: Tensor) -> Tensor:
    mask = coalesced_pattern(pattern)
    values = take_places(tensor, mask.indices, mask.shape)
    return from_values(mask.indices, values, mask.shape, True)


def sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and another matrix; gradients go to the entries only.

    >>> edges = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], requires_grad=True)
    >>> torch.sparse.mm(edges, torch.ones(2, 1)).sum().backward()
    >>> edges.grad.coalesce().values()
    tensor([1., 1.])
    """
    if reduce is not None and reduce != "sum":
        raise errors.unsupported(f"torch.sparse.mm(reduce={reduce!r})")
    for tensor in (mat1, mat2):
        if tensor._array.ndim < 2:
            raise explained(
                IndexError(
                    "Dimension out of range (expected to be in range of [-1, 0], but got 1)"
                ),
                code="RG205",
            )
    if is_sparse(mat1) and is_sparse(mat2):
        if mat1.layout is not sparse_coo or mat2.layout is not sparse_coo:
            return mm(mat1, mat2)
        _check_matrices(mat1, mat2)
        check_dtypes(mat1, mat2)
        made: Tensor = apply(_SparseSparse, mat1, mat2)
        return made
    if is_sparse(mat2):
        return sparse_mm(_turned(mat2), mat1.t()).transpose(-2, -1)
    if not is_sparse(mat1):
        result: Tensor = mat1 @ mat2
        return result
    _check(mat1, mat2)
    made = apply(_SparseAddmm, None, mat1, mat2, 0, 1)
    return made


def sparse_addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, `mat1` sparse: gradients go to its entries only.

    >>> torch.sparse.addmm(torch.ones(1, 1), torch.eye(1).to_sparse(), torch.ones(1, 1))
    tensor([[2.]])
    """
    if not is_sparse(mat1):
        raise missing("_sparse_addmm", mat1)
    _check(mat1, mat2)
    check_dtypes(mat1, mat)
    made: Tensor = apply(_SparseAddmm, mat, mat1, mat2, beta, alpha)
    return made


# ------------------------------------------------------------------------- the other products


@node("AddmmBackward0")
class _Addmm(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, input: Tensor, sparse: Tensor, dense: Tensor, beta: float, alpha: float
    ) -> Tensor:
        ctx.shape = input._array.shape
        return _SparseAddmm.forward(ctx, input, sparse, dense, beta, alpha)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        sparse, dense = ctx.saved_tensors
        _real_only(sparse, "addmm")
        needs = ctx.needs_input_grad
        beta, alpha = ctx.scales
        scaled = grad if alpha == 1 else grad * alpha
        return (
            (grad if beta == 1 else grad * beta).sum_to_size(ctx.shape) if needs[0] else None,
            scaled @ dense.t() if needs[1] else None,
            _transposed_times(sparse, scaled) if needs[2] else None,
            None,
            None,
        )


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: float = 1, alpha: float = 1) -> Tensor:
    """`torch.addmm` where an operand is sparse."""
    if is_sparse(input):
        if input.layout is sparse_coo:
            raise runtime_error("expand is unsupported for Sparse tensors", code="RG306")
        raise missing("addmm", input)
    if is_sparse(mat1) and not is_sparse(mat2):
        _check(mat1, mat2)
        check_dtypes(mat1, input)
        made: Tensor = apply(_Addmm, input, mat1, mat2, beta, alpha)
        return made
    product = mm(mat1, mat2)
    if is_sparse(product):
        product = to_dense(product)
    total: Tensor = beta * input + alpha * product
    return total


@node("MvBackward0")
class _Mv(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, sparse: Tensor, vector: Tensor) -> Tensor:
        ctx.save_for_backward(sparse, vector)
        return wrap(sums.times_dense(sparse_of(sparse), vector._array[:, None])[:, 0])

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        sparse, vector = ctx.saved_tensors
        _real_only(sparse, "mv")
        needs = ctx.needs_input_grad
        of_sparse = grad.unsqueeze(1) * vector.unsqueeze(0) if needs[0] else None
        of_vector = _transposed_times(sparse, grad.unsqueeze(1)).squeeze(1) if needs[1] else None
        return of_sparse, of_vector


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """`torch.mv` of a sparse matrix and a dense vector."""
    if is_sparse(vec):
        raise missing("mv", vec)
    array = sparse_of(input)
    if array.ndim != 2 or array.sparse_dim != 2 or vec._array.ndim != 1:
        raise runtime_error(f"mv: two tensor dim should be 2 and 1, but got {array.ndim} and "
                f"{vec._array.ndim}", code="RG202")  # fmt: skip
    if array.shape[1] != vec._array.shape[0]:
        raise runtime_error("mv: expected self.size(-1) == vec.size(-1)", code="RG202")
    check_dtypes(input, vec)
    made: Tensor = apply(_Mv, input, vec)
    return made


@node("BmmBackward0")
class _Bmm(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, sparse: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(sparse, dense)
        whole = sums.coalesced(sparse_of(sparse))
        batch, height, width = whole.shape
        other = dense._array
        rows = whole.indices[0] * height + whole.indices[1]
        columns = whole.indices[0] * width + whole.indices[2]
        flat = coo(np.stack([rows, columns]), whole.values, (batch * height, batch * width), True)
        made = sums.times_dense(flat, other.reshape(batch * width, -1))
        return wrap(made.reshape(batch, height, other.shape[2]))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        sparse, dense = ctx.saved_tensors
        _real_only(sparse, "bmm")
        needs = ctx.needs_input_grad
        of_dense = bmm(permute(sparse, (0, 2, 1)), grad) if needs[1] else None
        return (grad @ dense.transpose(1, 2) if needs[0] else None), of_dense


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`torch.bmm` of a batch of sparse matrices and a dense batch."""
    if not is_sparse(input) or is_sparse(mat2) or input.layout is not sparse_coo:
        raise missing("bmm", input if is_sparse(input) else mat2)
    array = sparse_of(input)
    if array.sparse_dim != 3 or array.ndim != 3 or mat2._array.ndim != 3:
        raise runtime_error("bmm_sparse: Tensor 'self' and 'mat2' must be 3D", code="RG202")
    (batch, _, inner), other = array.shape, mat2._array.shape
    if other[0] != batch:
        raise runtime_error(
            "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match", code="RG202"
        )
    if other[1] != inner:
        raise runtime_error(
            "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match", code="RG202"
        )
    check_dtypes(input, mat2)
    made: Tensor = apply(_Bmm, input, mat2)
    return made


def _without_gradient(name: str, result: SparseArray, *operands: Tensor) -> Tensor:
    """The result of a function that PyTorch cannot differentiate."""
    made = as_tensor(result)
    wanted = [tensor for tensor in operands if tensor.requires_grad]
    if STATE.grad_enabled and wanted:
        from retrograd.engine.function_node import underivable

        edges = tuple([edge_of(tensor) for tensor in wanted])
        numbers = tuple([tensor._output_nr for tensor in wanted])
        made._grad_fn = underivable(name, edges, numbers)
        made._grad_fn.shape, made._grad_fn.dtype = result.shape, np.dtype(result.dtype)
        made._requires_grad = True
    return made


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix as a hybrid: rows that are not empty are dense."""
    if not is_sparse(mat1) or is_sparse(mat2):
        raise missing("hspmm", mat1)
    _check(mat1, mat2)
    whole = sums.as_coo(sparse_of(mat1))
    product = sums.times_dense(whole, mat2._array)
    rows = np.unique(whole.indices[0])
    made = coo(rows[None], product[rows], product.shape, False)
    return _without_gradient("hspmm", made, mat1, mat2)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse one."""
    if not is_sparse(input) or is_sparse(mat):
        raise missing("smm", input)
    _check(input, mat)
    whole = sums.as_coo(sparse_of(input))
    product = sums.times_dense(whole, mat._array)
    rows = np.unique(whole.indices[0])
    width = product.shape[1]
    indices = np.stack([np.repeat(rows, width), np.tile(np.arange(width), rows.size)])
    made = coo(indices, product[rows].reshape(-1), product.shape, False)
    return _without_gradient("smm", made, input, mat)
