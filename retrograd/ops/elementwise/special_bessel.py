"""Bessel functions of `torch.special` that have no gradient: J, Y, K, spherical j0, Airy.

J, Y and I come from the backend. K and Ai are computed here in float64 from integrals whose
integrands die off fast enough for a few dozen points to give full accuracy, and from power series
near zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from retrograd import dtypes
from retrograd.ops.elementwise.special import check_real
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import op
from retrograd.samples import COMPLEX, Sample, T

_EULER = 0.5772156649015329


def _scaled_k(xp: Namespace, order: int, x: Array) -> Array:
    """exp(x) K(x), the integral over t >= 0 of exp(x (1 - cosh t)) cosh(order t), for x >= 2."""
    excess = 40 / x
    end = xp.log1p(excess + xp.sqrt(excess * (excess + 2)))  # cosh(end) = 1 + excess: e^-40 there
    t = end[:, None] * (xp.arange(41) / 40.0)
    values = xp.exp(-2 * x[:, None] * xp.sinh(t / 2) ** 2) * xp.cosh(order * t)
    return xp.divide((values.sum(axis=1) - values[:, 0] / 2) * end, 40)


def _k0_series(xp: Namespace, x: Array) -> Array:
    quarter = x * x / 4
    total, term, harmonic = xp.zeros_like(x), xp.ones_like(x), 0.0
    for k in range(1, 20):
        harmonic += 1 / k
        term = term * quarter / (k * k)
        total = total + term * harmonic
    return total - (xp.log(x / 2) + _EULER) * xp.i0(x)


def _k1_series(xp: Namespace, x: Array) -> Array:
    quarter = x * x / 4
    total, term, digamma = xp.zeros_like(x), xp.ones_like(x), -_EULER
    for k in range(20):
        total = total + term * (2 * digamma + 1 / (k + 1))
        digamma += 1 / (k + 1)
        term = term * quarter / ((k + 1) * (k + 2))
    return xp.subtract(1 / x + xp.log(x / 2) * xp.i1(x), x / 4 * total)


def _modified_k(xp: Namespace, order: int, scaled: bool, input: Array) -> Array:
    x = input.astype(dtypes.F64).reshape(-1)
    result = xp.full(x.shape, xp.nan)
    result[x == 0] = xp.inf
    near, far = (x > 0) & (x <= 2), x > 2
    series = _k0_series if order == 0 else _k1_series
    result[near] = series(xp, x[near]) * (xp.exp(x[near]) if scaled else 1)
    finite = far & (x < xp.inf)
    result[x == xp.inf] = 0
    result[finite] = _scaled_k(xp, order, x[finite]) * (1 if scaled else xp.exp(-x[finite]))
    return result.reshape(input.shape).astype(input.dtype)


def _spherical_j0(xp: Namespace, input: Array) -> Array:
    small = xp.abs(input) < 0.5
    square = input * input
    series = 1 - square / 6 * (
        1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    )
    direct = xp.sin(input) / xp.where(input == 0, 1, input)
    direct = xp.where(xp.isinf(input), 0, direct)
    return xp.where(small, series, direct).astype(input.dtype)


@functools.cache
def _airy_points(xp: Namespace) -> tuple[Array, Array]:
    """Double exponential points and weights for integrals over u > 0 of exp(-u) u^(-1/6) f(u)."""
    grid = xp.linspace(-6.0, 4.5, 211)
    points = xp.exp(grid - xp.exp(-grid))
    weights = (grid[1] - grid[0]) * (1 + xp.exp(-grid)) * points ** (5 / 6) * xp.exp(-points)
    return points, weights


_GAMMA_5_6 = math.gamma(5 / 6)


def _airy_integral(xp: Namespace, ratio: Array) -> Array:
    """The integral of exp(-u) u^(-1/6) (1 + u ratio)^(-1/6), over gamma(5/6)."""
    points, weights = _airy_points(xp)
    return ((1 + ratio[:, None] * points) ** (-1 / 6)) @ weights / _GAMMA_5_6


def _airy_series(xp: Namespace, x: Array) -> Array:
    cube = x * x * x
    even, odd = xp.ones_like(x), x
    total_even, total_odd = even, odd
    for k in range(1, 30):
        even = even * cube / ((3 * k - 1) * (3 * k))
        odd = odd * cube / ((3 * k) * (3 * k + 1))
        total_even, total_odd = total_even + even, total_odd + odd
    at_zero = 1 / (3 ** (2 / 3) * math.gamma(2 / 3))
    slope = 1 / (3 ** (1 / 3) * math.gamma(1 / 3))
    return at_zero * total_even - slope * total_odd


def _airy_ai(xp: Namespace, input: Array) -> Array:
    x = input.astype(dtypes.F64).reshape(-1)
    result = xp.full(x.shape, xp.nan)
    near = xp.abs(x) <= 2
    result[near] = _airy_series(xp, x[near])
    right, left = (x > 2) & (x < xp.inf), (x < -2) & (x > -xp.inf)
    z = x[right]
    phase = 2 / 3 * z**1.5
    result[right] = (
        xp.exp(-phase) / (2 * math.sqrt(math.pi) * z**0.25) * _airy_integral(xp, 1 / (2 * phase))
    )
    z = -x[left]
    phase = 2 / 3 * z**1.5
    wave = xp.exp(1j * (phase - math.pi / 4)) * _airy_integral(xp, 1j / (2 * phase))
    result[left] = wave.real / (math.sqrt(math.pi) * z**0.25)
    return result.reshape(input.shape).astype(input.dtype)


_SPECIAL_POINTS = [-1.0, 0.0, 1e-30, 1.0, 2.0, 2.5, float("inf"), float("nan"), 30.0]


def _declare(name: str, function: Callable[..., Array], doc: str) -> None:
    """Declare a function that PyTorch does not differentiate either."""

    def kernel(xp: Namespace, input: Array) -> Array:
        result: Array = function(xp, input)
        return result

    def make_samples() -> list[Sample]:
        # PyTorch's have seven to ten digits, so float64 cannot be compared closely
        found = [Sample(T(*shape, low=low, high=9), dtypes=("float32",)) for shape, low in _SHAPES]
        found += [Sample(T(3, low=1, high=5, dtype=k), grad=False) for k in ("int64", "bool")]
        found += [Sample(T(3), dtypes=COMPLEX)]
        if name not in _INEXACT:
            found += [Sample(T(values=_SPECIAL_POINTS))]
        return found

    kernel.__name__ = name
    kernel.__doc__ = doc
    op(
        elementwise=True,
        promote=True,
        float_result=True,
        check=check_real(f"{name}_cpu"),
        namespace="special",
        out=True,
        samples=make_samples,
    )(kernel)


_SHAPES = (((), 0.0), ((5,), 0.0), ((3, 4), -9.0), ((0, 3), 0.0))
_INEXACT = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")

for _name, _function, _doc in (
    ("bessel_j0", lambda xp, x: xp.bessel_j0(x), "Bessel function of the first kind, order 0."),
    ("bessel_j1", lambda xp, x: xp.bessel_j1(x), "Bessel function of the first kind, order 1."),
    ("bessel_y0", lambda xp, x: xp.bessel_y0(x), "Bessel function of the second kind, order 0."),
    ("bessel_y1", lambda xp, x: xp.bessel_y1(x), "Bessel function of the second kind, order 1."),
    (
        "modified_bessel_i0",
        lambda xp, x: xp.i0(x),
        "Modified Bessel function of the first kind, order 0.",
    ),
    (
        "modified_bessel_i1",
        lambda xp, x: xp.i1(x),
        "Modified Bessel function of the first kind, order 1.",
    ),
    (
        "modified_bessel_k0",
        lambda xp, x: _modified_k(xp, 0, False, x),
        "Modified Bessel function of the second kind, order 0.",
    ),
    (
        "modified_bessel_k1",
        lambda xp, x: _modified_k(xp, 1, False, x),
        "Modified Bessel function of the second kind, order 1.",
    ),
    (
        "scaled_modified_bessel_k0",
        lambda xp, x: _modified_k(xp, 0, True, x),
        "``exp(input) * modified_bessel_k0(input)``.",
    ),
    (
        "scaled_modified_bessel_k1",
        lambda xp, x: _modified_k(xp, 1, True, x),
        "``exp(input) * modified_bessel_k1(input)``.",
    ),
    ("spherical_bessel_j0", _spherical_j0, "Spherical Bessel function of order 0."),
    ("airy_ai", _airy_ai, "Airy function Ai."),
):
    _declare(_name, _function, _doc)
