"""Sigmoid and its relatives, and the small entropy-like functions.

``expit``, ``log_sigmoid`` and ``softplus`` are hot in training: they run in cache-sized pieces, in
the input's own precision, with in-place arithmetic only.
"""

import math

import numpy as np

from retrograd.backend.neutral.special_shared import (
    CHUNK,
    Array,
    apply_pair,
    elementwise,
    in_chunks,
)
from retrograd.backend.quiet import quiet

_LOG2_E = 1.4426950408889634
# Constants as zero-dimensional arrays: NumPy takes them about 0.2 us faster than Python numbers.
_ONE = {np.dtype(kind): np.array(1, kind) for kind in (np.float32, np.float64)}
# Comparing with an array of zeros is three times as fast as comparing with the number zero.
_ZEROS = {np.dtype(kind): np.zeros(CHUNK, kind) for kind in (np.float32, np.float64)}


def expit(x: Array) -> Array:
    """Logistic sigmoid, 1 / (1 + exp(-x)).

    >>> expit(np.array([0.0, 1000.0]))
    array([0.5, 1. ])
    """
    # exp(-x) overflows to inf for very negative x, and 1 / inf is the wanted 0.
    with quiet():
        return in_chunks(_expit_chunk, x)


def _expit_chunk(x: Array, out: Array) -> None:
    one = _ONE[x.dtype]
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, one, out)
    np.divide(one, out, out)


def log_sigmoid(x: Array) -> Array:
    """Logarithm of the sigmoid, without overflow: min(0, x) - log1p(exp(-abs(x))).

    >>> log_sigmoid(np.array([-1000.0, 1000.0]))
    array([-1000.,     0.])
    """
    return in_chunks(_log_sigmoid_chunk, x)


def _log_sigmoid_chunk(x: Array, out: Array) -> None:
    np.abs(x, out)
    np.negative(out, out)
    np.exp(out, out)
    np.log1p(out, out)
    zeros = _ZEROS[x.dtype][: x.size].reshape(x.shape)
    np.subtract(np.minimum(x, zeros), out, out)


def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta * x)) / beta, and ``x`` itself where beta * x exceeds ``threshold``.

    >>> softplus(np.array([0.0, 30.0]))
    array([ 0.69314718, 30.        ])
    """

    def chunk(x: Array, out: Array) -> None:
        scaled = x if beta == 1.0 else np.multiply(x, beta)
        # False for nan too, which then takes the careful path and stays nan.
        if scaled.max(initial=-np.inf) <= threshold:
            np.exp(scaled, out)
        else:
            np.exp(np.minimum(scaled, threshold), out)
        np.log1p(out, out)
        if beta != 1.0:
            np.divide(out, beta, out)
        np.copyto(out, x, where=scaled > threshold)

    # Only an unusually high threshold or an extreme beta lets anything overflow; inf is right then.
    with quiet():
        return in_chunks(chunk, x)


def logit(x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), with ``x`` first limited to [eps, 1 - eps] where ``eps`` is given.

    >>> logit(np.array([0.5, 1.0]))
    array([ 0., inf])
    """

    def kernel(x: Array) -> Array:
        if eps is not None:
            # 1 - eps is rounded to the array's precision, as the bound itself is.
            low = x.dtype.type(eps)
            high = x.dtype.type(1) - low
            x = np.where(x < low, low, np.where(x > high, high, x))
        out = np.subtract(x.dtype.type(1), x)
        np.divide(x, out, out)
        result: Array = np.log(out, out)
        return result

    return elementwise(kernel)(x)


@elementwise
def entr(x: Array) -> Array:
    """Entropy term -x log(x): 0 at zero, -inf below.

    >>> entr(np.array([1.0, 0.0, -1.0]))
    array([ -0.,   0., -inf])
    """
    out = np.log(x)
    out *= -x
    out[x == 0] = 0
    out[x < 0] = -np.inf
    return out


@elementwise
def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x), and 1 at zero.

    >>> sinc(np.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    angle = x * math.pi
    out = np.sin(angle)
    out /= angle
    out[x == 0] = 1
    return out


def xlogy(x: Array, y: Array) -> Array:
    """x * log(y), and 0 where ``x`` is 0 (unless ``y`` is nan).

    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    array([0., 0.])
    """

    def kernel(x: Array, y: Array) -> Array:
        out = np.log(y)
        out *= x
        out[(x == 0) & ~np.isnan(y)] = 0
        return out

    return apply_pair(kernel, x, y, CHUNK)


def xlog1py(x: Array, y: Array) -> Array:
    """x * log1p(y), and 0 where ``x`` is 0 (unless ``y`` is nan).

    >>> xlog1py(np.array([0.0, 1.0]), np.array([-1.0, 0.0]))
    array([0., 0.])
    """

    def kernel(x: Array, y: Array) -> Array:
        out = np.log1p(y)
        out *= x
        out[(x == 0) & ~np.isnan(y)] = 0
        return out

    return apply_pair(kernel, x, y, CHUNK)


def logaddexp(x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)) without overflow.

    >>> logaddexp(np.array([0.0]), np.array([-np.inf]))
    array([0.])
    """

    def kernel(x: Array, y: Array) -> Array:
        out = _minus_distance(x, y)
        np.exp(out, out)
        np.log1p(out, out)
        out += np.maximum(x, y)
        return out

    return apply_pair(kernel, x, y, CHUNK)


def logaddexp2(x: Array, y: Array) -> Array:
    """log2(2**x + 2**y) without overflow.

    >>> logaddexp2(np.array([3.0]), np.array([3.0]))
    array([4.])
    """

    def kernel(x: Array, y: Array) -> Array:
        out = _minus_distance(x, y)
        np.exp2(out, out)
        np.log1p(out, out)
        out *= _LOG2_E
        out += np.maximum(x, y)
        return out

    return apply_pair(kernel, x, y, CHUNK)


def _minus_distance(x: Array, y: Array) -> Array:
    """-abs(x - y), where two equal infinities are at distance 0."""
    out = np.subtract(x, y)
    np.abs(out, out)
    np.negative(out, out)
    if np.isnan(np.minimum.reduce(out, initial=np.inf)):
        out[x == y] = 0
    return out
