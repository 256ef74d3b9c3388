"""How gamma and Dirichlet samples move with their parameters: implicit reparameterisation.

A sample x of a distribution with parameter a moves by ``-(d cdf / da) / pdf`` when a does. Neither
has a closed form here, so each region of (x, a) has its own approximation, the same ones as in
PyTorch: a series for small x, a saddle point expansion for large parameters (Rice), and fitted
rational functions between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backend import CPU
from retrograd.random.generator import Array

__all__ = ["dirichlet_gradient", "gamma_gradient"]


def _by_region(
    regions: list[tuple[Array, Callable[..., Array]]], out: Array, *arguments: Array
) -> Array:
    """Fill `out` with the formula of the first region that holds an element."""
    left = np.ones(out.shape, bool)
    with np.errstate(all="ignore"):
        for inside, formula in regions:
            chosen = left & inside
            if chosen.any():
                out[chosen] = formula(*[argument[chosen] for argument in arguments])
                left &= ~chosen
    return out


def _or_zero(result: Array) -> Array:
    return np.where(np.isnan(result), result.dtype.type(0), result)


# ------------------------------------------------------------------------------------- gamma


def gamma_gradient(shape: Array, sample: Array) -> Array:
    """How fast gamma samples (of scale 1) grow with their shape parameter.

    >>> gamma_gradient(np.array([2.0, 20.0]), np.array([1.5, 18.0])).round(4)
    array([0.9366, 0.9563])
    """
    a, x = np.broadcast_arrays(shape, sample)
    a64, x64 = a.astype(np.float64), x.astype(np.float64)
    large = a64 > 8
    regions = [
        (x64 < float(np.float32(0.8)), _gamma_series),
        (large & (float(np.float32(0.9)) * a64 <= x64) & _below(x64, a64), _gamma_near_mean),
        (large, _gamma_saddle),
        (np.ones(a64.shape, bool), _gamma_fitted),
    ]
    return _by_region(regions, np.empty(a64.shape), a64, x64).astype(shape.dtype)


def _below(x: Array, a: Array) -> Array:
    return np.asarray(x <= float(np.float32(1.1)) * a)


def _gamma_series(a: Array, x: Array) -> Array:
    """The Taylor series of the distribution function around zero."""
    power: Array = np.ones_like(x)
    first, second = 1 / a, 1 / (a * a)
    for i in range(1, 6):
        power = power * (-x / i)
        divisor = a + i
        first = first + power / divisor
        second = second + power / (divisor * divisor)
    front = np.power(x, a)
    density = np.power(x, a - 1) * np.exp(-x)
    slope = (np.log(x) - CPU.xp.digamma(a)) * (front * first) - front * second
    return _or_zero(-slope / density)


def _gamma_near_mean(a: Array, x: Array) -> Array:
    """The saddle point expansion has a removable pole at x = a: its series there."""
    left = 1 + 24 * a * (1 + 12 * a)
    right = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    return np.asarray(left * right / (1244160 * (a * a) * (a * a)))


def _gamma_saddle(a: Array, x: Array) -> Array:
    root = np.sqrt(8 * a)
    ratio = np.log(x / a)
    pole = root / (a - x)
    depth = np.power(x - a - a * ratio, -1.5)
    both = np.where(x < a, pole - depth, pole + depth)
    term = ratio * both - np.sqrt(2 / a) * (a + x) / ((a - x) * (a - x))
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return np.asarray(-stirling * x * term / root)


# powers of u = log(x / a) down, of v = log(a) across: four for p, then four for q
_GAMMA_FIT = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343),
    (1, 0.32668115, 0.10406089, 0.0014179084),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
    (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777),
    (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
)


def _gamma_fitted(a: Array, x: Array) -> Array:
    u, v = np.log(x / a), np.log(a)
    p, q = (
        _polynomial(v, [_polynomial(u, row) for row in zip(*_GAMMA_FIT[i::2], strict=True)])
        for i in (0, 1)
    )
    return np.asarray(np.exp(p / q))


def _polynomial(x: Array, coefficients: Any) -> Any:
    """Horner's scheme; the constant comes first."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = coefficient + x * result
    return result


# --------------------------------------------------------------------------------- Dirichlet


def dirichlet_gradient(sample: Array, concentration: Array, total: Array) -> Array:
    """The scaled slope of a Beta(`concentration`, `total - concentration`) sample.

    That is ``-(d cdf / d concentration) / pdf / (1 - sample)``, of which the gradient of a whole
    Dirichlet row is made.

    >>> x, a = np.array([0.2, 0.9]), np.array([1.0, 3.0])
    >>> dirichlet_gradient(x, a, np.array([4.0, 4.0])).round(4)
    array([0.2822, 0.3161])
    """
    x, a, t = np.broadcast_arrays(sample, concentration, total)
    edge = t * x * (1 - x)
    regions = [
        ((x <= 0.5) & (edge < 2.5), _beta_near_zero),
        ((x >= 0.5) & (edge < 0.75), _beta_near_one),
        ((a > 6) & (t - a > 6), _beta_saddle),
        (np.ones(x.shape, bool), _beta_fitted),
    ]
    return _by_region(regions, np.empty(x.shape, sample.dtype), x, a, t)


