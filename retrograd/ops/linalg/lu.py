"""The LU decomposition with row exchanges, and solutions with its factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd import dtypes, return_types
from retrograd.backend import backend_of
from retrograd.notices import explained, runtime_error
from retrograd.ops.kinds import Array, DType, Gradients, Namespace
from retrograd.ops.linalg.elimination import lu_decompose, lu_info
from retrograd.ops.linalg.matmul import finish, finish_all
from retrograd.ops.linalg.matrices import (
    I32,
    check_field,
    check_kernel,
    check_matrix,
    check_square,
    first_failure,
    mH,
    require,
)
from retrograd.ops.registry import (
    RECORDED,
    Table,
    composite,
    function_only,
    inner_op,
    linalg_function,
    op,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)


def permutation_from(xp: Namespace, pivots: Array, rows: int) -> Array:
    """Row numbers: row i of L @ U is row ``result[i]`` of the matrix that was factored."""
    lead = pivots.shape[:-1]
    orders = []
    for exchanges in pivots.reshape((math.prod(lead), pivots.shape[-1])).tolist():
        order = list(range(rows))
        for i, other in enumerate(exchanges):
            order[i], order[other - 1] = order[other - 1], order[i]
        orders.append(order)
    return xp.asarray(orders, dtypes.I64).reshape((*lead, rows))


def permutation_matrix(xp: Namespace, pivots: Array, rows: int, dtype: DType) -> Array:
    """The matrix P with ``P @ L @ U = A``."""
    order = permutation_from(xp, pivots, rows)
    return xp.asarray(order[..., None, :] == xp.arange(rows)[:, None], dtype)


def _lu_base_gradient(
    m: Table, for_l: Tensor, for_u: Tensor, lower: Tensor, upper: Tensor, P: Tensor
) -> Tensor:
    """The gradient of A = P L U; L is square or tall, U square or wide."""
    rows, inner = lower.shape[-2:]
    columns = upper.shape[-1]
    l1, u1 = m.narrow(lower, -2, 0, inner), m.narrow(upper, -1, 0, inner)
    below = right = None
    if columns > inner:  # A2 = P L U2
        u2 = m.narrow(upper, -1, inner, columns - inner)
        for_u2 = m.narrow(for_u, -1, inner, columns - inner)
        for_u = m.narrow(for_u, -1, 0, inner)
        right = m.linalg_solve_triangular(mH(m, l1), for_u2, True, True, True)
        for_l = for_l - m.matmul(right, mH(m, u2))
    if rows > inner:  # A2 = L2 U
        l2 = m.narrow(lower, -2, inner, rows - inner)
        for_l2 = m.narrow(for_l, -2, inner, rows - inner)
        for_l = m.narrow(for_l, -2, 0, inner)
        below = m.linalg_solve_triangular(mH(m, u1), for_l2, False, False, False)
        for_u = for_u - m.matmul(mH(m, l2), below)
    middle = m.tril(m.matmul(mH(m, l1), for_l), -1) + m.triu(m.matmul(for_u, mH(m, u1)), 0)
    middle = m.linalg_solve_triangular(mH(m, l1), middle, True, True, True)
    total = m.linalg_solve_triangular(mH(m, u1), middle, False, False, False)
    if right is not None:
        total = m.cat([total, right], -1)
    if below is not None:
        total = m.cat([total, below], -2)
    return m.matmul(P, total)


def _lu_gradient(m: Table, g: Gradients, out0: Tensor, out1: Tensor, out2: Tensor) -> Tensor | None:
    if g[1] is None and g[2] is None:
        return None
    for_l = m.zeros_like(out1) if g[1] is None else g[1]
    for_u = m.zeros_like(out2) if g[2] is None else g[2]
    return _lu_base_gradient(m, for_l, for_u, out1, out2, out0)


@inner_op(
    input=_lu_gradient,
    outputs=3,
    nondifferentiable=(0,),
    holomorphic=False,
    returns=return_types.linalg_lu,
    saved_names={"P": "out0", "L": "out1", "U": "out2"},
)
def linalg_lu(xp: Namespace, input: Array) -> tuple[Array, Array, Array]:
    """A permutation, a lower triangular and an upper triangular matrix."""
    factors, pivots = lu_decompose(xp, input)
    lower, upper = unpack_arrays(xp, factors)
    return permutation_matrix(xp, pivots, input.shape[-2], input.dtype), lower, upper


def unpack_arrays(xp: Namespace, factors: Array) -> tuple[Array, Array]:
    """L with its ones, and U, from the array that holds both."""
    *_, rows, columns = factors.shape
    inner = min(rows, columns)
    lower = xp.tril(factors[..., :, :inner], -1)
    lower += xp.eye(rows, inner, dtype=factors.dtype)
    return lower, xp.triu(factors[..., :inner, :])


def _lu_factor_gradient(m: Table, g: Gradients, out0: Tensor, out1: Tensor) -> Tensor | None:
    gradient = g[0]
    if gradient is None:
        return None
    P, lower, upper = m.lu_unpack(out0, out1, True, True)
    inner = min(gradient.shape[-2:])
    for_l = m.tril(m.narrow(gradient, -1, 0, inner), -1)
    for_u = m.triu(m.narrow(gradient, -2, 0, inner), 0)
    return _lu_base_gradient(m, for_l, for_u, lower, upper, P)


@inner_op(
    input=_lu_factor_gradient,
    outputs=3,
    nondifferentiable=(1, 2),
    holomorphic=False,
    returns=return_types.linalg_lu_factor_ex,
    saved_names={"LU": "out0", "pivots": "out1"},
)
def linalg_lu_factor_ex(xp: Namespace, input: Array) -> tuple[Array, Array, Array]:
    """L and U in one array, the row exchanges, and the number of the first zero pivot."""
    factors, pivots = lu_decompose(xp, input)
    return factors, pivots, lu_info(xp, factors)


def _unpack_gradient(m: Table, g: Gradients, LU_data_shape: tuple[int, ...]) -> Tensor | None:
    rows, columns = LU_data_shape[-2:]
    parts = []
    if g[1] is not None:
        lower = m.tril(g[1], -1)
        if columns > rows:
            wide = m._zeros_of(g[1], (*LU_data_shape[:-1], columns - rows))
            lower = m.cat([lower, wide], -1)
        parts.append(lower)
    if g[2] is not None:
        upper = m.triu(g[2], 0)
        if rows > columns:
            tall = m._zeros_of(g[2], (*LU_data_shape[:-2], rows - columns, columns))
            upper = m.cat([upper, tall], -2)
        parts.append(upper)
    return parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None


@op()
def _zeros_of(xp: Namespace, input: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of another shape in the dtype of `input`."""
    return xp.zeros(shape, input.dtype)


