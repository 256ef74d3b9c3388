"""The Cholesky factorization of positive-definite matrices, and solutions with its factor."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import return_types
from retrograd.notices import explained
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.linalg.elimination import substitute
from retrograd.ops.linalg.matmul import finish, finish_all
from retrograd.ops.linalg.matrices import (
    I32,
    LinAlgError,
    check_kernel,
    check_square,
    first_failure,
    matrices,
    mH,
    one_by_one,
    places,
    require,
)
from retrograd.ops.registry import OPS, RECORDED, Table, composite, inner_op, linalg_function, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_FIELDS = (*FLOATS, *COMPLEX)
_POSITIVE = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]]
_NEGATIVE = [[1.0, 2.0], [2.0, 1.0]]


def _symmetric_half(m: Table, x: Tensor, diagonal: float) -> Tensor:
    """The lower triangle mirrored; the diagonal, which would count twice, times `diagonal`."""
    lower = m.tril(x, -1)
    middle = m.diag_embed(m.diagonal(x, 0, -2, -1), 0, -2, -1)
    return lower + mH(m, lower) + m.mul(middle, diagonal)


def _cholesky_gradient(m: Table, g: Tensor, lower: Tensor) -> Tensor:
    """The gradient of the matrix, for the gradient `g` of its lower factor."""
    inner = _symmetric_half(m, m.matmul(mH(m, lower), g), 1.0)
    half = m.linalg_solve_triangular(mH(m, lower), inner, True, True, False)
    return m.mul(m.linalg_solve_triangular(lower, half, False, False, False), 0.5)


def _cholesky_ex_gradient(m: Table, g: Gradients, out0: Tensor, upper: bool) -> Tensor | None:
    gradient = g[0]
    if gradient is None:
        return None
    if upper:
        return _cholesky_gradient(m, mH(m, gradient), mH(m, out0))
    return _cholesky_gradient(m, gradient, out0)


def _cholesky_tangent(m: Table, tangent: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """How the factor moves with the matrix."""
    lower = mH(m, factor) if upper else factor
    inner = m.linalg_solve_triangular(lower, tangent, False, True, False)
    inner = m.linalg_solve_triangular(mH(m, lower), inner, True, False, False)
    middle = m.diag_embed(m.diagonal(inner, 0, -2, -1), 0, -2, -1)
    moved = m.matmul(lower, m.sub(m.tril(inner, 0), m.mul(middle, 0.5)))
    return mH(m, moved) if upper else moved


def _bad_minor(xp: Namespace, matrix: Array) -> int:
    """The order of the first leading minor that is not positive-definite."""
    for size in range(1, matrix.shape[-1] + 1):
        try:
            xp.linalg.cholesky(matrix[:size, :size])
        except xp.linalg.LinAlgError:
            return size
    return 0


@inner_op(
    input=_cholesky_ex_gradient,
    outputs=2,
    nondifferentiable=(1,),
    holomorphic=False,
    returns=return_types.linalg_cholesky_ex,
    forward=lambda m, tangents, out0, upper: (_cholesky_tangent(m, tangents[0], out0, upper), None),
    autocast="float32",
    saved_names={"L": "out0"},
)
def linalg_cholesky_ex(xp: Namespace, input: Array, upper: bool = False) -> tuple[Array, Array]:
    """Cholesky factors; nan where the matrix has none, and `info` says which minor is to blame."""
    source = input.swapaxes(-1, -2).conj() if upper else input
    info = xp.zeros(input.shape[:-2], I32)
    try:
        lower = xp.linalg.cholesky(source)
    except xp.linalg.LinAlgError:
        (lower,) = one_by_one(xp, lambda a: (xp.linalg.cholesky(a),), source, source.shape[-2:])
        for place in places(info.shape):
            info[place] = _bad_minor(xp, source[place])
    return xp.array(lower.swapaxes(-1, -2).conj()) if upper else lower, info


def _raise_indefinite(name: str, info: Array) -> None:
    failure = first_failure(info)
    if failure is not None:
        where, order = failure
        raise explained(
            LinAlgError(
                f"{name}: {where}The factorization could not be completed because the input is not "
                f"positive-definite (the leading minor of order {order} is not positive-definite)."
            ),
            code="RG502",
        )


def _cholesky_samples() -> list[Sample]:
    return [
        Sample(T(values=_POSITIVE), dtypes=_FIELDS),
        Sample(T(values=_POSITIVE), upper=True, dtypes=_FIELDS),
        Sample(T(values=[_POSITIVE, _POSITIVE])),
        Sample(T(0, 0)),
        Sample(T(values=_POSITIVE), dtypes=HALVES),
        Sample(T(values=_NEGATIVE), error=(LinAlgError, "linalg.cholesky: The factorizat")),
        Sample(T(values=[[[1.0]], [[-1.0]]]), error=(LinAlgError, "linalg.cholesky: (Bat")),
        Sample(T(2, 3), error=(RuntimeError, "linalg.cholesky: A must be batches")),
    ]


@linalg_function(
    samples=lambda: [*_cholesky_samples(), Sample(T(3, 3, dtype="int64"), grad=False)],
    autocast="float32",
    out="structured",
)
def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mH = A``, or the upper one with ``U.mH @ U = A``.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    matrices("linalg_cholesky", "linalg.cholesky", A, kernel="cholesky_cpu")
    result, info = RECORDED.linalg_cholesky_ex(A, bool(upper))
    _raise_indefinite("linalg.cholesky", info._elements())
    return finish("linalg_cholesky", result, out)


@op(
    input=lambda m, g, out, upper: _cholesky_ex_gradient(m, (g, None), out, upper),
    holomorphic=False,
    node_name="CholeskyBackward0",
    forward=lambda m, tangents, out, upper: _cholesky_tangent(m, tangents[0], out, upper),
    aten="cholesky",
    event="retrograd::cholesky_factor",
)
def _cholesky_factor(xp: Namespace, input: Array, upper: bool) -> Array:
    """The Cholesky factor, or an error where there is none."""
    found, info = OPS["linalg_cholesky_ex"].kernel(xp, input, upper)
    _raise_indefinite("cholesky", info)
    factor: Array = found
    return factor


@composite(samples=_cholesky_samples, autocast="float32")
def _cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of a positive-definite matrix; `linalg.cholesky`."""
    array = require("cholesky", "input", 1, input)
    check_square("cholesky", array)
    check_kernel("cholesky_cpu", array)
    return finish("cholesky", RECORDED._cholesky_factor(input, bool(upper)), out)


