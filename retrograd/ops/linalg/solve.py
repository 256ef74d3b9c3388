"""Inverses, determinants and solutions of systems of linear equations."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import dtypes, return_types
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Gradients, Namespace
from retrograd.ops.linalg.elimination import lu_decompose, lu_info, substitute
from retrograd.ops.linalg.matmul import finish, finish_all
from retrograd.ops.linalg.matrices import (
    I32,
    LinAlgError,
    batch_shape,
    check_field,
    check_kernel,
    check_matrix,
    check_square,
    column,
    first_failure,
    matrices,
    mH,
    mT,
    one_by_one,
    places,
    raise_singular,
    require,
)
from retrograd.ops.linalg.products import type_name
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, linalg_function, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_FIELDS = (*FLOATS, *COMPLEX)
_SINGULAR = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]
_REGULAR = [[3.0, 1.0, -0.5], [0.5, -2.0, 1.0], [1.0, 0.25, 4.0]]


def _square_samples(*others: Sample) -> list[Sample]:
    """Samples of a function of square matrices that may not be singular."""
    return [
        Sample(T(values=_REGULAR), dtypes=_FIELDS),
        Sample(T(3, 3), dtypes=_FIELDS),
        Sample(T(1, 1), second=False),
        Sample(T(0, 0), second=False),
        Sample(T(2, 3, 3)),
        Sample(T(2, 0, 3, 3), second=False),
        Sample(T(2, 1, 2, 2)),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(2, 3), error=(RuntimeError, "")),
        Sample(T(3), error=(RuntimeError, "")),
        Sample(2.0, error=(TypeError, "")),
        *others,
    ]


# ------------------------------------------------------------------------------------- inverse


@inner_op(
    input=lambda m, g, out0: (
        None if g[0] is None else m.neg(m.matmul(mH(m, out0), m.matmul(g[0], mH(m, out0))))
    ),
    outputs=2,
    nondifferentiable=(1,),
    holomorphic=False,
    returns=return_types.linalg_inv_ex,
    autocast="float32",
    saved_names={"inverse": "out0"},
)
def linalg_inv_ex(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Inverse matrices; `info` is not zero, and the inverse nan, where there is none."""
    info = xp.zeros(input.shape[:-2], I32)
    try:
        return xp.linalg.inv(input), info
    except xp.linalg.LinAlgError:
        info = lu_info(xp, lu_decompose(xp, input)[0])
        (found,) = one_by_one(xp, lambda a: (xp.linalg.inv(a),), input, input.shape[-2:])
        return found, info


@linalg_function(
    samples=lambda: _square_samples(
        Sample(T(values=_SINGULAR), error=(LinAlgError, "linalg.inv: The diagonal element")),
        Sample(T(values=[_REGULAR, _SINGULAR]), error=(LinAlgError, "linalg.inv: (Batch el")),
    ),
    autocast="float32",
    out="structured",
)
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix, or of each in a batch.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    matrices("linalg_inv", "linalg.inv", A)
    result, info = RECORDED.linalg_inv_ex(A)
    raise_singular("linalg.inv", info._elements())
    return finish("linalg_inv", result, out)


