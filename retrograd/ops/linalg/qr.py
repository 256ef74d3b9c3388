"""The QR decomposition, and products of the reflections that LAPACK computes it with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from retrograd import return_types
from retrograd.backend import backend_of
from retrograd.notices import explained
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import check_kernel, matrices, mH, require
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, linalg_function
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)


def _qr_gradient(
    m: Table, g: Gradients, out0: Tensor, out1: Tensor, mode: str, input_shape: tuple[int, ...]
) -> Tensor | None:
    for_q, for_r = g
    if for_q is None and for_r is None:
        return None
    rows, columns = input_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if rows >= columns:
        return _tall_qr_gradient(m, for_q, for_r, out0, out1)
    # A = [A1 A2] with square A1 = Q R1, and R2 = Q^H A2: the rest follows from A1's gradient
    if for_r is None:
        for_first = _tall_qr_gradient(m, for_q, None, out0, m.narrow(out1, -1, 0, rows))
        rest = m.zeros_like(m.matmul(out0, m.narrow(out1, -1, rows, columns - rows)))
        return m.cat([for_first, rest], -1)
    for_r2 = m.narrow(for_r, -1, rows, columns - rows)
    second = m.matmul(out0, m.narrow(out1, -1, rows, columns - rows))
    more = m.matmul(second, mH(m, for_r2))
    for_q = more if for_q is None else for_q + more
    for_r1 = m.narrow(for_r, -1, 0, rows)
    for_first = _tall_qr_gradient(m, for_q, for_r1, out0, m.narrow(out1, -1, 0, rows))
    return m.cat([for_first, m.matmul(out0, for_r2)], -1)


def _tall_qr_gradient(
    m: Table, for_q: Tensor | None, for_r: Tensor | None, q: Tensor, r: Tensor
) -> Tensor:
    inner = None if for_r is None else m.matmul(for_r, mH(m, r))
    if for_q is not None:
        part = m.matmul(mH(m, q), for_q)
        inner = m.neg(part) if inner is None else inner - part
    assert inner is not None
    upper = m.triu(inner, 0)
    full = upper + mH(m, upper)
    # the diagonal was counted twice
    middle = m.diagonal(full, 0, -2, -1)
    full = full - m.diag_embed(m.mul(m.real(middle), 0.5), 0, -2, -1)
    total = m.matmul(q, full)
    if for_q is not None:
        total = for_q + total
    return m.linalg_solve_triangular(mH(m, r), total, False, False, False)


@inner_op(
    input=_qr_gradient,
    outputs=2,
    holomorphic=False,
    returns=return_types.linalg_qr,
    autocast="float32",
    saved_names={"Q": "out0", "R": "out1"},
)
def linalg_qr(xp: Namespace, input: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Orthonormal columns times an upper triangular matrix."""
    if mode == "r":
        return xp.empty((0,), input.dtype), xp.linalg.qr(input, mode="r")
    if 0 in input.shape[:-2] or not input.size:
        return _empty_qr(xp, input, mode)
    q, r = xp.linalg.qr(input, mode=mode)
    return q, r


def _empty_qr(xp: Namespace, input: Array, mode: str) -> tuple[Array, Array]:
    *lead, rows, columns = input.shape
    inner = rows if mode == "complete" else min(rows, columns)
    identity = xp.eye(rows, inner, dtype=input.dtype)
    q = xp.array(xp.broadcast_to(identity, (*lead, rows, inner)))
    return q, xp.zeros((*lead, inner, columns), input.dtype)


