"""Whole numbers: ``randint`` and ``random_``."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.lifecycle.site import user_level
from retrograd.random.arguments import COMPLEX, LARGEST, SIGNIFICAND, not_implemented, spelled
from retrograd.random.arithmetic import HALVES, to_int64
from retrograd.random.generator import Array, Generator
from retrograd.random.layout import fill_

__all__ = ["randint", "randint_", "random_from", "random_full"]

_LOWEST = -(2**63)


def _to_dtype(numbers: Array, dtype: np.dtype) -> Array:
    if dtype in HALVES:
        return numbers.astype(np.float32).astype(dtype)
    return numbers.astype(dtype, copy=False)


def _remainder(numbers: Array, span: int) -> Array:
    """numbers % span."""
    if span & (span - 1) == 0:
        return np.asarray(numbers & (span - 1))
    result: Array = numbers // span  # NumPy divides in vectors, but has no vector remainder
    result *= span
    return np.subtract(numbers, result, out=result)


def _draw(generator: Generator, count: int, low: int, span: int, dtype: np.dtype) -> Array:
    """``count`` numbers in [low, low + span), from one word each or, for large spans, from two."""
    if generator.samplers is not None:
        made: Array = generator.samplers.integers(count, low, span, dtype)
        return made
    draw = generator.random32 if span < 2**28 else generator.random64
    numbers = _remainder(draw(count), span)
    if low or numbers.dtype == np.uint64:
        numbers = numbers.astype(np.uint64, copy=False)
        numbers = (numbers + np.uint64(low % 2**64)).view(np.int64)
    return _to_dtype(numbers, dtype)


def randint(
    generator: Generator, count: int, low: int, high: int, dtype: npt.DTypeLike = np.int64
) -> Array:
    """``count`` whole numbers in [low, high): ``randint(low, high)`` and ``random_(low, high)``.

    >>> randint(Generator().manual_seed(0), 3, 0, 10)
    array([4, 9, 3])
    """
    kind = np.dtype(dtype)
    if generator.samplers is None:
        made = kernels.draw_integers(generator, (count,), kind, low, high)
        if made is not None:
            return made
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if kind in SIGNIFICAND:
        low, high = _low_inside(low, kind), _high_inside(high, kind)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    _check_bounds(low, high - 1, kind)
    return _draw(generator, count, low, high - low, kind)


def randint_(generator: Generator, target: Array, low: int, high: int) -> Array:
    """Fill ``target`` with whole numbers in [low, high), and return it."""
    made = kernels.draw_integers(generator, target, target.dtype, low, high)
    if made is not None:
        return made
    return fill_(target, randint(generator, target.size, low, high, target.dtype))


def random_from(
    generator: Generator, count: int, low: int, dtype: npt.DTypeLike = np.int64
) -> Array:
    """``random_(low, None)``: up to the largest whole number that the dtype counts to without gaps.

    >>> random_from(Generator().manual_seed(0), 3, 100, np.int8)
    array([104, 103, 121], dtype=int8)
    """
    kind = np.dtype(dtype)
    if low == _LOWEST:
        return _all_64_bits(generator, count, kind)
    if kind in COMPLEX:
        raise RuntimeError(
            "random_from_to_impl handles only integral, floating-point and boolean types"
        )
    if kind in SIGNIFICAND:
        last, low = 2 ** SIGNIFICAND[kind], _low_inside(low, kind)
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                f"casted to dtype, but got from={low} > to_inc={last}"
            )
    else:
        last = _last(kind)
    _check_bounds(low, last if last < 2**63 else -1, kind)
    return _draw(generator, count, low, last - low + 1, kind)


def random_full(generator: Generator, count: int, dtype: npt.DTypeLike = np.float32) -> Array:
    """``random_()``: from 0 to the largest whole number that the dtype counts to without gaps.

    >>> random_full(Generator().manual_seed(0), 3, np.uint8)
    array([172,  47, 117], dtype=uint8)
    """
    kind = np.dtype(dtype)
    if count == 0:
        return np.empty(0, kind)
    if kind in COMPLEX or kind.name in ("uint16", "uint32", "uint64"):
        raise not_implemented("random_kernel_cpu", kind)
    last = 2 ** SIGNIFICAND[kind] if kind in SIGNIFICAND else _last(kind)
    if generator.samplers is not None:
        made: Array = generator.samplers.full_range(count, last, kind)
        return made
    if kind.name in ("int64", "float64"):
        return _to_dtype(_remainder(generator.random64(count), last + 1).view(np.int64), kind)
    return _to_dtype(_remainder(generator.random32(count), last + 1), kind)


def _all_64_bits(generator: Generator, count: int, dtype: np.dtype) -> Array:
    if count == 0:
        return np.empty(0, dtype)
    if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
        kernel = "random_full_64_bits_range_kernel_cpu"
        if dtype.name in ("uint8", "int8", "int16", "int32"):
            raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
        raise not_implemented(kernel, dtype)
    if generator.samplers is not None:
        made: Array = generator.samplers.integers(count, 0, 2**64, dtype)
        return made
    return _to_dtype(generator.random64(count).view(np.int64), dtype)


# ---- bounds


def _last(dtype: np.dtype) -> int:
    return 1 if dtype == np.bool_ else int(np.iinfo(dtype).max)


def _stored(value: int, dtype: np.dtype) -> int:
    """What becomes of a whole number in a floating type."""
    with np.errstate(over="ignore"):
        return to_int64(float(_to_dtype(np.array([value]), dtype)[0]))


def _spacing(value: int, dtype: np.dtype) -> int:
    """The distance of neighbours in a floating type around a value beyond its gapless range."""
    return 1 << max(0, abs(value).bit_length() - SIGNIFICAND[dtype])


def _low_inside(low: int, dtype: np.dtype) -> int:
    """A lower bound whose numbers, stored in the dtype, do not fall below ``low``."""
    stored = _stored(low + 1, dtype)
    return stored + _spacing(low + 1, dtype) if stored < low else low


def _high_inside(high: int, dtype: np.dtype) -> int:
    """An upper bound whose numbers, stored in the dtype, do not reach ``high``."""
    stored = _stored(high - 1, dtype)
    return stored - _spacing(high - 1, dtype) if stored >= high else high


def _check_bounds(low: int, last: int, dtype: np.dtype) -> None:
    if dtype in COMPLEX:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    least: float
    most: float
    if dtype in SIGNIFICAND:
        most = LARGEST[dtype]
        least = -most
    else:
        least, most = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    bounds = (("from", low), ("to - 1", last))
    for name, value in bounds:
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {spelled(dtype, cpp=True)}")
    if dtype not in SIGNIFICAND:
        return
    digits = SIGNIFICAND[dtype]
    for name, value in bounds:
        if abs(value) > 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {spelled(dtype, cpp=True)} can support discrete uniform distribution "
                "only within this range. This warning will become an error in version 1.7 release, "
                "please fix the code in advance",
                stacklevel=user_level(),
            )