@composite(
    samples=lambda: [Sample(T(3, 3)), Sample(T(2, 2, 2))], autocast="float32", out="structured"
)
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix, or of each in a batch; `linalg.inv`."""
    return inv(input, out=out)


@linalg_function(samples=lambda: [Sample(T(3, 3)), Sample(T(2, 3, 3))], autocast="float32")
def inv_ex(
    A: Tensor, *, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_inv_ex:
    """Inverse matrices and, per matrix, the number of a zero pivot (0 if there is none)."""
    matrices("linalg_inv_ex", "linalg.inv", A)
    result = RECORDED.linalg_inv_ex(A)
    if check_errors:
        raise_singular("linalg.inv_ex", result[1]._elements())
    return finish_all("linalg_inv_ex", result, out)


# --------------------------------------------------------------------------------- determinants


def _cofactors_of_singular(xp: Namespace, matrix: Array) -> Array:
    """Cofactors from the singular value decomposition: right for every rank."""
    u, s, vh = xp.linalg.svd(matrix)
    others = xp.stack([xp.prod(xp.delete(s, i)) for i in range(len(s))]).astype(matrix.dtype)
    factor = xp.linalg.det(u) * xp.linalg.det(vh)
    return factor * xp.matmul(u.conj() * others, vh.conj())


def _cofactors_gradient(m: Table, g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    # the cofactors are the determinant times the transposed inverse
    inverse = mT(m, m.linalg_inv_ex(input)[0])
    weight = m.sum(m.mul(g, inverse), (-2, -1), True)
    return weight * out - m.matmul(m.matmul(out, mT(m, g)), inverse)


@op(input=_cofactors_gradient)
def _cofactors(xp: Namespace, input: Array) -> Array:
    """The derivative of the determinant by each element."""
    determinant = xp.asarray(xp.linalg.det(input))
    try:
        inverse = xp.linalg.inv(input)
    except xp.linalg.LinAlgError:
        (found,) = one_by_one(xp, lambda a: (_one_cofactors(xp, a),), input, input.shape[-2:])
        return found
    return xp.multiply(determinant[..., None, None], inverse.swapaxes(-1, -2))


def _one_cofactors(xp: Namespace, matrix: Array) -> Array:
    try:
        return xp.linalg.det(matrix) * xp.linalg.inv(matrix).T
    except xp.linalg.LinAlgError:
        return _cofactors_of_singular(xp, matrix)


@inner_op(
    input=lambda m, g, input: m.mul(column(m, column(m, g)), m._cofactors(input)),
    aten="_linalg_det",
    saved_names={"A": "input"},
)
def linalg_det(xp: Namespace, input: Array) -> Array:
    """Determinants of square matrices."""
    return xp.asarray(xp.linalg.det(input), input.dtype)


def _det_samples() -> list[Sample]:
    return _square_samples(
        Sample(T(values=_SINGULAR), grad=False),
        Sample(T(values=[_REGULAR, _SINGULAR]), grad=False),
    )


@linalg_function(samples=_det_samples, out="structured")
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of a square matrix, or of each in a batch."""
    matrices("linalg_det", "linalg.det", A, kernel="lu_cpu")
    return finish("linalg_det", RECORDED.linalg_det(A), out)


@composite(samples=_det_samples)
def _det(input: Tensor) -> Tensor:
    """The determinant of a square matrix, or of each in a batch.

    >>> torch.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    require("det", "input", 1, input)
    return det(input)


def _slogdet_gradient(
    m: Table, g: Gradients, input: Tensor, out0: Tensor, input_dtype: DType
) -> Tensor | None:
    sign, logarithm = g
    if sign is None or input_dtype not in dtypes.COMPLEX_TYPES:
        if logarithm is None:
            return None
        total = logarithm
    else:
        # the sign turns with the imaginary part of the logarithm
        total = m.imag(m.conj(out0) * sign) * 1j
        if logarithm is not None:
            total = total + logarithm
    return m.mul(column(m, column(m, total)), mH(m, m.linalg_inv_ex(input)[0]))


@inner_op(
    input=_slogdet_gradient,
    outputs=2,
    holomorphic=False,
    returns=return_types.linalg_slogdet,
    aten="_linalg_slogdet",
    saved_names={"A": "input", "sign": "out0"},
)
def linalg_slogdet(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Signs and logarithms of the absolute values of determinants."""
    sign, logarithm = xp.linalg.slogdet(input)
    real = dtypes.from_numpy_dtype(input.dtype).to_real().numpy
    return xp.asarray(sign, input.dtype), xp.asarray(logarithm, real)


@linalg_function(samples=lambda: _square_samples(Sample(T(values=_SINGULAR), grad=False)))
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_slogdet:
    """The sign of a determinant and the logarithm of its absolute value."""
    matrices("linalg_slogdet", "linalg.slogdet", A)
    return finish_all("linalg_slogdet", RECORDED.linalg_slogdet(A), out)


@composite(samples=lambda: [Sample(T(3, 3)), Sample(T(2, 3, 3))])
def _slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet:
    """The sign of a determinant and the logarithm of its absolute value."""
    return return_types.slogdet(*slogdet(input, out=out))