@inner_op(
    LU_data=_unpack_gradient,
    outputs=3,
    nondifferentiable=(0,),
    holomorphic=False,
    returns=return_types.lu_unpack,
)
def lu_unpack(
    xp: Namespace,
    LU_data: Array,
    LU_pivots: Array,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Array, Array, Array]:
    """The permutation, L and U that `lu_factor` has packed."""
    empty = xp.empty((0,), LU_data.dtype)
    lower, upper = unpack_arrays(xp, LU_data) if unpack_data else (empty, empty.copy())
    permutation = empty.copy()
    if unpack_pivots:
        permutation = permutation_matrix(xp, LU_pivots, LU_data.shape[-2], LU_data.dtype)
    return permutation, lower, upper


def _lu_samples() -> list[Sample]:
    return [
        *(Sample(T(*shape), dtypes=_FIELDS) for shape in ((3, 3), (4, 3), (3, 4))),
        Sample(T(2, 3, 3)),
        Sample(T(2, 4, 2)),
        Sample(T(1, 1)),
        Sample(T(0, 3), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
    ]


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    array = require(name.replace(".", "_"), "A", 1, A)
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(array.shape)} "
            "instead"
        )
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    check_kernel("lu_cpu", array)


@linalg_function(
    samples=lambda: [
        *_lu_samples(),
        Sample(T(3), error=(RuntimeError, "linalg.lu: Expected tensor with 2 or more")),
        Sample(T(2, 3), pivot=False, error=(RuntimeError, "linalg.lu_factor: LU without")),
    ]
)
def _linalg_lu(
    A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu:
    """A permutation P, lower triangular L and upper triangular U with ``P @ L @ U = A``."""
    _check_lu("linalg.lu", A, pivot)
    result = RECORDED.linalg_lu(A)
    if out is None:
        return result
    parts = [finish("linalg_lu", x, y) for x, y in zip(result, out, strict=True)]
    return return_types.linalg_lu(*parts)


@linalg_function(
    samples=lambda: [
        *_lu_samples(),
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0]]), error=(RuntimeError, "torch.linalg.lu_")),
    ]
)
def lu_factor(
    A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu_factor:
    """L and U packed in one matrix, and the row exchanges as LAPACK gives them."""
    _check_lu("linalg.lu_factor", A, pivot)
    factors, pivots, info = RECORDED.linalg_lu_factor_ex(A)
    failure = first_failure(info._elements())
    if failure is not None:
        where, number = failure
        raise RuntimeError(
            f"torch.linalg.lu_factor: {where}U[{number},{number}] is zero and using it on lu_solve "
            "would result in a division by zero. If you still want to perform the factorization, "
            "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return finish_all("linalg_lu_factor", return_types.linalg_lu_factor(factors, pivots), out)


@linalg_function(samples=lambda: _lu_samples()[:4])
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu_factor_ex:
    """As `lu_factor`, with the number of the first zero pivot instead of an error."""
    _check_lu("linalg.lu_factor", A, pivot)
    if check_errors:
        result = return_types.linalg_lu_factor_ex(
            *lu_factor(A, pivot=pivot),
            wrap(backend_of(A._array).xp.zeros(A._array.shape[:-2], I32)),
        )
    else:
        result = RECORDED.linalg_lu_factor_ex(A)
    return finish_all("linalg_lu_factor_ex", result, out)


@function_only(
    samples=lambda: [
        Sample(T(3, 3), T(values=[2, 2, 3], dtype="int32"), dtypes=_FIELDS),
        Sample(T(4, 3), T(values=[2, 4, 3], dtype="int32")),
        Sample(T(3, 4), T(values=[3, 2, 3], dtype="int32")),
        Sample(T(2, 2, 2), T(values=[[2, 2], [1, 2]], dtype="int32")),
        Sample(T(3, 3), T(values=[1, 3, 3], dtype="int32"), unpack_data=False, grad=False),
        Sample(T(3, 3), T(values=[1, 3, 3], dtype="int32"), unpack_pivots=False),
        Sample(T(3, 3), T(values=[1, 3, 3], dtype="int64"), error=(RuntimeError, "torch.lu_")),
    ]
)
def _lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.lu_unpack:
    """The permutation P, L and U that `lu_factor` has packed."""
    require("lu_unpack", "LU_data", 1, LU_data)
    if unpack_pivots and require("lu_unpack", "LU_pivots", 2, LU_pivots).dtype is not I32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
        )
    result = RECORDED.lu_unpack(LU_data, LU_pivots, bool(unpack_data), bool(unpack_pivots))
    if out is None:
        return result
    return return_types.lu_unpack(
        *(finish("lu_unpack", x, y) for x, y in zip(result, out, strict=True))
    )


@composite(
    methods=("lu",),
    samples=lambda: [Sample(T(3, 3)), Sample(T(2, 3, 2)), Sample(T(3, 3), get_infos=True)],
    autocast="float32",
)
@forms(
    "(A: Tensor, pivot: bool = True, get_infos: Literal[False] = False, out: Any = None) -> "
    "tuple[Tensor, Tensor]",
    "(A: Tensor, pivot: bool = True, *, get_infos: Literal[True], out: Any = None) -> "
    "tuple[Tensor, Tensor, Tensor]",
)
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | Tensor:
    """L and U packed in one matrix, and the row exchanges; `linalg.lu_factor`."""
    _check_lu("torch.lu", A, pivot)
    result = tuple(RECORDED.linalg_lu_factor_ex(A))[: 3 if get_infos else 2]
    if out is None:
        return result
    return tuple(finish("lu", x, y) for x, y in zip(result, out, strict=True))


def _lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False
) -> Tensor:
    permutation, lower, upper = RECORDED.lu_unpack(LU, pivots, True, True)
    solve, product = RECORDED.linalg_solve_triangular, RECORDED.matmul
    turned = RECORDED.transpose(permutation, -2, -1)
    down, up = mH(RECORDED, lower), mH(RECORDED, upper)
    # A = P L U: peel the factors off one by one, from the side where B stands
    if left and not adjoint:
        half = solve(lower, product(turned, B), False, True, True)
        result: Tensor = solve(upper, half, True, True, False)
    elif left:
        half = solve(down, solve(up, B, False, True, False), True, True, True)
        result = product(permutation, half)
    elif not adjoint:
        half = solve(lower, solve(upper, B, True, False, False), False, False, True)
        result = product(half, turned)
    else:
        half = solve(down, product(B, permutation), True, False, True)
        result = solve(up, half, False, False, False)
    return result


