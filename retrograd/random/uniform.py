"""Uniform numbers: ``rand`` and ``uniform_``."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.random.arguments import COMPLEX, FLOATS, LARGEST, not_implemented, number, spelled
from retrograd.random.arithmetic import HALVES, cast, fma32, fma64
from retrograd.random.generator import Array, Generator, chunks
from retrograd.random.layout import fill_

__all__ = ["uniform", "uniform_"]

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def uniform(
    generator: Generator,
    count: int,
    low: float = 0.0,
    high: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """``count`` uniform numbers in [low, high).

    >>> uniform(Generator().manual_seed(0), 2)
    array([0.4962566, 0.7682218], dtype=float32)
    """
    kind = np.dtype(dtype)
    standard = low == 0.0 and high == 1.0 and generator.samplers is None
    if standard and kind in (_FLOAT32, _FLOAT64):
        return generator.float32s(count) if kind == _FLOAT32 else generator.float64s(count)
    if kind in COMPLEX:
        if count == 0:
            return np.empty(0, kind)
        return uniform(generator, 2 * count, low, high, COMPLEX[kind]).view(kind)
    made: Array | None
    if generator.samplers is not None:
        _check(low, high, kind)
        made = generator.samplers.of_reals("uniform", count, low, high, kind)
    else:
        made = kernels.draw_uniform(generator, (count,), kind, float(low), float(high))
    if made is not None:
        return made
    _check(low, high, kind)
    if kind == _FLOAT64:
        values = generator.float64s(count)
        if low != 0.0 or high != 1.0:
            values = fma64(values, high - low, low)
    else:
        values = generator.float32s(count)
        if low != 0.0 or high != 1.0:
            values = _stretch32(values, np.float32(low), np.float32(high))
        values = cast(values, kind)
    # Rounding may reach the upper bound, which does not belong to the interval.
    first, end = (low, high) if kind == _FLOAT64 else (np.float32(low), np.float32(high))
    if kind in HALVES:
        first, end = cast(np.array([first, end]), kind)
    reached = values == end
    if np.count_nonzero(reached):
        values[reached] = first
    return values


def _check(low: float, high: float, kind: np.dtype) -> None:
    if kind not in FLOATS:
        raise not_implemented("check_uniform_bounds", kind)
    limit = LARGEST[kind]
    for name, value in (("from", low), ("to", high)):
        if not -limit <= value <= limit:
            raise RuntimeError(f"{name} is out of bounds for {spelled(kind, cpp=True)}")
    if low > high:
        raise RuntimeError(
            "uniform_ expects to return a [from, to) range, "
            f"but found from={number(low)} > to={number(high)}"
        )
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{spelled(kind)}>::max(), but found "
            f"to={number(high)} and from={number(low)} which result in to-from to exceed the limit"
        )


def uniform_(generator: Generator, target: Array, low: float = 0.0, high: float = 1.0) -> Array:
    """Fill ``target`` with uniform numbers, and return it.

    >>> uniform_(Generator().manual_seed(0), np.empty((1, 2), np.float32))
    array([[0.4962566, 0.7682218]], dtype=float32)
    """
    made = kernels.draw_uniform(generator, target, target.dtype, low, high)
    if made is not None:
        return made
    return fill_(target, uniform(generator, target.size, low, high, target.dtype))


def _stretch32(values: Array, low: np.float32, high: np.float32) -> Array:
    """float32 fma(values, high - low, low); the values are multiples of 2**-24, overwritten."""
    span = np.float32(high - low)
    if low == 0:
        return values * span
    lowest_bit = min(math.frexp(span)[1] - 48, math.frexp(low)[1] - 24)
    highest_bit = max(math.frexp(low)[1], math.frexp(high)[1]) + 1
    if highest_bit - lowest_bit > 53:
        return fma32(values, float(span), float(low))
    for part in chunks(values.size):  # the sums are exact in float64: one rounding is left
        wide = values[part].astype(np.float64)
        wide *= float(span)
        wide += float(low)
        values[part] = wide
    return values
