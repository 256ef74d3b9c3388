"""Symmetric indefinite matrices: `linalg.ldl_factor` and `linalg.ldl_solve`.

NumPy has no such decomposition, so here is the method of Bunch and Kaufman, packed as LAPACK packs
it: L below the diagonal, blocks of one or two rows of D on it, and pivots that are negative for
blocks of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

from retrograd import dtypes, return_types
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import I32, batch_shape, first_failure, matrices, require
from retrograd.ops.registry import RECORDED, inner_op, linalg_function
from retrograd.samples import COMPLEX, FLOATS, Sample, T
from retrograd.tensor import Tensor

_FIELDS = (*FLOATS, *COMPLEX)
_THRESHOLD = (1 + math.sqrt(17)) / 8  # keeps the growth of elements smallest


def _no_derivative(name: str) -> NoReturn:
    raise errors.no_derivative(f"aten::{name}")


def _size(xp: Namespace, values: Array) -> Array:
    """LAPACK's measure of complex numbers: cheaper than the modulus."""
    return xp.abs(values.real) + xp.abs(values.imag)


def _pivot(xp: Namespace, a: Array, k: int, n: int) -> tuple[int, int]:
    """Which row comes next, and whether it is a block of one or two."""
    own = float(_size(xp, a[k, k]))
    if k == n - 1:
        return k, 1
    below = _size(xp, a[k + 1 :, k])
    largest = k + 1 + int(below.argmax())
    column = float(below.max())
    if max(own, column) == 0 or own >= _THRESHOLD * column:
        return k, 1
    row = float(_size(xp, a[largest, k:largest]).max())
    if largest < n - 1:
        row = max(row, float(_size(xp, a[largest + 1 :, largest]).max()))
    if own >= _THRESHOLD * column * (column / row):
        return k, 1
    if float(_size(xp, a[largest, largest])) >= _THRESHOLD * row:
        return largest, 1
    return largest, 2


def _exchange(a: Array, first: int, second: int, conjugate: bool) -> None:
    """Exchange two rows and columns of a symmetric matrix whose lower half is stored."""
    a[second + 1 :, [first, second]] = a[second + 1 :, [second, first]]
    between = slice(first + 1, second)
    column, row = a[between, first].copy(), a[second, between].copy()
    a[between, first] = row.conj() if conjugate else row
    a[second, between] = column.conj() if conjugate else column
    if conjugate:
        a[second, first] = a[second, first].conj()
    a[[first, second], [first, second]] = a[[second, first], [second, first]]


def _decompose(xp: Namespace, a: Array, conjugate: bool) -> tuple[Array, Array, int]:
    a = xp.tril(a)
    n = len(a)
    if conjugate:  # the diagonal of a Hermitian matrix is real
        xp.fill_diagonal(a, a.diagonal().real)
    pivots = xp.zeros(n, I32)
    info = 0
    k = 0
    while k < n:
        chosen, width = _pivot(xp, a, k, n)
        last = k + width - 1
        if chosen != last:
            _exchange(a, last, chosen, conjugate)
            if width == 2:
                a[k + 1, k], a[chosen, k] = a[chosen, k], a[k + 1, k]
        pivots[k : k + width] = chosen + 1 if width == 1 else -(chosen + 1)
        rest = slice(k + width, n)
        block = _block(a, k, width, conjugate)
        if width == 1 and block[0, 0] == 0:
            info = info or k + 1
        elif k + width < n:
            column = a[rest, k : k + width]
            weights = xp.linalg.solve(block.T, column.T).T
            turned = column.conj() if conjugate else column
            a[rest, rest] -= xp.tril(weights @ turned.T)
            if conjugate:  # without what rounding left
                inner = xp.arange(k + width, n)
                a[inner, inner] = a[inner, inner].real
            a[rest, k : k + width] = weights
        k += width
    return a, pivots, info


def _block(a: Array, k: int, width: int, conjugate: bool) -> Array:
    """A block of D: one element, or two rows of which the lower half is stored."""
    block: Array = a[k : k + width, k : k + width].copy()
    if width == 2:
        block[0, 1] = block[1, 0].conj() if conjugate else block[1, 0]
    return block