def _beta_near_zero(x: Array, a: Array, total: Array) -> Array:
    real = x.dtype.type
    b = total - a
    factor = _digamma(a) - _digamma(a + b) - _rounded(np.log, x)
    power: Array = np.ones_like(x)
    series = 1 / a * (factor + 1 / a)
    for i in map(real, range(1, 11)):
        power = power * ((i - b) * x / i)
        divisor = a + i
        series = series + power / divisor * (factor + 1 / divisor)
    return _or_zero(x * _rounded(np.power, 1 - x, -b) * series)


def _beta_near_one(x: Array, a: Array, total: Array) -> Array:
    """By the second parameter of the mirrored distribution: its sample is near zero."""
    real = x.dtype.type
    x, a, b = 1 - x, total - a, a
    factor = _digamma(a + b) - _digamma(b)
    power: Array = np.ones_like(x)
    product: Array = np.ones_like(x)
    slope: Array = np.zeros_like(x)
    series = factor / a
    for i in map(real, range(1, 9)):
        power = power * (-x / i)
        slope = slope * (b - i) + product
        product = product * (b - i)
        series = series + power / (a + i) * (slope + factor * product)
    return _or_zero(_rounded(np.power, 1 - x, 1 - b) * series)


def _rounded(function: Any, *arguments: Array) -> Array:
    """A function of float32 or float64 numbers with at most half a unit of error."""
    wide = [argument.astype(np.float64) for argument in arguments]
    return np.asarray(function(*wide).astype(arguments[0].dtype))


# even powers of 1 / x in the asymptotic series of digamma: the Bernoulli numbers B(2n) / 2n
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _digamma(x: Array) -> Array:
    """Digamma of positive numbers, with the intermediate roundings that PyTorch has here.

    Differences of two of them lose most digits in float32: only equal roundings leave equal ones.
    """
    x = x.copy()
    total = np.zeros(x.shape)
    for _ in range(10):
        small = x < 10
        total[small] -= 1 / x[small]
        x[small] += 1
    z = 1.0 / (x * x).astype(np.float64)
    tail = z * _polynomial(z, _DIGAMMA_SERIES)
    return np.asarray((total + _rounded(np.log, x) - x.dtype.type(0.5) / x - tail).astype(x.dtype))


def _beta_saddle(x: Array, a: Array, total: Array) -> Array:
    x, a = x.astype(np.float64), a.astype(np.float64)
    b = total.astype(np.float64) - a
    total = a + b
    mean = a / total
    width = 0.1 * np.sqrt(a * b / (total + 1)) / total
    near = (mean - width <= x) & (x <= mean + width)
    return np.where(near, _beta_near_mean(x, a, b), _beta_far_from_mean(x, a, b, x < mean))


def _beta_near_mean(x: Array, a: Array, b: Array) -> Array:
    """The saddle point expansion has a removable pole at the mean: its series there."""
    total = a + b
    poly = _polynomial(
        a,
        (
            47 * x * (b * b) * (b * b),
            (43 + 20 * (16 + 27 * b) * x) * (b * b) * b,
            3 * (59 + 180 * b - 90 * x) * (b * b),
            (453 + 1620 * b * (1 - x) - 455 * x) * b,
            8 * (1 - x) * (135 * b - 11),
        ),
    )
    above = (1 + 12 * a) * (1 + 12 * b) / (total * total)
    below = 12960 * a * a * a * b * b * (1 + 12 * total)
    return np.asarray(above / (1 - x) * poly / below)


def _beta_far_from_mean(x: Array, a: Array, b: Array, left: Array) -> Array:
    total = a + b
    front = -x / np.sqrt(2 * a * b / total)
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    distance = a * (x - 1) + b * x
    above = 2 * (a * a) * (x - 1) + a * b * (x - 1) - x * (b * b)
    below = np.sqrt(2 * a / b) * np.power(total, 1.5) * distance * distance
    pole = np.sqrt(8 * a * b / total) / distance
    half_log = 0.5 * np.log(a / (total * x))
    depth = b * np.log(b / (total * (1 - x))) + a * np.log(a / (total * x))
    correction = np.power(depth, -1.5)
    terms = above / below + half_log * (pole + np.where(left, correction, -correction))
    return np.asarray(stirling * front * terms)


def _stirling(x: Array) -> Array:
    return np.asarray(1 + 1 / (12 * x) + 1 / (288 * x * x))


# [p or q][power of u = log x][power of a = log(alpha) - u][power of b = log(total) - a]
_BETA_FIT = (
    (
        (
            (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
            (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
            (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
        ),
        (
            (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
            (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
            (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
        ),
        (
            (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
            (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
            (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
        ),
    ),
    (
        (
            (1, -0.02924021934, -0.04438342661, 0.007285809825),
            (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
            (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
        ),
        (
            (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
            (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
            (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
        ),
        (
            (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
            (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
            (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
        ),
    ),
)


def _beta_fitted(x: Array, alpha: Array, total: Array) -> Array:
    """A rational correction of an analytic approximation."""
    difference = _digamma(total) - _digamma(alpha)
    x, alpha, total = (v.astype(np.float64) for v in (x, alpha, total))
    u = np.log(x)
    a = np.log(alpha) - u
    b = np.log(total) - a
    p, q = (
        _polynomial(u, [_polynomial(a, [_polynomial(b, fit) for fit in plane]) for plane in fits])
        for fits in _BETA_FIT
    )
    plain = x * difference / (total - alpha)
    return np.asarray(p / q * plain)
