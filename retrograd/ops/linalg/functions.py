"""Functions of matrices: powers, the exponential, tensors as matrices, Vandermonde matrices."""

from __future__ import annotations

from math import prod
from typing import Any

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import (
    LinAlgError,
    check_field,
    check_square,
    first_failure,
    mH,
    raise_singular,
    require,
)
from retrograd.ops.linalg.products import type_name
from retrograd.ops.linalg.solve import inv
from retrograd.ops.registry import (
    RECORDED,
    Table,
    attach,
    composite,
    function_only,
    inner_op,
    linalg_function,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)


# --------------------------------------------------------------------------------------- powers


def _power(A: Tensor, n: int) -> Tensor:
    if n == 0:
        xp = backend_of(A._array).xp
        identity = xp.broadcast_to(xp.eye(A._array.shape[-1]), A._array.shape)
        return A.clone().copy_(wrap(identity.astype(A._array.dtype)))
    if n < 0:
        A = inv(A)
        n = -n
    if n == 1:
        return A.clone()
    multiply = RECORDED.matmul
    if n == 2:
        result: Tensor = multiply(A, A)
    elif n == 3:
        result = multiply(multiply(A, A), A)
    else:  # square and multiply
        square: Any = None
        found: Any = None
        while n:
            square = A if square is None else multiply(square, square)
            n, odd = divmod(n, 2)
            if odd:
                found = square if found is None else multiply(found, square)
        result = found
    return result


def _power_samples() -> list[Sample]:
    regular = T(values=[[2.0, 1.0], [-0.5, 1.5]])
    return [
        *(Sample(regular, n, dtypes=_FIELDS) for n in (1, 2, 3, 5, 6, -1, -2, -3)),
        Sample(regular, 0, second=False),
        Sample(T(2, 3, 3), 4),
        Sample(T(2, 2, dtype="int64"), 3, grad=False),
        Sample(T(2, 2), 2, dtypes=HALVES),
        Sample(T(2, 3), 2, error=(RuntimeError, "linalg.matrix_power: A must be batches")),
        Sample(T(values=[[0.0, 0.0], [0.0, 0.0]]), -1, error=(LinAlgError, "linalg.inv: The")),
        Sample(T(2, 2), 1.5, error=(TypeError, "")),
    ]


def _check_power(function: str, A: Tensor, n: int | None) -> None:
    array = require(function, "A", 1, A)
    if not isinstance(n, int):
        raise errors.argument_type(function, "n", 2, "int", n)
    check_square("linalg.matrix_power", array)


