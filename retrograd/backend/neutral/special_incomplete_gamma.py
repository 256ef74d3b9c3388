"""The regularized incomplete gamma functions.

The regions follow SciPy's and PyTorch's division (power series, continued fraction, Temme's
uniform asymptotic expansion), except that the expansion also covers every large parameter with
``x`` near ``a``: no other method converges quickly there. Formula numbers are those of the NIST
Digital Library of Mathematical Functions, https://dlmf.nist.gov, chapter 8.
"""

import functools
import math
from collections.abc import Callable

from retrograd.backend.namespace import Namespace
from retrograd.backend.neutral.pieces import Array, apply_pair, fill_region
from retrograd.backend.neutral.series import polynomial
from retrograd.backend.neutral.special_erf import erfc
from retrograd.backend.neutral.special_gamma import lgamma, lgamma_of_one_plus

_EPSILON = 2.0**-53
_TINY = 1e-300
_Part = Callable[[Namespace, Array, Array], Array]
_MAXIMUM_STEPS = 2000

# Temme's expansion serves for a > 20 and abs(x - a) < 0.3 a: this many powers of 1/a and of eta.
_TEMME_FROM = 20.0
_TEMME_RATIO = 0.3
_TEMME_ORDER = 12
_TEMME_POWERS = 20