def _lu_solve_samples() -> list[Sample]:
    def factors(*shape: int) -> T:
        return T(*shape, low=0.5, high=2.0)

    pivots = T(values=[2, 3, 3], dtype="int32")
    return [
        Sample(factors(3, 3), pivots, T(3, 2), dtypes=_FIELDS),
        Sample(factors(3, 3), pivots, T(3, 2), adjoint=True, dtypes=_FIELDS),
        Sample(factors(3, 3), pivots, T(2, 3), left=False, dtypes=_FIELDS),
        Sample(factors(3, 3), pivots, T(2, 3), left=False, adjoint=True, dtypes=_FIELDS),
        Sample(factors(3, 3), pivots, T(4, 3, 2)),
        Sample(factors(3, 3), pivots, T(3), error=(RuntimeError, "linalg.lu_solve: The input")),
    ]


def _check_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> None:
    factors = require("linalg_lu_solve", "LU", 1, LU)
    order = require("linalg_lu_solve", "pivots", 2, pivots)
    b = require("linalg_lu_solve", "B", 3, B)
    check_field("torch.linalg.lu_solve", factors, "linalg.lu_solve_cpu")
    if factors.dtype is not b.dtype:
        raise runtime_error(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{dtypes.from_numpy_dtype(factors.dtype).type_name} and B of type "
            f"{dtypes.from_numpy_dtype(b.dtype).type_name} instead",
            code="RG301",
        )
    if pivots.dtype is not dtypes.int32:
        raise runtime_error(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32", code="RG301"
        )
    check_square("torch.linalg.lu_solve", factors)
    check_matrix("linalg.lu_solve", b, "B")
    rows, columns = b.shape[-2:]
    if (rows if left else columns) != factors.shape[-1]:
        raise runtime_error(
            "linalg.lu_solve: Incompatible shapes of A and B for the equation "
            f"{'AX' if left else 'XA'} = B ({factors.shape[-2]}x{factors.shape[-1]} and "
            f"{rows}x{columns})",
            code="RG202",
        )
    if not order.ndim:
        raise explained(
            IndexError("Dimension specified as -1 but tensor has no dimensions"), code="RG205"
        )
    if order.shape[-1] != factors.shape[-1]:
        raise runtime_error(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix",
            code="RG202",
        )
    if order.shape != factors.shape[:-1]:
        raise runtime_error(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(order.shape)} instead",
            code="RG202",
        )


@linalg_function(samples=_lu_solve_samples, autocast="off")
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution of ``A @ X = B`` for a matrix that `lu_factor` has taken apart."""
    _check_lu_solve(LU, pivots, B, left)
    return finish("linalg_lu_solve", _lu_solve(LU, pivots, B, left, adjoint), out)


@composite(
    samples=lambda: [
        Sample(T(3, 2), T(3, 3, low=0.5), T(values=[2, 3, 3], dtype="int32")),
    ],
    autocast="float32",
)
def _torch_lu_solve(
    b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The solution of ``A @ x = b`` for a matrix that `lu` has taken apart."""
    _check_lu_solve(LU_data, LU_pivots, b, True)
    return finish("lu_solve", _lu_solve(LU_data, LU_pivots, b), out)