@linalg_function(samples=_power_samples)
def _linalg_matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The matrix multiplied with itself n times; a negative n takes the inverse."""
    _check_power("linalg_matrix_power", A, n)
    return finish("linalg_matrix_power", _power(A, n), out)


@composite(samples=lambda: _power_samples()[:3])
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The matrix multiplied with itself n times; a negative n takes the inverse.

    >>> torch.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    _check_power("matrix_power", input, n)
    return finish("matrix_power", _power(input, n), out)


# ---------------------------------------------------------------------------------- exponential

# Numerator of the rational approximation of degree 13, good for norms up to 5.4.
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_PADE_NORM = 5.371920351148152


def _exponential_gradient(m: Table, g: Tensor, input: Tensor) -> Tensor:
    # the exponential of [[A, G], [0, A]] has the derivative in the direction G in its corner
    adjoint = mH(m, input)
    size = adjoint.shape[-1]
    above = m.cat([adjoint, g], -1)
    below = m.cat([m.zeros_like(adjoint), adjoint], -1)
    block = m.linalg_matrix_exp(m.cat([above, below], -2))
    return m.narrow(m.narrow(block, -2, 0, size), -1, size, size)


@inner_op(input=_exponential_gradient, holomorphic=False)
def linalg_matrix_exp(xp: Namespace, input: Array) -> Array:
    """The exponential, by scaling, a rational approximation, and squaring."""
    if not input.size:
        return input.copy()
    wide = xp.complex128 if input.dtype.kind == "c" else xp.float64
    matrix = input.astype(wide)
    norm = xp.abs(matrix).sum(axis=-2).max(axis=-1)
    halvings = xp.ceil(xp.log2(xp.maximum(norm / _PADE_NORM, 1.0)))
    halvings = xp.where(xp.isfinite(halvings), halvings, 0)
    matrix = matrix / (2.0**halvings)[..., None, None]
    identity = xp.eye(matrix.shape[-1], dtype=wide)
    square = matrix @ matrix
    fourth = square @ square
    sixth = fourth @ square
    c = [float(number) for number in _PADE]
    odd = sixth @ (c[13] * sixth + c[11] * fourth + c[9] * square)
    odd = matrix @ (odd + c[7] * sixth + c[5] * fourth + c[3] * square + c[1] * identity)
    even = sixth @ (c[12] * sixth + c[10] * fourth + c[8] * square)
    even = even + c[6] * sixth + c[4] * fourth + c[2] * square + c[0] * identity
    result = xp.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max())):
        result = xp.where((halvings > step)[..., None, None], result @ result, result)
    return result.astype(input.dtype)


@linalg_function(
    samples=lambda: [
        Sample(T(3, 3), dtypes=_FIELDS),
        Sample(T(2, 3, 3)),
        Sample(T(3, 3, low=-9, high=9)),
        Sample(T(values=[[[0.1, 0.0], [0.0, 0.2]], [[9.0, 3.0], [1.0, 8.0]]])),
        Sample(T(1, 1)),
        Sample(T(0, 0), grad=False),
        Sample(T(values=[[0.0, 0.0], [0.0, 0.0]])),
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(2, 3), error=(RuntimeError, "linalg.matrix_exp: A must be batches of")),
    ]
)
def matrix_exp(A: Tensor) -> Tensor:
    """The sum of all ``A**k / k!``, for square matrices."""
    array = require("linalg_matrix_exp", "A", 1, A)
    check_square("linalg.matrix_exp", array)
    if array.dtype not in dtypes.DIFFERENTIABLE:
        check_field("linalg.matrix_exp", array)
    return RECORDED.linalg_matrix_exp(A)


attach(matrix_exp, methods=("matrix_exp",), namespace="torch", public=("matrix_exp",))


# ---------------------------------------------------------------------------- tensors as matrices


@linalg_function(
    samples=lambda: [
        Sample(T(6, 2, 3), ind=1),
        Sample(T(2, 3, 3, 2)),
        Sample(T(6, 2, 3), ind=2, error=(RuntimeError, "Expected self to satisfy the requir")),
        Sample(T(6, 2, 3), ind=0, error=(RuntimeError, "Expected a strictly positive integer")),
    ],
    autocast="float32",
)
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor seen as a matrix: its first `ind` dimensions are the rows."""
    array = require("linalg_tensorinv", "A", 1, A)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = array.shape[:ind], array.shape[ind:]
    if prod(rows) != prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {prod(columns)} != {prod(rows)}"
        )
    check_field("linalg.inv", array)
    matrix = RECORDED.reshape(A, (prod(rows), prod(columns)))
    inverse, info = RECORDED.linalg_inv_ex(matrix)
    raise_singular("inv", info._elements())
    return finish("linalg_tensorinv", RECORDED.reshape(inverse, columns + rows), out)


