"""Singular values and eigenvalues: svd, eigh, eig and the functions of their values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend import backend_of
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.linalg.matmul import finish, finish_all
from retrograd.ops.linalg.matrices import (
    LinAlgError,
    check_kernel,
    check_square,
    column,
    matrices,
    mH,
    require,
    row,
)
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, linalg_function, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)
_SYMMETRIC = [[2.0, -1.0, 0.5], [-1.0, 3.0, 1.0], [0.5, 1.0, -1.0]]


def _gaps(m: Table, values: Tensor) -> Tensor:
    """``values[j] - values[i]`` in row i, column j, with ones on the diagonal."""
    found = row(m, values) - column(m, values)
    return found + m.diag_embed(m.ones_like(values), 0, -2, -1)


def _is_complex(x: Tensor) -> bool:
    found = x.dtype
    return found in dtypes.COMPLEX_TYPES or getattr(found, "is_complex", False)


# -------------------------------------------------------------------------------- singular values


def _svd_gradient(
    m: Table,
    g: Gradients,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
    full_matrices: bool,
    input_shape: tuple[int, ...],
) -> Tensor | None:
    for_u, for_s, for_vh = g
    u, s, vh = out0, out1, out2
    rows, columns = input_shape[-2:]
    count = min(rows, columns)
    if full_matrices:  # the columns beyond the singular values are arbitrary
        u, vh = m.narrow(u, -1, 0, count), m.narrow(vh, -2, 0, count)
        for_u = None if for_u is None else m.narrow(for_u, -1, 0, count)
        for_vh = None if for_vh is None else m.narrow(for_vh, -2, 0, count)
    if for_u is None and for_vh is None:
        if for_s is None:
            return None
        return m.matmul(m.mul(u, row(m, for_s)), vh)
    turn_u = turn_v = None
    if for_u is not None:
        turn_u = m.matmul(mH(m, u), for_u)
        turn_u = turn_u - mH(m, turn_u)
    if for_vh is not None:
        turn_v = m.matmul(vh, mH(m, for_vh))
        turn_v = turn_v - mH(m, turn_v)
    if _is_complex(u):
        turned = [turn for turn in (turn_u, turn_v) if turn is not None]
        _check_phase(m, turned)
    return _svd_outer(m, (for_u, for_s, for_vh), (turn_u, turn_v), (u, s, vh), rows, columns)


def _check_phase(m: Table, turned: Sequence[Tensor]) -> None:
    """A loss may not depend on the phase of complex singular vectors: it is arbitrary."""
    both = sum(m.diagonal(turn, 0, -2, -1) for turn in turned)
    if not _is_real(both):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this phase term, "
            "making it ill-defined."
        )


def _is_real(x: Any) -> bool:
    """Whether the elements of a value, on either face, have next to no imaginary part."""
    elements = x._elements() if isinstance(x, Tensor) else x
    return bool(backend_of(elements).xp.allclose(elements.imag, 0, rtol=1e-2, atol=1e-2))


def _svd_outer(
    m: Table, gradients: Gradients, turns: Gradients, factors: Sequence[Tensor], rows: int,
    columns: int,
) -> Tensor:  # fmt: skip
    for_u, for_s, for_vh = gradients
    turn_u, turn_v = turns
    u, s, vh = factors
    gaps = _gaps(m, m.mul(s, s))
    inner = None
    if turn_u is not None:
        inner = m.mul(turn_u, row(m, s))
    if turn_v is not None:
        part = m.mul(column(m, s), turn_v)
        inner = part if inner is None else inner + part
    assert inner is not None
    inner = m.div(inner, gaps)
    if for_s is not None:
        inner = inner + m.diag_embed(for_s, 0, -2, -1)
    if turn_u is not None and turn_v is not None and _is_complex(u):
        phase = m.div(m.diagonal(turn_u, 0, -2, -1), m.mul(s, 2.0))
        inner = inner + m.diag_embed(phase, 0, -2, -1)
    if rows > columns and for_u is not None:
        outside = m.div(for_u, row(m, s))
        outside = outside - m.matmul(u, m.matmul(mH(m, u), outside))
        return m.matmul(m.matmul(u, inner) + outside, vh)
    if columns > rows and for_vh is not None:
        outside = m.div(for_vh, column(m, s))
        outside = outside - m.matmul(m.matmul(outside, mH(m, vh)), vh)
        return m.matmul(u, m.matmul(inner, vh) + outside)
    return m.matmul(m.matmul(u, inner), vh)


def _svd_failure() -> Exception:
    return LinAlgError(
        "linalg.svd: The algorithm failed to converge because the input matrix contained "
        "non-finite values."
    )


@inner_op(
    input=_svd_gradient,
    outputs=3,
    holomorphic=False,
    returns=return_types.linalg_svd,
    autocast="float32",
    aten="_linalg_svd",
    saved_names={"U": "out0", "S": "out1", "Vh": "out2"},
)
def linalg_svd(
    xp: Namespace, input: Array, full_matrices: bool = True
) -> tuple[Array, Array, Array]:
    """``U @ diag(S) @ Vh`` with orthonormal U and Vh and falling singular values S."""
    if not xp.isfinite(input).all():
        raise _svd_failure()
    try:
        u, s, vh = xp.linalg.svd(input, full_matrices=full_matrices)
    except xp.linalg.LinAlgError:
        raise _svd_failure() from None
    return u, s, vh


@op(fast=False, aten="_linalg_svd", event="retrograd::singular_values")
def _singular_values(xp: Namespace, input: Array) -> Array:
    """The singular values alone."""
    if not xp.isfinite(input).all():
        raise _svd_failure()
    try:
        return xp.linalg.svd(input, compute_uv=False)
    except xp.linalg.LinAlgError:
        raise _svd_failure() from None


def singular_values(A: Tensor) -> Tensor:
    """The singular values; with vectors behind them if a gradient will need these."""
    if TRANSFORMS.active or (A._requires_grad and STATE.grad_enabled):
        found: Tensor = RECORDED.linalg_svd(A, False)[1]
    else:
        found = RECORDED._singular_values(A)
    return found


def _check_driver(name: str, driver: object) -> None:
    if driver is not None:
        raise RuntimeError(
            f"torch.{name}: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


@linalg_function(
    samples=lambda: [
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(0, 3), grad=False),
        Sample(T(values=[[float("nan"), 1.0]]), error=(LinAlgError, "linalg.svd: The algo")),
        Sample(T(3), error=(RuntimeError, "linalg.svd: The input tensor A must have at")),
        Sample(T(3, 2), driver="gesvd", error=(RuntimeError, "torch.linalg.svd: keyword")),
    ],
    autocast="float32",
)
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_svd:
    """The singular value decomposition ``A = U @ diag(S) @ Vh``.

    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    matrices("linalg_svd", "linalg.svd", A, square=False, kernel="linalg_svd_cpu")
    _check_driver("linalg.svd", driver)
    return finish_all("linalg_svd", RECORDED.linalg_svd(A, bool(full_matrices)), out)


