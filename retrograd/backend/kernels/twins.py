"""NumPy twins of the compiled kernels: the same results on machines without a compiler.

They pass their arguments on to NumPy and turn a NumPy scalar, which is what NumPy returns where a
result has no dimensions, into a 0-d array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from retrograd.backend.arrays import Array
from retrograd.backend.quiet import QUIET, current_mode, quiet

_add_reduce = np.add.reduce
_COMPARED = tuple(np.dtype(name) for name in ("float32", "float64", "int64"))


def _as_array(result: Array | np.generic) -> Array:
    return np.asarray(result) if isinstance(result, np.generic) else result


def _silent(function: np.ufunc) -> Callable[..., Array]:
    def call(*operands: object, **options: object) -> Array:
        if current_mode() is QUIET:  # in backward passes and optimizers
            result = function(*operands, **options)
        else:
            with quiet():
                result = function(*operands, **options)
        return result if type(result) is np.ndarray else _as_array(result)

    call.__name__ = function.__name__
    return call


add = _silent(np.add)
subtract = _silent(np.subtract)
multiply = _silent(np.multiply)
divide = _silent(np.divide)
maximum = _silent(np.maximum)
minimum = _silent(np.minimum)
negative = _silent(np.negative)
square = _silent(np.square)
sqrt = _silent(np.sqrt)
exp = _silent(np.exp)
log = _silent(np.log)
tanh = _silent(np.tanh)
sin = _silent(np.sin)
cos = _silent(np.cos)
_product = _silent(np.matmul)


def iadd(target: Array, other: ArrayLike, /) -> None:
    with quiet():
        np.add(target, other, target)


def add_matching(target: Array, other: Array, /) -> bool:
    if type(other) is not np.ndarray or target.shape != other.shape or target.dtype != other.dtype:
        return False
    iadd(target, other)
    return True


def sum_all(x: Array, /) -> Array:
    with quiet():
        return _as_array(_add_reduce(x, axis=None))


def sum_to(x: Array, shape: tuple[int, ...], /) -> Array | None:
    return None  # NumPy's own reduction gives the same sums


def filled(shape: tuple[int, ...], value: ArrayLike, dtype: DTypeLike | None = None, /) -> Array:
    return np.full(shape, value, dtype)


def matmul2d(a: Array, b: Array, /) -> Array:
    return _product(a, b)


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


def set_threads(count: int, /) -> int:
    """NumPy works in the caller's thread, but for its products."""
    return 1
