"""Orthogonal polynomials of `torch.special`: Chebyshev, Hermite, Laguerre, Legendre.

All follow from one recurrence, ``p[k + 1] = step(k, x, p[k], p[k - 1])``. As in PyTorch they have
no gradient.
"""

from __future__ import annotations

from collections.abc import Callable

from retrograd import dtypes
from retrograd.ops.calling.aten_names import by_operands
from retrograd.ops.elementwise.special import check_real
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import op
from retrograd.samples import COMPLEX, Sample, T

Step = Callable[[int, Array, Array, Array], Array]


def _evaluate(
    xp: Namespace, x: Operand, n: Operand, first: Callable[[Array], Array], step: Step
) -> Array:
    """The polynomial of degree `n` (rounded towards zero) at `x`; 0 for negative degrees."""
    x, n = xp.broadcast_arrays(x, n)
    degree = n.astype(dtypes.I64)
    before, current = xp.ones_like(x), first(x)
    result = xp.where(degree == 0, before, xp.where(degree == 1, current, xp.zeros_like(x)))
    for k in range(1, int(degree.max()) if degree.size else 0):
        before, current = current, step(k, x, current, before)
        result = xp.where(degree == k + 1, current, result)
    return result.astype(x.dtype, copy=False)


def _chebyshev(k: int, x: Array, current: Array, before: Array) -> Array:
    return 2 * x * current - before


def _hermite(k: int, x: Array, current: Array, before: Array) -> Array:
    value: Array = 2 * x * current - 2 * k * before
    return value


def _hermite_of_statistics(k: int, x: Array, current: Array, before: Array) -> Array:
    value: Array = x * current - k * before
    return value


def _laguerre(k: int, x: Array, current: Array, before: Array) -> Array:
    value: Array = ((2 * k + 1 - x) * current - k * before) / (k + 1)
    return value


def _legendre(k: int, x: Array, current: Array, before: Array) -> Array:
    value: Array = ((2 * k + 1) * x * current - k * before) / (k + 1)
    return value


def _samples() -> list[Sample]:
    at = T(values=[-2.0, -1, -0.5, 0, 0.5, 1, 2, 1.5])
    found = [Sample(at, n) for n in (-1, 0, 1, 2, 2.7, 5, 9)]
    found += [
        Sample(T(3, 1), T(values=[0.0, 1, 4, 7])),
        Sample(0.3, T(values=[0.0, 1, 4, 7])),
        Sample(T(3, dtype="int64"), 2, grad=False),
        Sample(T(3, dtype="int64"), T(3, low=0, high=4, dtype="int64"), grad=False),
        Sample(T(3), 2, dtypes=COMPLEX),
        Sample(T(0), 3),
    ]
    return found


def _declare(name: str, first: Callable[[Array], Array], step: Step, doc: str) -> None:
    def kernel(xp: Namespace, input: Operand, n: Operand) -> Array:
        if name.startswith("hermite"):
            # beyond this degree PyTorch gives up: everything overflows
            limit = 128 if xp.result_type(input, n) == dtypes.F32 else 512
            values = _evaluate(xp, input, xp.minimum(n, limit), first, step)
            return xp.where(xp.asarray(n) > limit, xp.nan, values).astype(values.dtype, copy=False)
        return _evaluate(xp, input, n, first, step)

    kernel.__name__ = name
    kernel.__doc__ = doc
    op(
        elementwise=True,
        promote=True,
        float_result=True,
        fast=False,
        check=check_real(f"{name}_cpu"),
        namespace="special",
        out=True,
        samples=_samples,
        aten=by_operands("default", "n_scalar", "x_scalar"),
    )(kernel)


def _shifted(step: Step) -> Step:
    """The same recurrence at ``2 x - 1``."""

    def at(k: int, x: Array, current: Array, before: Array) -> Array:
        return step(k, 2 * x - 1, current, before)

    return at


_FIRST: dict[str, Callable[[Array], Array]] = {
    "t": lambda x: x,
    "u": lambda x: 2 * x,
    "v": lambda x: 2 * x - 1,
    "w": lambda x: 2 * x + 1,
}


def _shifted_first(kind: str) -> Callable[[Array], Array]:
    first = _FIRST[kind]
    return lambda x: first(2 * x - 1)


for _kind, _ordinal in (("t", "first"), ("u", "second"), ("v", "third"), ("w", "fourth")):
    _declare(
        f"chebyshev_polynomial_{_kind}",
        _FIRST[_kind],
        _chebyshev,
        f"Chebyshev polynomial of the {_ordinal} kind, of degree `n`.",
    )
    _declare(
        f"shifted_chebyshev_polynomial_{_kind}",
        _shifted_first(_kind),
        _shifted(_chebyshev),
        f"Chebyshev polynomial of the {_ordinal} kind on [0, 1], of degree `n`.",
    )

_declare(
    "hermite_polynomial_h", lambda x: 2 * x, _hermite, "Physicist's Hermite polynomial of degree n."
)
_declare(
    "hermite_polynomial_he",
    lambda x: x,
    _hermite_of_statistics,
    "Probabilist's Hermite polynomial of degree n.",
)
_declare("laguerre_polynomial_l", lambda x: 1 - x, _laguerre, "Laguerre polynomial of degree `n`.")
_declare("legendre_polynomial_p", lambda x: x, _legendre, "Legendre polynomial of degree `n`.")
