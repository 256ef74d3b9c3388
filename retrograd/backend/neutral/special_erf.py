"""The error function, its relatives and inverses.

float64 uses W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
Computation 23 (1969), and M. J. Wichura, "Algorithm AS 241: the percentage points of the normal
distribution", Applied Statistics 37 (1988). The float32 ``erf`` is an approximation of its own.
"""

import functools
import math

from retrograd.backend.namespace import Namespace
from retrograd.backend.neutral.pieces import (
    Array,
    elementwise,
    elementwise_in_float64,
    fill_region,
    in_chunks,
)
from retrograd.backend.neutral.series import polynomial
from retrograd.backend.quiet import quiet

_SQRT_HALF = math.sqrt(0.5)
_ONE_OVER_SQRT_PI = 1 / math.sqrt(math.pi)

# erf(x) = tanh(x + x N(x^2) / D(x^2)): a minimax fit of atanh(erf(x)) / x - 1 on abs(x) < 3.9, its
# relative error weighted by that of erf, 0.06 of a float32 rounding. Beyond, tanh is 1 in float32.
# With D of leading coefficient 1 and all roots in the left half plane, nothing can divide by zero.
_TANH_FIT_N = (5.7039692169380976, 58.341768553835365, 378.2864318222993, 395.1055193103746)
_TANH_FIT_D = (72.90911894811839, 482.8596364455736, 3077.645047027724)
# A sum of squares below this bounds every element, and so the cubes of squares in the fit.
_TANH_FIT_SQUARES = 1e11

# Cody: erf(x) = x A(x^2) / B(x^2) on [0, 0.46875], exp(x^2) erfc(x) = C(x) / D(x) on
# [0.46875, 4] and (1/sqrt(pi) - P(1/x^2) / (x^2 Q(1/x^2))) / x above.
_SMALL = 0.46875
_CODY_A = (
    1.85777706184603153e-1,
    3.16112374387056560e00,
    1.13864154151050156e02,
    3.77485237685302021e02,
    3.20937758913846947e03,
)
_CODY_B = (
    1.0,
    2.36012909523441209e01,
    2.44024637934444173e02,
    1.28261652607737228e03,
    2.84423683343917062e03,
)
_CODY_C = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e00,
    6.61191906371416295e01,
    2.98635138197400131e02,
    8.81952221241769090e02,
    1.71204761263407058e03,
    2.05107837782607147e03,
    1.23033935479799725e03,
)
_CODY_D = (
    1.0,
    1.57449261107098347e01,
    1.17693950891312499e02,
    5.37181101862009858e02,
    1.62138957456669019e03,
    3.29079923573345963e03,
    4.36261909014324716e03,
    3.43936767414372164e03,
    1.23033935480374942e03,
)
_CODY_P = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_CODY_Q = (
    1.0,
    2.56852019228982242e00,
    1.87295284992346725e00,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)

# Wichura: the normal quantile as q A(0.180625 - q^2) / B(...) for abs(q) <= 0.425, q = p - 1/2;
# with r = sqrt(-log(min(p, 1 - p))), as C(r - 1.6) / D(r - 1.6) for r <= 5, else E / F of r - 5.
_WICHURA_A = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_WICHURA_B = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_WICHURA_C = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_WICHURA_D = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_WICHURA_E = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_WICHURA_F = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


def erf(xp: Namespace, x: Array) -> Array:
    """The error function.

    >>> xp.erf(xp.array([0.0, 1.0, xp.inf]))
    array([0.        , 0.84270079, 1.        ])
    """
    if x.dtype != xp.float32:
        return _erf_float64(xp, x)
    with quiet():
        return in_chunks(xp, _erf_chunk, x)


@functools.cache
def _tanh_fit(xp: Namespace) -> list[Array]:
    """As arrays without dimensions, which NumPy takes 0.2 us faster than Python numbers."""
    return [xp.asarray(value, xp.float32) for value in _TANH_FIT_N + _TANH_FIT_D]


def _erf_chunk(xp: Namespace, x: Array, out: Array) -> None:
    # One pass proves the usual case; nan fails the comparison, and clip keeps it.
    if not xp.vdot(x, x) < _TANH_FIT_SQUARES:
        x = xp.clip(x, -5, 5)
    multiply, add = xp.multiply, xp.add
    n3, n2, n1, n0, d2, d1, d0 = _tanh_fit(xp)
    # Given where to write, NumPy keeps a zero-dimensional array an array.
    square = multiply(x, x, xp.empty_like(out))
    total = multiply(square, n3, xp.empty_like(out))
    add(total, n2, total)
    multiply(total, square, total)
    add(total, n1, total)
    multiply(total, square, total)
    add(total, n0, total)
    add(square, d2, out)
    multiply(out, square, out)
    add(out, d1, out)
    multiply(out, square, out)
    add(out, d0, out)
    xp.divide(total, out, total)
    multiply(total, x, total)
    add(total, x, total)
    xp.tanh(total, out)


@elementwise
def _erf_float64(xp: Namespace, x: Array) -> Array:
    size = xp.abs(x)
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, size <= _SMALL, _small_erf, x)
    fill_region(xp, out, size > _SMALL, lambda xp, size: (0.5 - _tail_erfc(xp, size)) + 0.5, size)
    return xp.copysign(out, x)


@elementwise_in_float64
def erfc(xp: Namespace, x: Array) -> Array:
    """The complementary error function, 1 - erf(x), accurate where that is tiny.

    >>> xp.erfc(xp.array([0.0, 10.0]))
    array([1.00000000e+00, 2.08848758e-45])
    """
    size = xp.abs(x)
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, size <= _SMALL, lambda xp, x: 1 - _small_erf(xp, x), x)
    fill_region(xp, out, size > _SMALL, _tail_erfc, size)
    return xp.where(x < -_SMALL, 2 - out, out)