@linalg_function(samples=lambda: [Sample(T(values=_POSITIVE)), Sample(T(0, 0))], autocast="float32")
def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_cholesky_ex:
    """The Cholesky factor and the order of a minor that is not positive-definite (0 if none)."""
    matrices("linalg_cholesky_ex", "linalg.cholesky", A, kernel="cholesky_cpu")
    result = RECORDED.linalg_cholesky_ex(A, bool(upper))
    if check_errors:
        _raise_indefinite("linalg.cholesky_ex", result[1]._elements())
    return finish_all("linalg_cholesky_ex", result, out)


def _cholesky_solve_gradient(
    m: Table, g: Tensor, needs: Sequence[bool], L: Tensor, out: Tensor, upper: bool
) -> Gradients:
    for_b = m.cholesky_solve(g, L, upper)
    if not needs[1]:
        return for_b, None
    product = m.matmul(for_b, mH(m, out))
    both = product + mH(m, product)
    return for_b, m.neg(m.matmul(L, both) if upper else m.matmul(both, L))


@inner_op(
    gradients=_cholesky_solve_gradient,
    differentiable=("input", "L"),
    holomorphic=False,
    autocast="float32",
    saved_names={"input2": "L"},
)
def cholesky_solve(xp: Namespace, input: Array, L: Array, upper: bool = False) -> Array:
    """Solutions for a matrix given by its Cholesky factor."""
    adjoint = L.swapaxes(-1, -2).conj()
    first, second = (adjoint, L) if upper else (L, adjoint)
    return substitute(xp, second, substitute(xp, first, input, False, False), True, False)


@composite(
    samples=lambda: [
        Sample(T(3, 2), T(3, 3, low=0.5), dtypes=_FIELDS, numeric=False),
        Sample(T(3, 2), T(3, 3, low=0.5), upper=True, numeric=False),
        Sample(T(2, 3, 2), T(3, 3, low=0.5), numeric=False),
        Sample(T(0, 2), T(0, 0)),
        Sample(T(3, 2), T(3, 3), dtypes=HALVES),
        Sample(T(3), T(3, 3), error=(RuntimeError, "b should have at least 2 dimensions")),
        Sample(T(3, 2), T(2, 2), error=(RuntimeError, "Incompatible matrix sizes for")),
    ],
    autocast="float32",
)
def _cholesky_solve(
    B: Tensor, L: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The solution X of ``A @ X = B`` for the Cholesky factor `L` of A."""
    b, factor = require("cholesky_solve", "B", 1, B), require("cholesky_solve", "L", 2, L)
    for name, array in (("b", b), ("u", factor)):
        if array.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {array.ndim} dimensions instead"
            )
    if factor.shape[-1] != factor.shape[-2] or factor.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            "Incompatible matrix sizes for cholesky_solve: each A matrix is "
            f"{factor.shape[-1]} by {factor.shape[-1]} but each b matrix is {b.shape[-2]} by "
            f"{b.shape[-1]}"
        )
    check_kernel("cholesky_solve_cpu", b)
    return finish("cholesky_solve", RECORDED.cholesky_solve(B, L, bool(upper)), out)


def _cholesky_inverse_gradient(m: Table, g: Tensor, L: Tensor, out: Tensor, upper: bool) -> Tensor:
    both = m.matmul(out, m.matmul(g + mH(m, g), out))
    return m.neg(m.matmul(L, both) if upper else m.matmul(both, L))


@inner_op(
    L=_cholesky_inverse_gradient, holomorphic=False, autocast="float32", saved_names={"self": "L"}
)
def cholesky_inverse(xp: Namespace, L: Array, upper: bool = False) -> Array:
    """The inverse of a matrix given by its Cholesky factor."""
    identity = xp.broadcast_to(xp.eye(L.shape[-1], dtype=L.dtype), L.shape)
    inverse: Array = OPS["cholesky_solve"].kernel(xp, identity, L, upper)
    return inverse


@composite(
    samples=lambda: [
        Sample(T(values=_POSITIVE), dtypes=_FIELDS),
        Sample(T(3, 3, low=0.5), upper=True, numeric=False),
        Sample(T(2, 3, 3, low=0.5), numeric=False),
        Sample(T(0, 0)),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(3), error=(RuntimeError, "cholesky_inverse: The input tensor A must have")),
    ],
    autocast="float32",
)
def _cholesky_inverse(L: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is `L`."""
    array = require("cholesky_inverse", "L", 1, L)
    check_square("cholesky_inverse", array)
    check_kernel("cholesky_inverse_out_cpu", array)
    return finish("cholesky_inverse", RECORDED.cholesky_inverse(L, bool(upper)), out)