@composite(
    samples=lambda: [
        Sample(T(values=_REGULAR)),
        Sample(T(values=[[2.0, 1.0], [0.5, 3.0]]), dtypes=_FIELDS),
        Sample(T(values=[[[2.0, 1.0], [0.5, 3.0]], [[1.0, 0.0], [3.0, 2.0]]])),
        Sample(T(values=_SINGULAR), grad=False),
        Sample(T(2, 3), error=(RuntimeError, "")),
    ],
)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: nan where it is negative."""
    matrices("logdet", "logdet", input)
    sign, logarithm = RECORDED.linalg_slogdet(input)
    if sign._array.dtype in dtypes.COMPLEX_TYPES:
        return logarithm + sign.log()
    return RECORDED.where(RECORDED.eq(sign, -1.0), float("nan"), logarithm)


# --------------------------------------------------------------------------------------- solve


def is_vector(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether the right-hand side is a vector per matrix, not a matrix of columns."""
    return len(b) == 1 or (len(a) - 1 == len(b) and tuple(b) == tuple(a[:-1]))


def _solve_gradient(
    m: Table,
    g: Gradients,
    needs: Sequence[bool],
    A: Tensor,
    out0: Tensor,
    left: bool,
    B_shape: tuple[int, ...],
) -> Gradients:
    gradient, solution = g[0], out0
    if gradient is None:
        return None, None
    vector = is_vector(A.shape, B_shape)
    if vector:
        gradient, solution = column(m, gradient), column(m, solution)
    for_b = m.linalg_solve_ex(mH(m, A), gradient, left)[0]
    for_a = None
    if needs[0]:
        product = (for_b, mH(m, solution)) if left else (mH(m, solution), for_b)
        for_a = m.neg(m.matmul(*product))
    return for_a, m.squeeze(for_b, -1) if vector else for_b


@inner_op(
    gradients=_solve_gradient,
    differentiable=("A", "B"),
    outputs=2,
    nondifferentiable=(1,),
    holomorphic=False,
    returns=return_types.linalg_solve_ex,
    aten="_linalg_solve_ex",
    saved_names={"result": "out0"},
)
def linalg_solve_ex(xp: Namespace, A: Array, B: Array, left: bool = True) -> tuple[Array, Array]:
    """Solutions of ``A @ X = B`` (or ``X @ A = B``), nan where `info` is not zero."""
    vector = is_vector(A.shape, B.shape)
    if vector:
        B = B[..., None]
    if not left:
        A, B = A.swapaxes(-1, -2), B.swapaxes(-1, -2)
    info = xp.zeros(A.shape[:-2], I32)
    try:
        solution = xp.linalg.solve(A, B)
    except xp.linalg.LinAlgError:
        info = lu_info(xp, lu_decompose(xp, A)[0])
        solution = _solve_regular(xp, A, B)
    if not left:
        solution = solution.swapaxes(-1, -2)
    return solution[..., 0] if vector else solution, info


def _solve_regular(xp: Namespace, A: Array, B: Array) -> Array:
    """The solutions of those systems of a batch that have one."""
    lead = batch_shape(A.shape[:-2], B.shape[:-2])
    A = xp.broadcast_to(A, (*lead, *A.shape[-2:]))
    B = xp.broadcast_to(B, (*lead, *B.shape[-2:]))
    found = xp.full(B.shape, xp.nan, B.dtype)
    for place in places(lead):
        try:
            found[place] = xp.linalg.solve(A[place], B[place])
        except xp.linalg.LinAlgError:
            continue
    return found


def _check_same_dtype(name: str, a: Array, b: Array) -> None:
    if a.dtype is not b.dtype:
        raise errors.runtime_error(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{type_name(a)} and B of type {type_name(b)} instead",
            code="RG301",
        )


def _check_fit(name: str, a: Array, b: Sequence[int], left: bool) -> None:
    rows, columns = b[-2:]
    if a.shape[-1] != (rows if left else columns):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({a.shape[-2]}x{a.shape[-1]} and {rows}x{columns})"
        )
    batch_shape(b[:-2], a.shape[:-2])