@inner_op(
    outputs=3,
    nondifferentiable=(1, 2),
    input=lambda m, g, input_shape: _no_derivative("linalg_ldl_factor_ex"),
    node_name="NotImplemented",
    returns=return_types.linalg_ldl_factor_ex,
    fast=False,
)
def linalg_ldl_factor_ex(
    xp: Namespace, input: Array, hermitian: bool
) -> tuple[Array, Array, Array]:
    """L and D packed in one matrix, LAPACK's pivots, and the number of a zero pivot."""
    found: tuple[Array, Array, Array] = xp.on_host(_factor_all, input, hermitian)
    return found


def _factor_all(xp: Namespace, input: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    lead, n = input.shape[:-2], input.shape[-1]
    flat = input.reshape((-1, n, n)) if input.size else input.reshape((math.prod(lead), n, n))
    packed, pivots = xp.empty_like(flat), xp.zeros((len(flat), n), I32)
    info = xp.zeros(len(flat), I32)
    conjugate = hermitian and input.dtype.kind == "c"
    for number, matrix in enumerate(flat):
        packed[number], pivots[number], info[number] = _decompose(xp, matrix, conjugate)
    return packed.reshape(input.shape), pivots.reshape((*lead, n)), info.reshape(lead)


def _factor_samples() -> list[Sample]:
    awkward = T(values=[[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    return [
        Sample(T(5, 5), grad=False, dtypes=_FIELDS),
        Sample(T(2, 4, 4), grad=False, dtypes=_FIELDS),
        Sample(T(4, 4), hermitian=True, grad=False, dtypes=_FIELDS),
        Sample(T(7, 7), hermitian=True, grad=False, dtypes=_FIELDS),
        Sample(awkward, grad=False),
        Sample(T(1, 1), grad=False),
        Sample(T(0, 0), grad=False),
        Sample(T(2, 3), error=(RuntimeError, "torch.linalg.ldl_factor_ex: A must be bat")),
        Sample(T(3), error=(RuntimeError, "torch.linalg.ldl_factor_ex: The input tensor")),
        Sample(T(2, 2, dtype="int64"), error=(RuntimeError, "torch.linalg.ldl_factor_ex: Exp")),
    ]


def _factor(
    name: str, A: Tensor, hermitian: bool, check: bool
) -> return_types.linalg_ldl_factor_ex:
    matrices(f"linalg_{name}", "torch.linalg.ldl_factor_ex", A)
    result = RECORDED.linalg_ldl_factor_ex(A, bool(hermitian))
    failure = first_failure(result[2]._elements()) if check else None
    if failure is not None:
        where, number = failure
        raise RuntimeError(
            f"torch.linalg.{name}: {where}the block {number} of D is zero: the matrix is singular"
        )
    return result


@linalg_function(samples=_factor_samples)
def ldl_factor(
    A: Tensor, *, hermitian: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_ldl_factor:
    """L and D of ``A = L @ D @ L.mT`` (or ``L.mH``) in one matrix, and LAPACK's pivots."""
    packed, pivots, _ = _factor("ldl_factor", A, hermitian, True)
    if out is not None:
        packed, pivots = (
            finish("linalg_ldl_factor", found, target)
            for found, target in zip((packed, pivots), out, strict=True)
        )
    return return_types.linalg_ldl_factor(packed, pivots)


@linalg_function(
    samples=lambda: [*_factor_samples(), Sample(T(values=[[0.0, 0.0], [0.0, 0.0]]), grad=False)]
)
def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_ldl_factor_ex:
    """`ldl_factor` that reports a singular matrix in `info` instead of raising."""
    result = _factor("ldl_factor_ex", A, hermitian, check_errors)
    if out is None:
        return result
    pairs = zip(result, out, strict=True)
    return return_types.linalg_ldl_factor_ex(
        *(finish("linalg_ldl_factor_ex", found, target) for found, target in pairs)
    )


# ---------------------------------------------------------------------------------------- solve


def _solve_one(xp: Namespace, packed: Array, pivots: Array, right: Array, conjugate: bool) -> Array:
    x = right.copy()
    n = len(packed)

    def exchange(first: int, second: int) -> None:
        x[[first, second]] = x[[second, first]]

    k = 0
    while k < n:
        width = 1 if pivots[k] > 0 else 2
        exchange(k + width - 1, abs(int(pivots[k])) - 1)
        rows = slice(k, k + width)
        x[k + width :] -= packed[k + width :, rows] @ x[rows]
        x[rows] = xp.linalg.solve(_block(packed, k, width, conjugate), x[rows])
        k += width
    k = n - 1
    while k >= 0:
        width = 1 if pivots[k] > 0 else 2
        rows = slice(k - width + 1, k + 1)
        column = packed[k + 1 :, rows]
        x[rows] -= (column.conj() if conjugate else column).T @ x[k + 1 :]
        exchange(k, abs(int(pivots[k])) - 1)
        k -= width
    return x


@inner_op(
    LD=lambda m, g, LD_shape: _no_derivative("linalg_ldl_solve"),
    B=lambda m, g, B_shape: _no_derivative("linalg_ldl_solve"),
    node_name="NotImplemented",
    fast=False,
)
def linalg_ldl_solve(xp: Namespace, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """The X with ``A @ X = B``, from the packed decomposition of A."""
    return xp.on_host(_solve_all, LD, pivots, B, hermitian)


def _solve_all(xp: Namespace, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    lead = batch_shape(LD.shape[:-2], B.shape[:-2])
    n, columns = B.shape[-2:]
    count = math.prod(lead)
    packed = xp.broadcast_to(LD, (*lead, n, n)).reshape((count, n, n))
    order = xp.broadcast_to(pivots, (*lead, n)).reshape((count, n))
    right = xp.broadcast_to(B, (*lead, n, columns)).reshape((count, n, columns))
    conjugate = hermitian and LD.dtype.kind == "c"
    found = [_solve_one(xp, *each, conjugate) for each in zip(packed, order, right, strict=True)]
    return xp.array(found, B.dtype).reshape((*lead, n, columns))


def _solve_samples() -> list[Sample]:
    packed = T(values=[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.5, 0.5, -3.0]])
    pivots = T(values=[-2, -2, 3], dtype="int32")
    return [
        Sample(packed, pivots, T(3, 2), grad=False, dtypes=_FIELDS),
        Sample(packed, pivots, T(2, 3, 1), grad=False),
        Sample(packed, pivots, T(3, 2), hermitian=True, grad=False, dtypes=_FIELDS),
        Sample(T(3, 3), T(values=[3, 2, 3], dtype="int32"), T(3, 2), grad=False, dtypes=_FIELDS),
        Sample(packed, pivots, T(2, 1), error=(RuntimeError, "Incompatible matrix sizes")),
        Sample(packed, pivots, T(3), error=(IndexError, "Dimension out of range")),
        Sample(packed, pivots, T(3, 1, dtype="int64"), error=(RuntimeError, "Expected b and")),
    ]


@linalg_function(samples=_solve_samples)
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None
) -> Tensor:
    """The X with ``A @ X = B``, from what `ldl_factor` found for A.

    >>> A = torch.tensor([[0.0, 2.0], [2.0, 0.0]])
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.tensor([[2.0], [4.0]]))
    tensor([[2.],
            [1.]])
    """
    a, b = require("linalg_ldl_solve", "LD", 1, LD), require("linalg_ldl_solve", "B", 3, B)
    order = require("linalg_ldl_solve", "pivots", 2, pivots)
    if b.ndim < 2:
        raise errors.dimension_range(-2, b.ndim)
    if a.dtype is not b.dtype:
        kinds = (dtypes.from_numpy_dtype(x.dtype).type_name for x in (b, a))
        raise errors.runtime_error(
            "Expected b and A to have the same dtype, but found b of type {} and A of type {} "
            "instead.".format(*kinds),
            code="RG301",
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
            f"{a.shape[-2]} by {a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    if order.dtype.kind not in "iu":
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.type_name}"
        )
    return finish("linalg_ldl_solve", RECORDED.linalg_ldl_solve(LD, pivots, B, hermitian), out)