@linalg_function(
    samples=lambda: [
        *(Sample(T(*shape), dtypes=_FIELDS) for shape in ((3, 3), (4, 3), (3, 4))),
        Sample(T(2, 4, 3)),
        Sample(T(2, 3, 4)),
        Sample(T(3, 3), mode="complete"),
        Sample(T(3, 4), mode="complete"),
        Sample(T(4, 3), mode="complete", grad=False),
        Sample(T(4, 3), mode="r", grad=False),
        Sample(T(3, 0), grad=False),
        Sample(T(0, 3), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(3), error=(RuntimeError, "linalg.qr: The input tensor A must have at")),
        Sample(T(3, 3), "foo", error=(RuntimeError, "qr received unrecognized mode 'foo'")),
    ],
    autocast="float32",
)
def qr(
    A: Tensor, mode: str = "reduced", *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_qr:
    """Orthonormal columns Q and an upper triangular R with ``Q @ R = A``."""
    matrices("linalg_qr", "linalg.qr", A, square=False, kernel="geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    q, r = RECORDED.linalg_qr(A, mode)
    if mode == "r" and q._requires_grad:
        q = q.detach()
    if out is not None:
        q, r = (finish("linalg_qr", x, y) for x, y in zip((q, r), out, strict=True))
    return return_types.linalg_qr(q, r)


@composite(
    samples=lambda: [Sample(T(4, 3)), Sample(T(3, 4), False, grad=False)], autocast="float32"
)
def _qr(
    input: Tensor, some: bool = True, *, out: Sequence[Tensor] | None = None
) -> return_types.qr:
    """The QR decomposition, reduced if `some`; `linalg.qr`."""
    return return_types.qr(*qr(input, "reduced" if some else "complete", out=out))


# --------------------------------------------------------------------------------- reflections


@inner_op(
    outputs=2,
    input=lambda m, g, input_shape: _no_geqrf_gradient(),
    returns=return_types.geqrf,
    autocast="float32",
)
def geqrf(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """LAPACK's compact form of a QR decomposition: R above, reflections below, and their sizes."""
    reflections, sizes = xp.linalg.qr(input, mode="raw")
    return reflections.swapaxes(-1, -2), sizes


def _no_geqrf_gradient() -> NoReturn:
    raise explained(
        NotImplementedError("the derivative for 'geqrf' is not implemented."), code="RG121"
    )


@composite(
    samples=lambda: [Sample(T(4, 3), grad=False), Sample(T(2, 3, 3), grad=False)],
    autocast="float32",
)
def _geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.geqrf:
    """The reflections and R of a QR decomposition, packed as LAPACK packs them."""
    matrices("geqrf", "torch.geqrf", input, square=False, kernel="geqrf_cpu")
    result = RECORDED.geqrf(input)
    if out is None:
        return result
    return return_types.geqrf(*(finish("geqrf", x, y) for x, y in zip(result, out, strict=True)))


def _householder_samples() -> list[Sample]:
    return [
        Sample(T(4, 3), T(3), dtypes=_FIELDS),
        Sample(T(3, 3), T(2)),
        Sample(T(2, 4, 3), T(2, 3)),
        Sample(T(4, 3), T(0), grad=False),
        Sample(T(2, 3), T(3), error=(RuntimeError, "torch.linalg.householder_product: input.")),
        Sample(T(3, 2), T(3), error=(RuntimeError, "torch.linalg.householder_product: input.")),
    ]


def _householder_product(A: Tensor, tau: Tensor) -> Tensor:
    a, sizes = require("householder_product", "input", 1, A), require("", "tau", 2, tau)
    name = "torch.linalg.householder_product"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if a.shape[-1] < sizes.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    check_kernel("orgqr_cpu", a)
    rows, columns = a.shape[-2:]
    below = RECORDED.tril(A, -1)
    xp = backend_of(a).xp
    ones = xp.broadcast_to(xp.eye(rows, columns, dtype=a.dtype), a.shape)
    reflections = RECORDED.add(below, wrap(xp.array(ones)))
    product = wrap(xp.array(ones))
    if not sizes.shape[-1]:  # constant, yet part of the graph
        product = RECORDED.add(product, RECORDED.mul(RECORDED.sum(tau), 0.0))
    for i in reversed(range(sizes.shape[-1])):
        vector = RECORDED.narrow(reflections, -1, i, 1)
        size = RECORDED.unsqueeze(RECORDED.narrow(tau, -1, i, 1), -1)
        shadow = RECORDED.matmul(mH(RECORDED, vector), product)
        product = product - size * RECORDED.matmul(vector, shadow)
    return product


@linalg_function(samples=_householder_samples, autocast="float32")
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of reflections ``I - tau[i] * v[i] @ v[i].mH``."""
    return finish("linalg_householder_product", _householder_product(A, tau), out)


@composite(samples=lambda: _householder_samples()[:1], autocast="float32")
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections; `linalg.householder_product`."""
    return finish("orgqr", _householder_product(input, tau), out)