def _check_solve(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    a, b = require("linalg_solve", "A", 1, A), require("linalg_solve", "B", 2, B)
    check_field(name, a, "lu_cpu")
    _check_same_dtype(name, a, b)
    check_square(name, a)
    vector = is_vector(a.shape, b.shape)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
            "In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if not vector:
        check_matrix(name, b, "B")
    _check_fit(name, a, (*b.shape, 1) if vector else b.shape, left)


def _solve_samples() -> list[Sample]:
    return [
        Sample(T(3, 3), T(3, 2), dtypes=_FIELDS),
        Sample(T(3, 3), T(3), dtypes=_FIELDS),
        Sample(T(3, 3), T(2, 3), left=False, dtypes=_FIELDS),
        Sample(T(2, 3, 3), T(2, 3, 2)),
        Sample(T(2, 3, 3), T(2, 3)),
        Sample(T(2, 3, 3), T(3)),
        Sample(T(2, 3, 3), T(3, 2)),
        Sample(T(3, 3), T(2, 3, 2)),
        Sample(T(2, 1, 3, 3), T(4, 3, 2)),
        Sample(T(2, 3, 3), T(2, 1, 3), left=False),
        Sample(T(0, 0), T(0, 2)),
        Sample(T(3, 3), T(3, 0)),
        Sample(T(3, 3), T(3, 2, grad=False)),
        Sample(T(3, 3), T(3, 2), dtypes=HALVES),
        Sample(T(3, 3, grad=False), T(3, 2)),
    ]


@linalg_function(
    samples=lambda: [
        *_solve_samples(),
        Sample(T(values=_SINGULAR), T(3), error=(LinAlgError, "torch.linalg.solve: The solve")),
        Sample(
            T(values=[_REGULAR, _SINGULAR]),
            T(3, 1),
            error=(LinAlgError, "torch.linalg.solve: (Batch element 1): The solver failed"),
        ),
        Sample(T(3, 3), T(4, 2), error=(RuntimeError, "linalg.solve: Incompatible shapes")),
        Sample(T(3, 3), T(4), error=(RuntimeError, "linalg.solve: Incompatible shapes of")),
        Sample(T(2, 3), T(3, 3), error=(RuntimeError, "linalg.solve: A must be batches of")),
        Sample(T(3, 3), T(), error=(RuntimeError, "linalg.solve: The input tensor B must")),
        Sample(T(3, 3), T(3, dtype="int64"), error=(RuntimeError, "linalg.solve: Expected A")),
        Sample(T(2, 3, 3), T(4, 3, 2), error=(RuntimeError, "")),
    ],
    autocast="float32",
    out="structured",
)
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A @ X = B``, or of ``X @ A = B`` if not `left`.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    _check_solve("linalg.solve", A, B, left)
    result, info = RECORDED.linalg_solve_ex(A, B, left)
    failure = first_failure(info._elements())
    if failure is not None:
        raise errors.explained(
            LinAlgError(
                f"torch.linalg.solve: {failure[0]}The solver failed because the input matrix is "
                "singular."
            ),
            code="RG502",
        )
    return finish("linalg_solve", result, out)


@linalg_function(samples=_solve_samples)
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_solve_ex:
    """The solution and, per matrix, the number of a zero pivot (0 if there is none)."""
    _check_solve("linalg.solve", A, B, left)
    result = RECORDED.linalg_solve_ex(A, B, left)
    failure = first_failure(result[1]._elements())
    if check_errors and failure is not None:
        raise errors.explained(
            LinAlgError(
                f"torch.linalg.solve_ex: {failure[0]}The solver failed because the input matrix is "
                "singular."
            ),
            code="RG502",
        )
    return finish_all("linalg_solve_ex", result, out)


# -------------------------------------------------------------------------- triangular systems


def _triangular_gradient(
    m: Table,
    g: Tensor,
    needs: Sequence[bool],
    A: Tensor,
    out: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Gradients:
    for_b = m.linalg_solve_triangular(mH(m, A), g, not upper, left, unitriangular)
    for_a = None
    if needs[0]:
        product = (for_b, mH(m, out)) if left else (mH(m, out), for_b)
        full = m.neg(m.matmul(*product))
        skip = 1 if unitriangular else 0
        for_a = m.triu(full, skip) if upper else m.tril(full, -skip)
    return for_a, for_b


@inner_op(
    gradients=_triangular_gradient,
    differentiable=("A", "B"),
    holomorphic=False,
    saved_names={"self": "A"},
)
def linalg_solve_triangular(
    xp: Namespace, A: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """Solutions of systems whose matrix is triangular; its other half is not read."""
    if left:
        return substitute(xp, A, B, upper, unitriangular)
    flipped = substitute(xp, A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unitriangular)
    return flipped.swapaxes(-1, -2)


@linalg_function(
    samples=lambda: [
        Sample(T(values=_REGULAR), T(3, 2), upper=True, dtypes=_FIELDS),
        Sample(T(values=_REGULAR), T(3, 2), upper=False, dtypes=_FIELDS),
        Sample(T(values=_REGULAR), T(2, 3), upper=True, left=False, dtypes=_FIELDS),
        Sample(T(values=_REGULAR), T(3, 2), upper=False, unitriangular=True),
        Sample(T(values=_REGULAR), T(2, 3), upper=False, left=False, unitriangular=True),
        Sample(T(values=_REGULAR), T(4, 3, 2), upper=True),
        Sample(T(2, 1, 3, 3, low=0.5), T(4, 3, 2), upper=False),
        Sample(T(40, 40, low=0.1, high=0.2), T(40, 2), upper=False, unitriangular=True),
        Sample(T(40, 40, low=0.1, high=0.2), T(40, 2), upper=True, unitriangular=True),
        Sample(T(0, 0), T(0, 2), upper=True),
        Sample(T(values=_SINGULAR), T(3, 2), upper=False, second=False),
        Sample(T(values=[[0.0, 0.0], [0.0, 1.0]]), T(2, 2), upper=True, grad=False),
        Sample(T(3, 3), T(3, 2), upper=True, dtypes=HALVES),
        Sample(T(3, 3), T(4, 2), upper=True, error=(RuntimeError, "linalg.solve_triangular: I")),
        Sample(T(3, 3), T(3), upper=True, error=(RuntimeError, "linalg.solve_triangular: The")),
        Sample(T(2, 3), T(3, 3), upper=True, error=(RuntimeError, "linalg.solve_triangular")),
        Sample(T(3, 3), T(3, 3), error=(TypeError, "")),
    ]
)
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution of ``A @ X = B`` (or ``X @ A = B``) for a triangular matrix `A`."""
    _check_triangular("linalg.solve_triangular", A, B, left)
    result = RECORDED.linalg_solve_triangular(A, B, bool(upper), bool(left), bool(unitriangular))
    return finish("linalg_solve_triangular", result, out)


def _check_triangular(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    a = require("linalg_solve_triangular", "A", 1, A)
    b = require("linalg_solve_triangular", "B", 2, B)
    _check_same_dtype(name, a, b)
    check_kernel("triangular_solve_cpu", a)
    check_square(name, a)
    check_matrix(name, b, "B")
    _check_fit(name, a, b.shape, left)


@composite(
    samples=lambda: [
        Sample(T(3, 2), T(values=_REGULAR)),
        Sample(T(3, 2), T(values=_REGULAR), upper=False),
        Sample(T(3, 2), T(values=_REGULAR), upper=True, transpose=True),
        Sample(T(3, 2), T(values=_REGULAR), False, False, True),
    ],
    autocast="float32",
)
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.triangular_solve:
    """The solution of a triangular system, and a copy of its matrix; `linalg.solve_triangular`."""
    _check_triangular("triangular_solve", A, input, True)
    matrix = RECORDED.transpose(A, -2, -1) if transpose else A
    solution = RECORDED.linalg_solve_triangular(
        matrix, input, upper != transpose, True, unitriangular
    )
    lead = solution._array.shape[:-2]
    copied = A.expand(*lead, *A._array.shape[-2:]).clone()
    return finish_all("triangular_solve", return_types.triangular_solve(solution, copied), out)
