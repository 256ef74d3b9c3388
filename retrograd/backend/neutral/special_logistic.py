"""Sigmoid and its relatives, and the small entropy-like functions.

``expit``, ``log_sigmoid`` and ``softplus`` are hot in training: they run in cache-sized pieces, in
the input's own precision, with in-place arithmetic only.
"""

import functools
import math

from retrograd.backend.arrays import DType
from retrograd.backend.namespace import Namespace
from retrograd.backend.neutral.pieces import CHUNK, Array, apply_pair, elementwise, in_chunks
from retrograd.backend.quiet import quiet

_LOG2_E = 1.4426950408889634


@functools.cache
def _one(xp: Namespace, dtype: DType) -> Array:
    """As an array without dimensions, which NumPy takes 0.2 us faster than a Python number."""
    return xp.asarray(1, dtype)


@functools.cache
def _zeros(xp: Namespace, dtype: DType) -> Array:
    """Comparing with an array of zeros is three times as fast as comparing with the number."""
    return xp.zeros(CHUNK, dtype)


def expit(xp: Namespace, x: Array) -> Array:
    """Logistic sigmoid, 1 / (1 + exp(-x)).

    >>> xp.expit(xp.array([0.0, 1000.0]))
    array([0.5, 1. ])
    """
    # exp(-x) overflows to inf for very negative x, and 1 / inf is the wanted 0.
    with quiet():
        return in_chunks(xp, _expit_chunk, x)


def _expit_chunk(xp: Namespace, x: Array, out: Array) -> None:
    one = _one(xp, x.dtype)
    xp.negative(x, out)
    xp.exp(out, out)
    xp.add(out, one, out)
    xp.divide(one, out, out)


def log_sigmoid(xp: Namespace, x: Array) -> Array:
    """Logarithm of the sigmoid, without overflow: min(0, x) - log1p(exp(-abs(x))).

    >>> xp.log_sigmoid(xp.array([-1000.0, 1000.0]))
    array([-1000.,     0.])
    """
    return in_chunks(xp, _log_sigmoid_chunk, x)


def _log_sigmoid_chunk(xp: Namespace, x: Array, out: Array) -> None:
    xp.abs(x, out)
    xp.negative(out, out)
    xp.exp(out, out)
    xp.log1p(out, out)
    zeros = _zeros(xp, x.dtype)[: x.size].reshape(x.shape)
    xp.subtract(xp.minimum(x, zeros), out, out)


def softplus(xp: Namespace, x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta * x)) / beta, and ``x`` itself where beta * x exceeds ``threshold``.

    >>> xp.softplus(xp.array([0.0, 30.0]))
    array([ 0.69314718, 30.        ])
    """

    def chunk(xp: Namespace, x: Array, out: Array) -> None:
        scaled = x if beta == 1.0 else xp.multiply(x, beta)
        # False for nan too, which then takes the careful path and stays nan.
        usual = not x.size or scaled.max() <= threshold
        xp.exp(scaled if usual else xp.minimum(scaled, threshold), out)
        xp.log1p(out, out)
        if beta != 1.0:
            xp.divide(out, beta, out)
        if not usual:
            beyond = scaled > threshold
            out[beyond] = x[beyond]

    # Only an unusually high threshold or an extreme beta lets anything overflow; inf is right then.
    with quiet():
        return in_chunks(xp, chunk, x)


def logit(xp: Namespace, x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), with ``x`` first limited to [eps, 1 - eps] where ``eps`` is given.

    >>> xp.logit(xp.array([0.5, 1.0]))
    array([ 0., inf])
    """

    def kernel(xp: Namespace, x: Array) -> Array:
        if eps is not None:
            # 1 - eps is rounded to the array's precision, as the bound itself is.
            low = xp.asarray(eps, x.dtype)
            high = 1 - low
            x = xp.where(x < low, low, xp.where(x > high, high, x))
        out = xp.subtract(1, x)
        xp.divide(x, out, out)
        return xp.log(out, out)

    return elementwise(kernel)(xp, x)


@elementwise
def entr(xp: Namespace, x: Array) -> Array:
    """Entropy term -x log(x): 0 at zero, -inf below.

    >>> xp.entr(xp.array([1.0, 0.0, -1.0]))
    array([ -0.,   0., -inf])
    """
    out = xp.log(x)
    out *= -x
    out[x == 0] = 0
    out[x < 0] = -xp.inf
    return out


@elementwise
def sinc(xp: Namespace, x: Array) -> Array:
    """sin(pi x) / (pi x), and 1 at zero.

    >>> xp.sinc(xp.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    angle = x * math.pi
    out = xp.sin(angle)
    out /= angle
    out[x == 0] = 1
    return out


def xlogy(xp: Namespace, x: Array, y: Array) -> Array:
    """x * log(y), and 0 where ``x`` is 0 (unless ``y`` is nan).

    >>> xp.xlogy(xp.array([0.0, 2.0]), xp.array([0.0, 1.0]))
    array([0., 0.])
    """

    def kernel(xp: Namespace, x: Array, y: Array) -> Array:
        out = xp.log(y)
        out *= x
        out[(x == 0) & ~xp.isnan(y)] = 0
        return out

    return apply_pair(xp, kernel, x, y, CHUNK)


def xlog1py(xp: Namespace, x: Array, y: Array) -> Array:
    """x * log1p(y), and 0 where ``x`` is 0 (unless ``y`` is nan).

    >>> xp.xlog1py(xp.array([0.0, 1.0]), xp.array([-1.0, 0.0]))
    array([0., 0.])
    """

    def kernel(xp: Namespace, x: Array, y: Array) -> Array:
        out = xp.log1p(y)
        out *= x
        out[(x == 0) & ~xp.isnan(y)] = 0
        return out

    return apply_pair(xp, kernel, x, y, CHUNK)


def logaddexp(xp: Namespace, x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)) without overflow.

    >>> xp.logaddexp(xp.array([0.0]), xp.array([-xp.inf]))
    array([0.])
    """

    def kernel(xp: Namespace, x: Array, y: Array) -> Array:
        out = _minus_distance(xp, x, y)
        xp.exp(out, out)
        xp.log1p(out, out)
        out += xp.maximum(x, y)
        return out

    return apply_pair(xp, kernel, x, y, CHUNK)


def logaddexp2(xp: Namespace, x: Array, y: Array) -> Array:
    """log2(2**x + 2**y) without overflow.

    >>> xp.logaddexp2(xp.array([3.0]), xp.array([3.0]))
    array([4.])
    """

    def kernel(xp: Namespace, x: Array, y: Array) -> Array:
        out = _minus_distance(xp, x, y)
        xp.exp2(out, out)
        xp.log1p(out, out)
        out *= _LOG2_E
        out += xp.maximum(x, y)
        return out

    return apply_pair(xp, kernel, x, y, CHUNK)


def _minus_distance(xp: Namespace, x: Array, y: Array) -> Array:
    """-abs(x - y), where two equal infinities are at distance 0."""
    out = xp.subtract(x, y)
    xp.abs(out, out)
    xp.negative(out, out)
    if out.size and xp.isnan(out.min()):
        out[x == y] = 0
    return out
