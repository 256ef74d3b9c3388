"""The logarithm of the gamma function and its derivatives; the Hurwitz zeta function.

Recurrences lead to an interval with a good approximation: for ``lgamma`` a rational minimax fit
around 2 and Stirling's series, for ``digamma`` the asymptotic series as arranged in Cephes
(S. L. Moshier), for ``zeta`` the Euler-Maclaurin sum.
"""

import math

from retrograd.backend.namespace import Namespace
from retrograd.backend.neutral.pieces import (
    Array,
    apply_pair,
    elementwise,
    elementwise_in_float64,
    fill_region,
)
from retrograd.backend.neutral.series import polynomial

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_EPSILON = 2.0**-53

# lgamma(x) = (x - 1) (x - 2) N(x) / D(x) on [1.5, 2.5], relative error 2e-17. Both zeros are
# factors, so values near them keep their relative accuracy.
_LGAMMA_FIT_N = (
    -0.0002741802212162412,
    0.026646256784496246,
    2.842187062685531,
    25.07870148724016,
    53.03936170281587,
    28.81181205054248,
    2.9429779658476556,
)
_LGAMMA_FIT_D = (
    1.0,
    16.908768353075313,
    68.30231924226557,
    81.67380141078786,
    26.057709490571813,
    1.376792966344576,
)
# Stirling's series in 1/x^2: B(2k) / (2k (2k - 1)), from k = 8 down to 1.
_STIRLING = (
    -3617 / 122400,
    1 / 156,
    -691 / 360360,
    1 / 1188,
    -1 / 1680,
    1 / 1260,
    -1 / 360,
    1 / 12,
)
_STIRLING_FROM = 8.0

# B(2k) / (2k), from k = 7 down to 1: the asymptotic series of digamma in 1/x^2.
_DIGAMMA_SERIES = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_DIGAMMA_FROM = 10.0
_DIGAMMA_AT_10 = 2.25175258906672110764

# B(2k), from k = 8 down to 1: the asymptotic series of trigamma.
_BERNOULLI = (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)

# B(2k) / (2k)!, k = 1 to 12: the Euler-Maclaurin corrections of zeta.
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    854513 / 155112100433309859840000,
    -236364091 / 1693824136731743669452800000,
)
_ZETA_TERMS = 9


@elementwise_in_float64
def lgamma(xp: Namespace, x: Array) -> Array:
    """The logarithm of abs(gamma(x)); inf at zero and the negative integers.

    >>> xp.lgamma(xp.array([1.0, 5.0, -1.0]))
    array([0.        , 3.17805383,        inf])
    """
    negative = x < 0
    out = _positive_lgamma(xp, xp.where(negative, 1 - x, x))
    fill_region(xp, out, negative, _reflected_lgamma, x, out)
    return out


gammaln = lgamma


def _positive_lgamma(xp: Namespace, x: Array) -> Array:
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, x < 0.5, lambda xp, x: (x + 1) * x * _fit(x + 2) - xp.log(x * (x + 1)), x)
    fill_region(
        xp, out, (x >= 0.5) & (x < 1.5), lambda xp, x: x * (x - 1) * _fit(x + 1) - xp.log(x), x
    )
    fill_region(xp, out, (x >= 1.5) & (x < _STIRLING_FROM), _middle_lgamma, x)
    fill_region(xp, out, x >= _STIRLING_FROM, _stirling, x)
    return out


def lgamma_of_one_plus(xp: Namespace, x: Array) -> Array:
    """lgamma(1 + x) for flat float64 x >= 0, accurate for the smallest x."""
    out = xp.empty_like(x)
    fill_region(xp, out, x < 0.5, lambda xp, x: (x + 1) * x * _fit(x + 2) - xp.log1p(x), x)
    fill_region(xp, out, ~(x < 0.5), lambda xp, x: _positive_lgamma(xp, 1 + x), x)
    return out


def _fit(x: Array) -> Array:
    return polynomial(x, _LGAMMA_FIT_N) / polynomial(x, _LGAMMA_FIT_D)


def _middle_lgamma(xp: Namespace, x: Array) -> Array:
    product = xp.ones_like(x)
    while (above := x >= 2.5).any():
        x = x - above
        product *= xp.where(above, x, 1)
    return xp.add((x - 1) * (x - 2) * _fit(x), xp.log(product))


def _stirling(xp: Namespace, x: Array) -> Array:
    series = polynomial(1 / (x * x), _STIRLING) / x
    return xp.add((x - 0.5) * (xp.log(x) - 1), series + (_HALF_LOG_TWO_PI - 0.5))


def _reflected_lgamma(xp: Namespace, x: Array, beyond: Array) -> Array:
    """lgamma(x) for x < 0 from lgamma(1 - x)."""
    # The distance to the nearest integer is exact, and so keeps sin(pi x) accurate.
    distance = xp.abs(x - xp.rint(x))
    out = -xp.log(xp.sin(math.pi * distance) / math.pi) - beyond
    out[xp.isinf(x)] = xp.inf
    return out


@elementwise
def digamma(xp: Namespace, x: Array) -> Array:
    """The derivative of ``lgamma``; infinite at zero, nan at the negative integers.

    >>> xp.digamma(xp.array([1.0, 0.0, -1.0]))
    array([-0.57721566,        -inf,         nan])
    """
    negative = x < 0
    out = _positive_digamma(xp, xp.where(negative, 1 - x, x))
    fill_region(xp, out, negative, lambda xp, x, beyond: beyond - _pi_cotangent(xp, x), x, out)
    zero = x == 0
    out[zero] = xp.copysign(xp.inf, -x[zero])
    return out