@linalg_function(
    samples=lambda: [
        *(Sample(T(*shape), dtypes=_FIELDS) for shape in ((3, 3), (4, 3), (3, 4))),
        Sample(T(2, 4, 3)),
        Sample(T(1, 1), second=False),
        Sample(T(0, 3), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(3), error=(RuntimeError, "linalg.svd: The input tensor A must have at")),
        Sample(T(values=[[float("nan"), 1.0]]), error=(LinAlgError, "linalg.svd: The algo")),
    ],
    autocast="float32",
    out="structured",
)
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values, falling."""
    matrices("linalg_svdvals", "linalg.svd", A, square=False, kernel="linalg_svd_cpu")
    _check_driver("linalg.svd", driver)
    return finish("linalg_svdvals", singular_values(A), out)


@composite(samples=lambda: [Sample(T(3, 2), compute_uv=False, second=False)], autocast="float32")
def _svd(
    input: Tensor,
    some: bool = True,
    compute_uv: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.svd:
    """The decomposition ``U @ diag(S) @ V.mH``: V itself, where `linalg.svd` gives ``V.mH``."""
    matrices("svd", "linalg.svd", input, square=False, kernel="linalg_svd_cpu")
    if compute_uv:
        u, s, vh = RECORDED.linalg_svd(input, not some)
        result = return_types.svd(u, s, mH(RECORDED, vh))
    else:
        *lead, rows, columns = input._array.shape
        xp = backend_of(input._array).xp
        zeros = [
            wrap(xp.zeros((*lead, size, size), input._array.dtype)) for size in (rows, columns)
        ]
        result = return_types.svd(zeros[0], singular_values(input), zeros[1])
    return finish_all("svd", result, out)


# ---------------------------------------------------------------------- eigenvalues, symmetric


def _eigh_gradient(m: Table, g: Gradients, out0: Tensor, out1: Tensor) -> Tensor | None:
    for_values, for_vectors = g
    if for_vectors is None:
        if for_values is None:
            return None
        return m.matmul(m.mul(out1, row(m, for_values)), mH(m, out1))
    turn = m.matmul(mH(m, out1), for_vectors)
    if _is_complex(out1):
        _check_eigen_phase(m, "linalg_eigh_backward", m.diagonal(turn, 0, -2, -1))
    # orthonormal vectors can only turn: the skew part is all that counts
    turn = m.mul(turn - mH(m, turn), 0.5)
    inner = m.div(turn, _gaps(m, out0))
    inner = _with_diagonal(m, inner, for_values)
    return m.matmul(out1, m.matmul(inner, mH(m, out1)))


def _with_diagonal(m: Table, matrix: Tensor, values: Tensor | None) -> Tensor:
    """The matrix with another diagonal (zeros if there are no values)."""
    own = m.diag_embed(m.diagonal(matrix, 0, -2, -1), 0, -2, -1)
    rest = matrix - own
    return rest if values is None else rest + m.diag_embed(values, 0, -2, -1)


def _check_eigen_phase(m: Table, name: str, diagonal: Tensor) -> None:
    if not _is_real(diagonal):
        raise RuntimeError(
            f"{name}: The eigenvectors in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
        )


def _no_convergence(name: str) -> Exception:
    return LinAlgError(
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or "
        "has too many repeated eigenvalues (error code: 2)."
    )


@inner_op(
    input=_eigh_gradient,
    outputs=2,
    holomorphic=False,
    returns=return_types.linalg_eigh,
    autocast="float32",
    aten="_linalg_eigh",
    saved_names={"eigenvalues": "out0", "eigenvectors": "out1"},
)
def linalg_eigh(xp: Namespace, input: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Rising eigenvalues and eigenvectors of symmetric matrices; one triangle is read."""
    if not xp.isfinite(input).all():
        raise _no_convergence("linalg.eigh")
    try:
        values, vectors = xp.linalg.eigh(input, UPLO)
    except xp.linalg.LinAlgError:
        raise _no_convergence("linalg.eigh") from None
    return values, vectors


