"""`ormqr`: a matrix multiplied by the reflections of a QR decomposition."""

from __future__ import annotations

from typing import Any

from retrograd.backend import backend_of
from retrograd.notices import explained, runtime_error
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import check_kernel, mH, require
from retrograd.ops.linalg.products import type_name
from retrograd.ops.registry import RECORDED, composite
from retrograd.samples import COMPLEX, FLOATS, Sample, T
from retrograd.tensor import Tensor, wrap


def _samples() -> list[Sample]:
    return [
        Sample(T(5, 3), T(3), T(5, 2), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(5, 3), T(3), T(5, 2), transpose=True, dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(5, 3), T(3), T(2, 5), left=False, dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(5, 3), T(3), T(2, 5), False, True),
        Sample(T(2, 4, 4), T(2, 4), T(2, 4, 3)),
        Sample(T(5, 3), T(3), T(4, 2), error=(RuntimeError, "torch.ormqr: other.shape[-2]")),
        Sample(T(5, 3), T(2), T(5, 2), error=(RuntimeError, "torch.ormqr: tau.shape[-1]")),
        Sample(T(5), T(3), T(5, 2), error=(RuntimeError, "torch.ormqr: input must have at")),
        Sample(T(5, 3), T(3), T(5), error=(RuntimeError, "torch.ormqr: other must have at")),
        Sample(T(5, 3), T(3), T(5, 2, dtype="int64"), error=(RuntimeError, "torch.ormqr: Ex")),
    ]


def _check(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    a, sizes = require("ormqr", "input", 1, input), require("ormqr", "tau", 2, tau)
    b = require("ormqr", "other", 3, other)
    for name, array in (("input", a), ("other", b)):
        if array.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    if not sizes.ndim:
        raise explained(
            IndexError("Dimension specified as -1 but tensor has no dimensions"), code="RG205"
        )
    side = -2 if left else -1
    if b.shape[side] < sizes.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        )
    if sizes.shape[-1] != min(b.shape[side], a.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    if b.shape[side] != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    for name, array, fewer in (("tau", sizes, 1), ("other", b, 0)):
        if array.ndim != a.ndim - fewer:
            raise RuntimeError(
                f"torch.ormqr: Expected {name} to have "
                f"{'one dimension less than' if fewer else 'the same number of dimensions as'} "
                f"input, but got {name}.ndim equal to {array.ndim} and input.ndim is equal to "
                f"{a.ndim}"
            )
        batch = array.shape[: a.ndim - 2]
        if batch != a.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to "
                f"input.shape[:-2], but got {list(batch)}"
            )
    if a.dtype is not sizes.dtype:
        raise runtime_error(
            "torch.ormqr: Expected input and tau to have the same dtype, but input has "
            f"dtype{type_name(a)} and tau has dtype {type_name(sizes)}",
            code="RG301",
        )
    if a.dtype is not b.dtype:
        raise runtime_error(
            "torch.ormqr: Expected input and other to have the same dtype, but input has "
            f"dtype{type_name(a)} and other has dtype {type_name(b)}",
            code="RG301",
        )
    check_kernel("ormqr_cpu", a)


@composite(samples=_samples, autocast="float32")
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A matrix times the orthogonal one of `geqrf`, from the left or right, or its transpose.

    `input` and `input2` are what `geqrf` gave, `input3` is the other matrix.
    """
    tau, other = input2, input3
    _check(input, tau, other, left)
    a = input._array
    rows, columns = a.shape[-2:]
    xp = backend_of(a).xp
    ones = xp.broadcast_to(xp.eye(rows, columns, dtype=a.dtype), a.shape)
    vectors = RECORDED.add(RECORDED.tril(input, -1), wrap(xp.array(ones)))
    # from the right: the transpose of the same from the left
    found: Any = other if left else mH(RECORDED, other)
    adjoint = transpose if left else not transpose
    order = range(tau.shape[-1])
    for i in order if adjoint else reversed(order):
        vector = RECORDED.narrow(vectors, -1, i, 1)
        size = RECORDED.unsqueeze(RECORDED.narrow(tau, -1, i, 1), -1)
        if adjoint:
            size = RECORDED.conj(size)
        shadow = RECORDED.matmul(mH(RECORDED, vector), found)
        found = found - size * RECORDED.matmul(vector, shadow)
    return finish("ormqr", found if left else mH(RECORDED, found), out)
