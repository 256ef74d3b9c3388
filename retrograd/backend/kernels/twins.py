"""NumPy twins of the compiled kernels: the same results on machines without a compiler.

They pass their arguments on to NumPy and turn a NumPy scalar, which is what NumPy returns where a
result has no dimensions, into a 0-d array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from retrograd.backend.quiet import quiet

Array = npt.NDArray[Any]

_add_reduce = np.add.reduce
_COMPARED = tuple(np.dtype(name) for name in ("float32", "float64", "int64"))


def _as_array(result: Any) -> Array:
    return np.asarray(result) if isinstance(result, np.generic) else result


def add(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.add(*operands, **options))


def subtract(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.subtract(*operands, **options))


def multiply(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.multiply(*operands, **options))


def divide(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.divide(*operands, **options))


def maximum(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.maximum(*operands, **options))


def minimum(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.minimum(*operands, **options))


def negative(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.negative(*operands, **options))


def square(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.square(*operands, **options))


def sqrt(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.sqrt(*operands, **options))


def exp(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.exp(*operands, **options))


def log(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.log(*operands, **options))


def tanh(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.tanh(*operands, **options))


def sin(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.sin(*operands, **options))


def cos(*operands: Any, **options: Any) -> Array:
    with quiet():
        return _as_array(np.cos(*operands, **options))


def iadd(target: Array, other: Any, /) -> None:
    with quiet():
        np.add(target, other, target)


def add_matching(target: Array, other: Array, /) -> bool:
    if type(other) is not np.ndarray or target.shape != other.shape or target.dtype != other.dtype:
        return False
    iadd(target, other)
    return True


def sum_all(x: Any, /) -> Array:
    with quiet():
        return _as_array(_add_reduce(x, axis=None))


def sum_to(x: Array, shape: tuple[int, ...], /) -> Array | None:
    return None  # NumPy's own reduction gives the same sums


def filled(shape: tuple[int, ...], value: Any, dtype: Any = None, /) -> Array:
    return np.full(shape, value, dtype)


def matmul2d(a: Any, b: Any, /) -> Array:
    with quiet():
        return _as_array(np.matmul(a, b))


def extremes(x: Any) -> tuple[float, float]:
    if not isinstance(x, np.ndarray) or not x.size or x.dtype not in _COMPARED:
        return math.nan, math.nan
    low, high = np.minimum.reduce(x, None), np.maximum.reduce(x, None)  # both are NaN if one is
    return low.item(), high.item()


def _not_here(*arguments: Any) -> Array | None:
    """Nothing is done: Python code that says how it is done does it."""
    return None


draw_uniform = draw_normal = draw_ones = draw_chances = draw_indices = draw_again = _not_here
draw_integers = draw_order = from_numbers = _not_here