def _positive_digamma(xp: Namespace, x: Array) -> Array:
    shift = xp.zeros_like(x)
    while (below := x < _DIGAMMA_FROM).any():
        shift -= xp.where(below, 1 / x, 0)
        x = x + below.astype(x.dtype)
    inverse_square = 1 / (x * x)
    series = inverse_square * polynomial(inverse_square, _DIGAMMA_SERIES)
    # float32 goes through the float64 logarithm: a unit in its last place would show in small sums.
    logarithm = xp.log(x.astype(xp.float64, copy=False)).astype(x.dtype, copy=False)
    out = shift + logarithm - 0.5 / x - series
    return xp.where(x == _DIGAMMA_FROM, shift + _DIGAMMA_AT_10, out)


def _pi_cotangent(xp: Namespace, x: Array) -> Array:
    """pi / tan(pi x), nan at the integers."""
    # The fraction only goes under the tangent: pi x itself would be rounded.
    fraction = xp.modf(x)[0].astype(xp.float64)
    out = math.pi / xp.tan(math.pi * fraction)
    out[fraction == 0] = xp.nan
    return out.astype(x.dtype)


def polygamma(xp: Namespace, n: int, x: Array) -> Array:
    """The ``n``-th derivative of ``digamma``.

    >>> xp.polygamma(1, xp.array([1.0]))
    array([1.64493407])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(xp, x)
    if n == 1:
        return _trigamma(xp, x)

    def kernel(xp: Namespace, x: Array) -> Array:
        values = _zeta_kernel(xp, xp.full(x.shape, float(n + 1)), x).astype(x.dtype, copy=False)
        # Rounded to x's precision before they meet, as in PyTorch: n! may be infinite there.
        factorial = xp.asarray(math.factorial(n) if n <= 170 else math.inf, x.dtype)
        return values * (factorial if n % 2 else -factorial)

    return elementwise(kernel)(xp, x)


@elementwise
def _trigamma(xp: Namespace, x: Array) -> Array:
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, x >= 0.5, _upper_trigamma, x)

    def reflected(xp: Namespace, x: Array) -> Array:
        # pi x is rounded, as in PyTorch, which is finite at the negative integers.
        sine = xp.sin(x * math.pi)
        return (math.pi * math.pi) / (sine * sine) - _upper_trigamma(xp, 1 - x)

    fill_region(xp, out, x < 0.5, reflected, x)
    return out


def _upper_trigamma(xp: Namespace, x: Array) -> Array:
    out = xp.zeros_like(x)
    for _ in range(6 if x.dtype == xp.float32 else 10):
        out += 1 / (x * x)
        x = x + 1
    inverse_square = 1 / (x * x)
    series = inverse_square * polynomial(inverse_square, _BERNOULLI)
    return out + (1 + 0.5 / x + series) / x


def zeta(xp: Namespace, x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, the sum over k >= 0 of (q + k)^-x.

    >>> xp.zeta(xp.array([2.0]), xp.array([1.0]))
    array([1.64493407])
    """
    return apply_pair(xp, _zeta_kernel, x, q)


def _zeta_kernel(xp: Namespace, x: Array, q: Array) -> Array:
    x = x.astype(xp.float64, copy=False)
    q = q.astype(xp.float64, copy=False)
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, (x > 1) & (q > 0), _hurwitz, x, q)
    pole = (q <= 0) & (q == xp.floor(q))
    fill_region(xp, out, (x > 1) & (x == xp.floor(x)) & (q < 0) & ~pole, _negative_hurwitz, x, q)
    out[~(x < 1) & pole] = xp.inf
    out[x == 1] = xp.inf
    return out


def _hurwitz(xp: Namespace, s: Array, q: Array) -> Array:
    """The zeta sum for s > 1 and q > 0: the first terms, then Euler-Maclaurin for the rest."""
    total = xp.power(q, -s)
    for k in range(1, _ZETA_TERMS + 1):
        term = xp.power(q + k, -s)
        total += term

    def rest(xp: Namespace, s: Array, start: Array, term: Array) -> Array:
        # `term` is already counted, so half of it goes out again.
        value: Array = term * start / (s - 1) - 0.5 * term
        factor = term * s / start
        for k, coefficient in enumerate(_EULER_MACLAURIN):
            value += factor * coefficient
            factor *= (s + (2 * k + 1)) / start * ((s + (2 * k + 2)) / start)
        return value

    correction = xp.zeros_like(total)
    # Where the last term no longer counts, neither does the rest (and it could overflow).
    fill_region(xp, correction, ~(term < _EPSILON * total), rest, s, q + _ZETA_TERMS, term)
    return total + correction


def _negative_hurwitz(xp: Namespace, s: Array, q: Array) -> Array:
    """Integer s and q < 0: the terms with negative base are a difference of two such sums."""
    above = q - xp.floor(q)
    below = -q - xp.floor(-q)
    negative_part = _hurwitz(xp, s, below) - _hurwitz(xp, s, 1 - q)
    out = _hurwitz(xp, s, above) + xp.where(s % 2 == 1, -negative_part, negative_part)
    out[s == xp.inf] = xp.inf  # there always is a base below one
    return out