@op(fast=False)
def _symmetric_eigenvalues(xp: Namespace, input: Array, UPLO: str) -> Array:
    """The eigenvalues alone."""
    if not xp.isfinite(input).all():
        raise _no_convergence("linalg.eigh")
    return xp.linalg.eigvalsh(input, UPLO)


def _check_eigh(A: Tensor, UPLO: str) -> str:
    array = require("linalg_eigh", "A", 1, A)
    check_square("linalg.eigh", array)
    if not isinstance(UPLO, str) or UPLO[:1].upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", array)
    return UPLO[:1].upper()


def symmetric_eigenvalues(A: Tensor, UPLO: str) -> Tensor:
    """The eigenvalues; with vectors behind them if a gradient will need these."""
    if TRANSFORMS.active or (A._requires_grad and STATE.grad_enabled):
        found: Tensor = RECORDED.linalg_eigh(A, UPLO)[0]
    else:
        found = RECORDED._symmetric_eigenvalues(A, UPLO)
    return found


@linalg_function(
    samples=lambda: [
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(0, 0), second=False),
        Sample(T(values=[[float("nan")] * 3] * 3), error=(LinAlgError, "linalg.eigh: The algo")),
        Sample(T(2, 3), error=(RuntimeError, "linalg.eigh: A must be batches of square")),
        Sample(T(3, 3), UPLO="X", error=(RuntimeError, "Expected UPLO argument to be 'L'")),
    ],
    autocast="float32",
)
def eigh(
    A: Tensor, UPLO: str = "L", *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_eigh:
    """Rising eigenvalues and orthonormal eigenvectors of a symmetric (Hermitian) matrix."""
    triangle = _check_eigh(A, UPLO)
    return finish_all("linalg_eigh", RECORDED.linalg_eigh(A, triangle), out)


@linalg_function(
    samples=lambda: [
        Sample(T(values=_SYMMETRIC), dtypes=_FIELDS),
        Sample(T(values=_SYMMETRIC), UPLO="U"),
        Sample(T(2, 3, 3), numeric=False),
        Sample(T(3, 3), "u", numeric=False),
        Sample(T(0, 0), second=False),
        Sample(T(2, 3), error=(RuntimeError, "linalg.eigh: A must be batches of square")),
    ],
    autocast="float32",
    out="structured",
)
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The rising eigenvalues of a symmetric (Hermitian) matrix."""
    triangle = _check_eigh(A, UPLO)
    return finish("linalg_eigvalsh", symmetric_eigenvalues(A, triangle), out)


# ------------------------------------------------------------------------ eigenvalues, general


def _eig_gradient(m: Table, g: Gradients, out0: Tensor, out1: Tensor) -> Tensor | None:
    for_values, for_vectors = g
    vectors = out1
    adjoint = mH(m, vectors)
    if for_vectors is None:
        if for_values is None:
            return None
        inner = m.mul(column(m, for_values), adjoint)
        return m.linalg_solve_ex(adjoint, inner, True)[0]
    turn = m.matmul(adjoint, for_vectors)
    diagonal = m.diagonal(turn, 0, -2, -1)
    _check_eigen_phase(m, "linalg_eig_backward", diagonal)
    # vectors of length one cannot grow
    turn = turn - m.matmul(adjoint, m.mul(vectors, row(m, m.real(diagonal))))
    inner = _with_diagonal(m, m.div(turn, m.conj(_gaps(m, out0))), for_values)
    return m.linalg_solve_ex(adjoint, m.matmul(inner, adjoint), True)[0]


@inner_op(
    input=_eig_gradient,
    outputs=2,
    holomorphic=False,
    returns=return_types.linalg_eig,
    autocast="float32",
    saved_names={"eigenvalues": "out0", "eigenvectors": "out1"},
)
def linalg_eig(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Complex eigenvalues and eigenvectors of square matrices."""
    values, vectors = xp.linalg.eig(input)
    target = dtypes.from_numpy_dtype(input.dtype).to_complex().numpy
    return values.astype(target, copy=False), vectors.astype(target, copy=False)


def _check_eig(name: str, A: Tensor) -> None:
    array = require(name.replace(".", "_"), "input", 1, A)
    check_square(name, array)
    if array.dtype not in dtypes.DIFFERENTIABLE:
        kind = dtypes.from_numpy_dtype(array.dtype).type_name
        raise RuntimeError(f"Unknown Complex ScalarType for {kind}")
    check_kernel("linalg_eig_out_cpu", array)
    if not backend_of(array).xp.isfinite(A._elements()).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@linalg_function(
    samples=lambda: [
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(values=[[float("nan")]]), error=(RuntimeError, "torch.linalg.eig: input")),
        Sample(T(2, 3), error=(RuntimeError, "linalg.eig: A must be batches of square")),
    ],
    autocast="float32",
)
def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig:
    """The eigenvalues and eigenvectors of a square matrix, always complex."""
    _check_eig("linalg.eig", A)
    return finish_all("linalg_eig", RECORDED.linalg_eig(A), out)


@linalg_function(
    samples=lambda: [
        Sample(T(2, 3), error=(RuntimeError, "linalg.eig: A must be batches of square")),
    ],
    autocast="float32",
)
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a square matrix, always complex."""
    _check_eig("linalg.eigvals", A)
    return finish("linalg_eigvals", RECORDED.linalg_eig(A)[0], out)