@elementwise
def erfcx(xp: Namespace, x: Array) -> Array:
    """The scaled complementary error function, exp(x^2) erfc(x).

    >>> xp.erfcx(xp.array([0.0, 1e10]))
    array([1.00000000e+00, 5.64189584e-11])
    """
    out = xp.full_like(x, xp.nan)
    fill_region(
        xp, out, xp.abs(x) <= _SMALL, lambda xp, x: xp.exp(x * x) * (1 - _small_erf(xp, x)), x
    )
    fill_region(
        xp, out, x > _SMALL, lambda xp, x: _tail_erfcx(xp, x.astype(xp.float64, copy=False)), x
    )
    # In x's own precision, as in PyTorch: the square's rounding shows in the last digits.
    fill_region(xp, out, x < -_SMALL, lambda xp, x: 2 * xp.exp(x * x) - _tail_erfcx(xp, -x), x)
    return out


def _small_erf(xp: Namespace, x: Array) -> Array:
    square = x * x
    return x * (polynomial(square, _CODY_A) / polynomial(square, _CODY_B))


def _tail_erfc(xp: Namespace, x: Array) -> Array:
    """erfc(x) without the rounding error of x^2 being magnified by the exponential.

    Cody's device: x is cut to sixteenths, whose square is exact. Its exponential goes in by
    halves, so that a result near the end of the number range is rounded once only.
    """
    # erfc underflows from 27.3 on; the limit keeps inf out of the differences.
    x = xp.minimum(x, 30)
    coarse = xp.floor(x * 16) / 16
    rest = (coarse - x) * (coarse + x)
    half = xp.exp(-0.5 * coarse * coarse)
    return _tail_erfcx(xp, x) * xp.exp(rest) * half * half


def _tail_erfcx(xp: Namespace, x: Array) -> Array:
    out = xp.empty_like(x)
    fill_region(xp, out, x <= 4, lambda xp, x: polynomial(x, _CODY_C) / polynomial(x, _CODY_D), x)
    fill_region(xp, out, ~(x <= 4), _far_erfcx, x)
    return out


def _far_erfcx(xp: Namespace, x: Array) -> Array:
    inverse = 1 / (x * x)
    correction = inverse * polynomial(inverse, _CODY_P) / polynomial(inverse, _CODY_Q)
    return (_ONE_OVER_SQRT_PI - correction) / x


@elementwise_in_float64
def erfinv(xp: Namespace, x: Array) -> Array:
    """The inverse of ``erf`` on [-1, 1]; infinite at the ends, nan outside.

    >>> xp.erfinv(xp.array([0.0, 0.5, 1.0]))
    array([0.        , 0.47693628,        inf])
    """
    # erf(z / sqrt(2)) = 2 p - 1 where z is the normal quantile of p, so q = p - 1/2 = x / 2.
    return _normal_quantile(xp, 0.5 * x, 0.5 * (1 - xp.abs(x))) * _SQRT_HALF


@elementwise_in_float64
def ndtri(xp: Namespace, x: Array) -> Array:
    """The quantile function of the standard normal distribution.

    >>> xp.ndtri(xp.array([0.5, 0.975, 1.0]))
    array([0.        , 1.95996398,        inf])
    """
    return _normal_quantile(xp, x - 0.5, xp.where(x < 0.5, x, 1 - x))


def _normal_quantile(xp: Namespace, centred: Array, tail: Array) -> Array:
    """The normal quantile of p, from p - 1/2 and min(p, 1 - p), each given without cancellation."""
    out = xp.full_like(centred, xp.nan)
    size = xp.abs(centred)

    def middle(xp: Namespace, q: Array) -> Array:
        r = 0.180625 - q * q
        return q * polynomial(r, _WICHURA_A) / polynomial(r, _WICHURA_B)

    fill_region(xp, out, size <= 0.425, middle, centred)
    distance = xp.sqrt(-xp.log(tail))  # nan where tail < 0: outside the domain
    near = (size > 0.425) & (distance <= 5)
    far = (size > 0.425) & (distance > 5)

    def ratio(upper: tuple[float, ...], lower: tuple[float, ...], shift: float, r: Array) -> Array:
        return polynomial(r - shift, upper) / polynomial(r - shift, lower)

    fill_region(xp, out, near, lambda xp, r: ratio(_WICHURA_C, _WICHURA_D, 1.6, r), distance)
    fill_region(xp, out, far, lambda xp, r: ratio(_WICHURA_E, _WICHURA_F, 5.0, r), distance)
    out[tail == 0] = xp.inf
    return xp.copysign(out, centred)


def ndtr(xp: Namespace, x: Array) -> Array:
    """The standard normal distribution function, (1 + erf(x / sqrt(2))) / 2.

    As in PyTorch the far lower tail is lost in the sum; ``log_ndtr`` keeps it.

    >>> xp.ndtr(xp.array([0.0, 1.0]))
    array([0.5       , 0.84134475])
    """
    with quiet():
        out = erf(xp, xp.asarray(x * _SQRT_HALF))
        xp.add(out, 1, out)
        return xp.multiply(out, 0.5, out)


@elementwise
def log_ndtr(xp: Namespace, x: Array) -> Array:
    """The logarithm of ``ndtr``, accurate far into the lower tail.

    >>> xp.log_ndtr(xp.array([-40.0, 0.0]))
    array([-8.04608442e+02, -6.93147181e-01])
    """
    scaled = x * _SQRT_HALF
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, x < -1, lambda xp, t: xp.log(erfcx(xp, -t) * 0.5) - t * t, scaled)
    fill_region(xp, out, x >= -1, lambda xp, t: xp.log1p(erfc(xp, t) * -0.5), scaled)
    return out
