"""Floating-point arithmetic to the last bit: fused multiply-add, the C library's functions.

PyTorch's kernels are compiled with fused multiply-adds and call the C library's ``log``, ``exp``
and so on. NumPy has neither: it rounds products on their own, and its vector functions may differ
from the C library's in the last bit. What follows gives the same bits with NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from retrograd.random.generator import Array, chunks

__all__ = [
    "BFLOAT16",
    "HALVES",
    "CLibrary",
    "cast",
    "fma32",
    "fma64",
    "lgamma",
    "near_float32_tie",
    "to_int64",
]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = (np.dtype(np.float16), BFLOAT16)
"""The 16-bit floating types: computed in float32, rounded at the end."""

FUNCTIONS: dict[str, tuple[Callable[[float], float], Any]] = {
    "log": (math.log, np.log),
    "log1p": (math.log1p, np.log1p),
    "exp": (math.exp, np.exp),
    "tan": (math.tan, np.tan),
    "sin": (math.sin, np.sin),
    "cos": (math.cos, np.cos),
}
_FEW = 1024  # up to so many values, asking whether NumPy may be trusted costs more than it saves
_VERY_FEW = 32  # up to so many values, whole-number arithmetic is faster than the array formulas


def cast(values: Array, dtype: np.dtype) -> Array:
    """Round floating values to ``dtype``; the 16-bit types are reached through float32.

    >>> cast(np.array([0.1]), BFLOAT16)
    array([0.100098], dtype=bfloat16)
    """
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if dtype in HALVES:
            return values.astype(np.float32, copy=False).astype(dtype)
        return values.astype(dtype)


def to_int64(value: float) -> int:
    """Cut to a 64-bit integer as the processor does: what does not fit becomes -2**63.

    >>> to_int64(2.9), to_int64(math.inf) == -(2**63)
    (2, True)
    """
    return int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)


# ---- fused multiply-add


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and the exact error of it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: float) -> tuple[Array, Array]:
    """a * b as a rounded product and the exact error of it (Dekker)."""
    product = a * b
    scaled = 134217729.0 * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    b_high = 134217729.0 * b - (134217729.0 * b - b)
    b_low = b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _round_to_odd(total: Array, error: Array) -> Array:
    """The exact total + error rounded to odd: one more rounding, to fewer bits, is then correct."""
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where((error != 0) & ((bits & 1) == 0), bits + step, bits).view(np.float64)


def fma32(values: Array, factor: float, addend: float) -> Array:
    """float32 ``values * factor + addend``, rounded once.

    >>> fma32(np.array([0.1], np.float32), 3.0, 0.7)
    array([1.], dtype=float32)
    """
    with np.errstate(over="ignore"):
        factor, addend = float(np.float32(factor)), float(np.float32(addend))
    wide = values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        wide *= factor  # exact
        if not (math.isfinite(factor) and math.isfinite(addend)):
            return (wide + addend).astype(np.float32)
        total, error = _two_sum(wide, np.full(wide.shape, addend))
        if error.any():
            total = _round_to_odd(total, error)
        return total.astype(np.float32)


def fma64(values: Array, factor: float, addend: float) -> Array:
    """float64 ``values * factor + addend``, rounded once (Boldo and Melquiond).

    >>> float(fma64(np.array([0.1]), 10.0, -1.0)[0])  # 0.1 * 10.0 - 1.0 gives 0.0
    5.551115123125783e-17
    """
    if addend == 0 or not (math.isfinite(factor) and math.isfinite(addend)):
        with np.errstate(over="ignore", invalid="ignore"):
            return values * factor + addend
    if values.size <= _VERY_FEW or not (_moderate(factor) and _moderate(addend)):
        # Beyond moderate numbers the error terms below would leave the range of float64.
        exact = [_exact_fma(value, factor, addend) for value in values.ravel().tolist()]
        return np.array(exact, np.float64).reshape(values.shape)
    out = np.empty(values.shape, np.float64)
    source, target = values.reshape(-1), out.reshape(-1)
    for part in chunks(values.size):
        high, low = _two_product(source[part], factor)
        sum_high, sum_low = _two_sum(np.full(high.shape, addend), low)
        value_high, value_low = _two_sum(high, sum_high)
        target[part] = value_high + _round_to_odd(*_two_sum(sum_low, value_low))
    return out


def _moderate(number: float) -> bool:
    return number == 0 or 2.0**-700 < abs(number) < 2.0**700


def _exact_fma(value: float, factor: float, addend: float) -> float:
    if not math.isfinite(value):
        return value * factor + addend
    a, a_scale = value.as_integer_ratio()
    b, b_scale = factor.as_integer_ratio()
    c, c_scale = addend.as_integer_ratio()
    scale = a_scale * b_scale
    try:
        return (a * b * c_scale + c * scale) / (scale * c_scale)
    except OverflowError:
        return math.copysign(math.inf, value * factor + addend)


# ---- the C library's functions


class CLibrary:
    """``log``, ``exp`` and so on of float64 arrays, as the C library computes them.

    Python's ``math`` calls the C library; NumPy may bring its own code. The names are NumPy's, so
    that one formula takes either ``numpy`` or this class.

    >>> float(CLibrary.log1p(np.array([-0.5]))[0]) == math.log1p(-0.5)
    True
    """

    @staticmethod
    def log(x: Array) -> Array:
        return _evaluate("log", x)

    @staticmethod
    def log1p(x: Array) -> Array:
        return _evaluate("log1p", x)

    @staticmethod
    def exp(x: Array) -> Array:
        return _evaluate("exp", x)

    @staticmethod
    def tan(x: Array) -> Array:
        return _evaluate("tan", x)

    @staticmethod
    def sin(x: Array) -> Array:
        return _evaluate("sin", x)

    @staticmethod
    def cos(x: Array) -> Array:
        return _evaluate("cos", x)


def _evaluate(name: str, x: Array) -> Array:
    one_by_one, vector = FUNCTIONS[name]
    if x.size > _FEW and _vector_is_exact(name):
        with np.errstate(all="ignore"):
            return np.asarray(vector(x))
    numbers = x.ravel().tolist()
    try:
        results = np.fromiter(map(one_by_one, numbers), np.float64, x.size)
    except (ValueError, OverflowError):  # where C returns an infinity, Python raises
        results = np.array([_infinite_allowed(one_by_one, vector, v) for v in numbers])
    return results.reshape(x.shape)


def _infinite_allowed(one_by_one: Callable[[float], float], vector: Any, number: float) -> float:
    try:
        return one_by_one(number)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(vector(number))


@cache
def _vector_is_exact(name: str) -> bool:
    """Whether NumPy's function is the C library's on this machine, judged by values all over.

    Where NumPy has code of its own, at least some 0.3 % of the last bits differ.
    """
    one_by_one, vector = FUNCTIONS[name]
    spread = np.arange(1, 4097) / 4097.0
    x = {"log": spread, "log1p": -spread, "exp": 80 * (spread - 0.5), "tan": 3.1 * (spread - 0.5)}
    probe = x.get(name, 2 * math.pi * spread)
    return bool(np.array_equal(vector(probe), [one_by_one(v) for v in probe.tolist()]))


def near_float32_tie(values: Array, addend: float = 0.0) -> Array:
    """Where a float64 result, if its last bits were wrong, could round to another float32.

    The vector functions are off by a few units in the last place. In float32 that shows only close
    to a tie, where the 29 bits that go away are nearly one half. Taken along are subnormal results,
    whose ties lie elsewhere, and results much smaller than the ``addend`` of a last sum: there the
    error is large beside what is left.

    >>> near_float32_tie(np.array([1.0, 1.0 + 2.0**-24]))
    array([False,  True])
    """
    low_bits = (values.view(np.int64) - (2**28 - 2**14)) & (2**29 - 1)
    return (low_bits <= 2**15) | (np.abs(values) < max(2.0**-120, abs(addend) / 64))


_LGAMMA_SERIES = (
    -1.63092934096575273989e-03,
    8.36339918996282139126e-04,
    -5.95187557450339963135e-04,
    7.93650558643019558500e-04,
    -2.77777777728775536470e-03,
    8.33333333333329678849e-02,
)


def lgamma(x: float) -> float:
    """log(gamma(x)) of a whole x >= 1 as the GNU C library computes it; Python has its own.

    >>> lgamma(1.0), lgamma(5.0) == math.log(24.0)
    (0.0, True)
    """
    if x < 8:
        return math.log(math.factorial(int(x) - 1))
    if x >= 2.0**58:
        return x * (math.log(x) - 1.0)
    inverse = 1.0 / x
    square = inverse * inverse
    series = 0.0
    for coefficient in _LGAMMA_SERIES:
        series = coefficient + square * series
    series = 4.18938533204672725052e-01 + inverse * series
    return (x - 0.5) * (math.log(x) - 1.0) + series
