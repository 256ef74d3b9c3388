"""Least squares: pseudo-inverse, `lstsq` and the rank of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend import backend_of, is_array
from retrograd.notices import runtime_error
from retrograd.ops.calling.examples import by_example
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import check_matrix, mH, places, require
from retrograd.ops.linalg.products import type_name
from retrograd.ops.linalg.spectral import singular_values, symmetric_eigenvalues
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, linalg_function
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)
_FULL = (dtypes.F32, dtypes.F64, dtypes.C64, dtypes.C128)


def pinv_gradient(m: Table, g: Tensor, input: Tensor, pinv: Tensor) -> Tensor:
    """The gradient of a matrix for the gradient `g` of its pseudo-inverse (of constant rank)."""
    adjoint, for_adjoint = mH(m, pinv), mH(m, g)
    if input.shape[-2] <= input.shape[-1]:
        inner = m.matmul(for_adjoint, pinv)
        outer = m.matmul(inner, adjoint)
        return (
            outer
            - mH(m, m.matmul(pinv, inner))
            - m.matmul(m.matmul(input, pinv), outer)
            + m.matmul(m.matmul(adjoint, pinv), for_adjoint - m.matmul(inner, input))
        )
    inner = m.matmul(pinv, for_adjoint)
    outer = m.matmul(adjoint, inner)
    return (
        outer
        - mH(m, m.matmul(inner, pinv))
        + m.matmul(m.matmul(for_adjoint - m.matmul(input, inner), pinv), adjoint)
        - m.matmul(m.matmul(outer, pinv), input)
    )


@inner_op(
    input=lambda m, g, input, out: pinv_gradient(m, g, input, out),
    holomorphic=False,
    aten="linalg_pinv.atol_rtol_tensor",
)
def linalg_pinv(xp: Namespace, input: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero."""
    if not input.size:
        return xp.zeros((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)
    if hermitian:
        s, u = xp.linalg.eigh(input)
        size, vh = xp.abs(s), u.conj().swapaxes(-1, -2)
    else:
        u, s, vh = xp.linalg.svd(input, full_matrices=False)
        size = s
    limit = xp.maximum(atol, rtol * size.max(axis=-1, keepdims=True))
    inverse = xp.where(size > limit, 1 / xp.where(size > limit, s, 1), 0).astype(input.dtype)
    scaled = vh.conj().swapaxes(-1, -2) * inverse[..., None, :]
    return xp.matmul(scaled, u.conj().swapaxes(-1, -2))


def _tolerance(value: Tensor | float | None) -> Any:
    """A tolerance as a number, or as an array with one entry per matrix."""
    if isinstance(value, Tensor):
        return value._array.astype(dtypes.F64)[..., None]
    return value


def _tolerances(array: Array, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Both tolerances: alone, `rtol` is the precision times the size, unless `atol` is given."""
    if rtol is None:
        default = _precision(array)
        if atol is None:
            rtol = default
        else:
            given = _tolerance(atol) > 0
            if is_array(given):
                rtol = backend_of(given).xp.where(given, 0.0, default)
            else:
                rtol = 0.0 if given else default
    return 0.0 if atol is None else _tolerance(atol), _tolerance(rtol)


@linalg_function(
    samples=lambda: [
        *(Sample(T(*shape), dtypes=_FIELDS) for shape in ((3, 3), (4, 3), (3, 4))),
        Sample(T(2, 4, 3)),
        Sample(T(4, 3), rtol=0.1),
        Sample(T(4, 3), atol=0.1),
        Sample(T(4, 3), atol=0.01, rtol=0.1),
        Sample(T(4, 3), 1e-5),
        Sample(T(values=[[2.0, 1.0], [1.0, -3.0]]), hermitian=True),
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0]]), grad=False),
        Sample(T(0, 3), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(3), error=(RuntimeError, "linalg.pinv(")),
    ],
    autocast="lower result",
)
def pinv(
    A: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudo-inverse (Moore and Penrose) of a matrix of any shape and rank."""
    array = require("linalg_pinv", "A", 1, A)
    if array.ndim < 2 or array.dtype not in _FULL:
        raise RuntimeError(
            f"linalg.pinv({type_name(array)}{{{list(array.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types"
        )
    absolute, relative = _tolerances(array, atol, rcond if rtol is None else rtol)
    result = RECORDED.linalg_pinv(A, absolute, relative, bool(hermitian))
    return finish("linalg_pinv", result, out)


@composite(samples=lambda: [Sample(T(4, 3)), Sample(T(3, 2), rcond=1e-10)], autocast="float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; `linalg.pinv`."""
    return pinv(input, rcond)


@linalg_function(
    samples=lambda: [
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0]]), grad=False),
        Sample(T(3, 4), grad=False),
        Sample(T(2, 3, 3), tol=0.1, grad=False),
        Sample(T(2, 3, 3), atol=0.1, rtol=0.1, grad=False),
        Sample(T(2, 3, 3), T(values=[0.5, 1.0]), grad=False),
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0]]), hermitian=True, grad=False),
        Sample(T(0, 2), grad=False),
        Sample(T(3), error=(RuntimeError, "torch.linalg.matrix_rank: The input tensor")),
        Sample(T(3, 3, dtype="int64"), grad=False),
    ],
    autocast="float32",
)
@by_example
def matrix_rank(
    A: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values are larger than ``max(atol, rtol * largest)``."""
    array = require("linalg_matrix_rank", "A", 1, A)
    check_matrix("torch.linalg.matrix_rank", array, "input")
    if array.dtype not in _FULL:
        raise RuntimeError("This function doesn't handle types other than float and double")
    absolute, relative = _tolerances(array, tol if atol is None else atol, rtol)
    if tol is not None and rtol is None:
        relative = 0.0
    xp = backend_of(array).xp
    if not array.size:
        return finish("linalg_matrix_rank", wrap(xp.zeros(array.shape[:-2], dtypes.I64)), out)
    plain = A.detach()
    if hermitian:
        sizes = xp.abs(symmetric_eigenvalues(plain, "L")._array)
    else:
        sizes = singular_values(plain)._array
    limit = xp.maximum(absolute, relative * sizes.max(axis=-1, keepdims=True))
    count = xp.asarray(xp.count_nonzero(sizes > limit, axis=-1), dtypes.I64)
    return finish("linalg_matrix_rank", wrap(count), out)


# --------------------------------------------------------------------------------------- lstsq


def _lstsq_gradient(
    m: Table, g: Gradients, needs: Sequence[bool], input: Tensor, other: Tensor, out0: Tensor
) -> Gradients:
    for_solution, for_residuals = g[0], g[1]
    for_input = for_other = None
    if for_solution is not None:
        pinv = m.linalg_pinv(input, 0.0, _precision(input), False)
        for_other = m.matmul(mH(m, pinv), for_solution)
        if needs[0]:
            for_pinv = m.matmul(for_solution, mH(m, other))
            for_input = pinv_gradient(m, for_pinv, input, pinv)
    if for_residuals is not None and for_residuals.shape[-1:] != (0,):
        # the solution is where the residuals do not change with it
        rest = m.matmul(input, out0) - other
        weighted = m.mul(rest, m.mul(m.unsqueeze(for_residuals, -2), 2.0))
        for_other = m.neg(weighted) if for_other is None else for_other - weighted
        if needs[0]:
            more = m.matmul(weighted, mH(m, out0))
            for_input = more if for_input is None else for_input + more
    return for_input, for_other


def _precision(array: Any) -> float:
    kind = dtypes.from_numpy_dtype(array.dtype) if is_array(array) else array.dtype
    return float(dtypes.finfo(kind).eps) * int(max(array.shape[-2:]))


@inner_op(
    gradients=_lstsq_gradient,
    differentiable=("input", "other"),
    outputs=4,
    nondifferentiable=(2, 3),
    holomorphic=False,
    returns=return_types.linalg_lstsq,
    autocast="float32",
    saved_names={"b": "other", "solution": "out0"},
)
def linalg_lstsq(
    xp: Namespace, input: Array, other: Array, rcond: float, driver: str
) -> tuple[Array, Array, Array, Array]:
    """Solutions of least squares, squared residuals, ranks and singular values."""
    *lead, rows, columns = input.shape
    real = dtypes.from_numpy_dtype(input.dtype).to_real().numpy
    solution = xp.zeros((*lead, columns, other.shape[-1]), input.dtype)
    rank = xp.zeros(tuple(lead), dtypes.I64)
    values = xp.zeros((*lead, min(rows, columns)), real)
    if driver == "gels":
        rcond = 0.0  # it takes every matrix to have full rank
    for place in places(lead):
        found = xp.linalg.lstsq(input[place], other[place], rcond=rcond)
        solution[place], rank[place], values[place] = found[0], found[2], found[3]
    if driver == "gelss" and rcond >= 1:  # which leaves no singular value
        solution[...], rank[...] = 0, 0
    residuals = xp.empty((0,), real)
    if driver != "gelsy" and rows > columns and (driver == "gels" or (rank == columns).all()):
        rest = xp.matmul(input, solution) - other
        residuals = xp.sum(xp.abs(rest) ** 2, axis=-2)
    if driver == "gels":
        rank = xp.empty((0,), dtypes.I64)
    if driver in ("gels", "gelsy"):
        values = xp.empty((0,), real)
    return solution, residuals, rank, values


def _lstsq_samples() -> list[Sample]:
    return [
        Sample(T(4, 3), T(4, 2), second=False, dtypes=_FIELDS),
        Sample(T(3, 3), T(3, 2), second=False),
        Sample(T(3, 4), T(3, 2), second=False),
        Sample(T(2, 4, 3), T(2, 4, 2), second=False),
        Sample(T(2, 4, 3), T(2, 4), second=False),
        Sample(T(4, 3), T(4), second=False),
        *(
            Sample(T(4, 3), T(4, 2), driver=name, grad=False)
            for name in ("gels", "gelsy", "gelsd", "gelss")
        ),
        Sample(T(2, 4, 3), T(2, 4, 2), driver="gelsd", grad=False),
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), T(3, 1), grad=False),
        Sample(T(4, 3), T(3, 2), error=(RuntimeError, "torch.linalg.lstsq: input.size(-2)")),
        Sample(T(4, 3), T(4, 2, 1), error=(RuntimeError, "torch.linalg.lstsq: input.dim()")),
        Sample(T(4, 3), T(4, 2), driver="foo", error=(RuntimeError, "torch.linalg.lstsq: p")),
        Sample(T(3), T(3), error=(RuntimeError, "torch.linalg.lstsq: input must have at")),
        Sample(T(3, 3, dtype="int64"), T(3, 1, dtype="int64"), grad=False),
    ]


@linalg_function(samples=_lstsq_samples, autocast="float32")
def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lstsq:
    """The X that makes ``A @ X - B`` as small as possible, with residuals and ranks."""
    a, b = require("linalg_lstsq", "A", 1, A), require("linalg_lstsq", "B", 2, B)
    name = "torch.linalg.lstsq"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if a.dtype is not b.dtype:
        raise runtime_error(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{type_name(a)} and other's dtype {type_name(b)}",
            code="RG301",
        )
    if not 0 <= a.ndim - b.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1"
        )
    vector = b.ndim == a.ndim - 1
    if a.shape[-2] != b.shape[-1 if vector else -2]:
        side = "other.size(-1)" if vector else "other.size(-2)"
        raise RuntimeError(f"{name}: input.size(-2) should match {side}")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if a.dtype not in _FULL:
        raise RuntimeError("This function doesn't handle types other than float and double")
    limit = _precision(A) if rcond is None else float(rcond)
    right = RECORDED.unsqueeze(B, -1) if vector else B
    parts = list(RECORDED.linalg_lstsq(A, right, limit, driver or "gelsy"))
    if vector:
        parts[0] = RECORDED.squeeze(parts[0], -1)
    if out is not None:
        parts = [finish("linalg_lstsq", x, y) for x, y in zip(parts, out, strict=True)]
    return return_types.linalg_lstsq(*parts)