@linalg_function(
    samples=lambda: [
        Sample(T(2, 3, 6), T(2, 3)),
        Sample(T(6, 2, 3), T(6)),
        Sample(T(3, 6, 2), T(2, 3), dims=(1,)),
        Sample(T(2, 3, 6), T(2, 4), error=(RuntimeError, "Expected self to satisfy the")),
    ],
    autocast="float32",
)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The X with ``tensordot(A, X, X.ndim) = B``; `dims` of A are moved to its end first."""
    a, b = require("linalg_tensorsolve", "A", 1, A), require("linalg_tensorsolve", "B", 2, B)
    if dims is not None:
        moved = [d % a.ndim for d in dims]
        order = [d for d in range(a.ndim) if d not in moved] + moved
        A = RECORDED.permute(A, tuple(order))
        a = A._array
    shape = a.shape[b.ndim :]
    if prod(shape) != b.size or prod(a.shape[: b.ndim]) != b.size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(shape)} != {b.size}"
        )
    check_field("linalg.solve", a, "lu_cpu")
    matrix = RECORDED.reshape(A, (b.size, b.size))
    solution, info = RECORDED.linalg_solve_ex(matrix, RECORDED.reshape(B, (b.size,)), True)
    if first_failure(info._elements()) is not None:
        raise errors.explained(
            LinAlgError(
                "torch.linalg.solve: The solver failed because the input matrix is singular."
            ),
            code="RG502",
        )
    return finish("linalg_tensorsolve", RECORDED.reshape(solution, shape), out)


# ----------------------------------------------------------------------- Vandermonde, diagonal


def _powers(x: Tensor, count: int) -> Tensor:
    """Columns ``x**0, x**1 ...`` along a new last dimension."""
    array = x._array
    if array.dtype is dtypes.B8:
        x = x.to(dtypes.int64)
        array = x._array
    ones = wrap(backend_of(array).xp.ones((*array.shape, 1), array.dtype))
    if count == 1:
        return ones
    wide = RECORDED.expand(RECORDED.unsqueeze(x, -1), (*array.shape, count - 1))
    return RECORDED.cat([ones, RECORDED.cumprod(wide, -1)], -1)


@linalg_function(
    samples=lambda: [
        Sample(T(3), dtypes=_FIELDS),
        Sample(T(2, 3), N=2),
        Sample(T(3), N=5),
        Sample(T(), N=3),
        Sample(T(3, dtype="int64"), grad=False),
        Sample(T(3), dtypes=HALVES),
        Sample(T(), error=(RuntimeError, "N must be greater than 1.")),
        Sample(T(3), N=1, error=(RuntimeError, "N must be greater than 1.")),
    ]
)
def _linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The matrix of rising powers ``x**0 ... x**(N - 1)``."""
    array = require("linalg_vander", "x", 1, x)
    if array.dtype in dtypes.HALF_TYPES or array.dtype is dtypes.B8:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{type_name(array)}"
        )
    count = (array.shape[-1] if array.ndim else 1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x if array.ndim else RECORDED.unsqueeze(x, 0), count)


@function_only(
    samples=lambda: [
        # PyTorch overwrites what its own gradient would need
        Sample(T(3), grad=False, dtypes=(*_FIELDS, *HALVES)),
        Sample(T(3), N=2, grad=False),
        Sample(T(3), 5, True, grad=False),
        Sample(T(values=[1, 2, 3], dtype="int64"), 3, True, grad=False),
        Sample(T(3, dtype="bool"), grad=False),
        Sample(T(3), N=0, grad=False),
        Sample(T(3), N=1, grad=False),
        Sample(T(2, 2), error=(RuntimeError, "x must be a one-dimensional tensor.")),
        Sample(T(3), N=-1, error=(RuntimeError, "N must be non-negative.")),
    ],
)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of powers of `x`, falling unless `increasing`.

    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    array = require("vander", "x", 1, x)
    if array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = array.size if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if count == 0:
        kind = dtypes.I64 if array.dtype is dtypes.B8 else array.dtype
        return wrap(backend_of(array).xp.empty((array.size, 0), kind))
    rising = _powers(x, count)
    return rising if increasing else RECORDED.flip(rising, (1,))


@linalg_function(
    samples=lambda: [
        Sample(T(3, 4), dtypes=_FIELDS),
        Sample(T(2, 3, 4), offset=1),
        Sample(T(2, 3, 4), offset=-1, dim1=0, dim2=1),
    ]
)
def _linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonal of the last two dimensions."""
    require("linalg_diagonal", "A", 1, A)
    return RECORDED.diagonal(A, offset, dim1, dim2)