def gammainc(xp: Namespace, a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function P(a, x).

    >>> xp.gammainc(xp.array([1.0]), xp.array([2.0]))
    array([0.86466472])
    """
    return _regularized(xp, a, x, upper=False)


def gammaincc(xp: Namespace, a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    >>> xp.gammaincc(xp.array([1.0]), xp.array([2.0]))
    array([0.13533528])
    """
    return _regularized(xp, a, x, upper=True)


def _regularized(xp: Namespace, a: Array, x: Array, upper: bool) -> Array:
    def kernel(xp: Namespace, a: Array, x: Array) -> Array:
        a = a.astype(xp.float64, copy=False)
        x = x.astype(xp.float64, copy=False)
        return _regularized_float64(xp, a, x, upper)

    return apply_pair(xp, kernel, a, x)


def _regularized_float64(xp: Namespace, a: Array, x: Array, upper: bool) -> Array:
    out = xp.full_like(a, xp.nan)
    inside = (a > 0) & (x > 0) & (a < xp.inf) & (x < xp.inf)
    temme = inside & (a > _TEMME_FROM) & (xp.abs(x - a) < _TEMME_RATIO * a)
    other = inside & ~temme

    # Which of the two is computed directly: the smaller, or the one whose series is quick.
    if upper:
        from_upper = (x > 1.1) & (x >= a)
        from_upper |= (x <= 0.5) & (-0.4 / xp.log(x) >= a)
        from_upper |= (x > 0.5) & (x <= 1.1) & (x * 1.1 >= a)
    else:
        from_upper = (x > 1) & (x > a)

    def lower_value(function: _Part) -> _Part:
        return (lambda xp, a, x: 1 - function(xp, a, x)) if upper else function

    def upper_value(function: _Part) -> _Part:
        return function if upper else (lambda xp, a, x: 1 - function(xp, a, x))

    fill_region(xp, out, temme, lambda xp, a, x: _temme(xp, a, x, upper), a, x)
    fill_region(xp, out, other & ~from_upper, lower_value(_lower_series), a, x)
    fill_region(xp, out, other & from_upper & (x > 1.1), upper_value(_upper_fraction), a, x)
    fill_region(xp, out, other & from_upper & (x <= 1.1), upper_value(_upper_series), a, x)

    # The edges, in PyTorch's order of precedence; a nan beside a decisive bound does not count.
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    allowed = ~((a < 0) | (x < 0))
    out[allowed & xp.isinf(x)] = at_infinity
    out[allowed & xp.isinf(a)] = at_zero
    out[allowed & xp.isinf(a) & xp.isinf(x)] = xp.nan
    out[allowed & (x == 0)] = at_zero
    out[allowed & (a == 0)] = xp.nan
    out[(a == 0) & (x > 0)] = at_infinity
    return out


def _prefactor(xp: Namespace, a: Array, x: Array) -> Array:
    """x^a exp(-x) / gamma(a)."""
    out = xp.exp(a * xp.log(x) - x - lgamma(xp, a))

    def near(xp: Namespace, a: Array, x: Array) -> Array:
        # By Stirling's formula, gamma(a) = sqrt(2 pi / a) (a / e)^a exp(r), so that the large
        # powers only meet as exp(a (1 - x/a + log(x/a))).
        deviation = (x - a) / a
        exponent = a * (xp.log1p(deviation) - deviation)
        inverse = 1 / (a * a)
        series = polynomial(inverse, (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)) / a
        return xp.sqrt(a / (2 * math.pi)) * xp.exp(exponent - series)

    fill_region(xp, out, a > 20, near, a, x)
    return out


def _lower_series(xp: Namespace, a: Array, x: Array) -> Array:
    """P(a, x) by the power series 8.11.4."""
    term = xp.ones_like(a)
    total = xp.ones_like(a)
    divisor = a.copy()
    for _ in range(_MAXIMUM_STEPS):
        divisor += 1
        term *= x / divisor
        total += term
        if not (term > _EPSILON * total).any():
            break
    return total * _prefactor(xp, a, x) / a


def _upper_series(xp: Namespace, a: Array, x: Array) -> Array:
    """Q(a, x) by the power series 8.7.3, for small x, arranged against cancellation."""
    power = xp.ones_like(a)
    total = xp.zeros_like(a)
    for n in range(1, _MAXIMUM_STEPS):
        power *= -x / n
        term = power / (a + n)
        total += term
        if not (xp.abs(term) > _EPSILON * xp.abs(total)).any():
            break
    log_x = xp.log(x)
    exponent = a * log_x - lgamma_of_one_plus(xp, a)
    return xp.subtract(-xp.expm1(exponent), a * xp.exp(exponent) * total)


def _upper_fraction(xp: Namespace, a: Array, x: Array) -> Array:
    """Q(a, x) by the continued fraction 8.9.2, evaluated by the modified Lentz method."""
    b = x + 1 - a
    c = xp.full_like(a, 1 / _TINY)
    d = 1 / b
    total = d.copy()
    for n in range(1, _MAXIMUM_STEPS):
        numerator = n * (a - n)
        b += 2
        d = numerator * d + b
        d = 1 / xp.where(xp.abs(d) < _TINY, _TINY, d)
        c = b + numerator / c
        c = xp.where(xp.abs(c) < _TINY, _TINY, c)
        factor = c * d
        total *= factor
        if not (xp.abs(factor - 1) > 8 * _EPSILON).any():
            break
    return total * _prefactor(xp, a, x)


def _temme(xp: Namespace, a: Array, x: Array, upper: bool) -> Array:
    """Q or P by Temme's uniform expansion for large a, 8.12.3 and 8.12.4."""
    sign = 1.0 if upper else -1.0
    deviation = (x - a) / a
    half_eta_squared = -_log1p_minus(deviation)
    eta = xp.copysign(xp.sqrt(2 * half_eta_squared), deviation)
    series = xp.zeros_like(a)
    inverse = 1 / a
    for row in reversed(_temme_coefficients()):
        series *= inverse
        series += polynomial(eta, row)
    leading = 0.5 * erfc(xp, sign * eta * xp.sqrt(a / 2))
    return leading + sign * xp.exp(-a * half_eta_squared) / xp.sqrt(2 * math.pi * a) * series


def _log1p_minus(x: Array) -> Array:
    """log(1 + x) - x for abs(x) < 0.3, by the series of atanh(s) with s = x / (2 + x)."""
    s = x / (2 + x)
    square = s * s
    series = polynomial(square, tuple(2 / (2 * k + 1) for k in range(12, 0, -1)))
    found: Array = s * square * series - s * x
    return found


@functools.cache
def _temme_coefficients() -> tuple[tuple[float, ...], ...]:
    """The numbers d(k, n) of 8.12.9 to 8.12.12: rows by k, each with the highest power first.

    They follow exactly from two recurrences (N. M. Temme, "The asymptotic expansion of the
    incomplete gamma functions", SIAM Journal on Mathematical Analysis 10, 1979).
    """
    from fractions import Fraction  # seldom needed, and it imports `decimal`

    count = _TEMME_POWERS + 2 * _TEMME_ORDER
    # Coefficients of the inverse series: lambda = 1 + eta + eta^2 / 3 + ...
    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, count + 3):
        inner = sum((j * alpha[j] * alpha[n - j + 1] for j in range(2, n)), Fraction(0))
        alpha.append((alpha[n - 1] - inner) / (n + 1))
    first = [Fraction(-1, 3)] + [(n + 2) * alpha[n + 2] for n in range(1, count + 1)]

    rows = [first]
    double_factorial = 1
    for k in range(1, _TEMME_ORDER + 1):
        double_factorial *= 2 * k + 1
        # (2k + 1)!! alpha(2k + 1) is the coefficient of a^-k in Stirling's series for gamma(a).
        stirling = (-1) ** k * double_factorial * alpha[2 * k + 1]
        previous = rows[-1]
        rows.append(
            [stirling * first[n] + (n + 2) * previous[n + 2] for n in range(len(previous) - 2)]
        )
    return tuple(tuple(float(d) for d in reversed(row[:_TEMME_POWERS])) for row in rows)
