"""NumPy twins of the compiled kernels: the same results on machines without a compiler.

They pass their arguments on to NumPy and turn a NumPy scalar, which is what NumPy returns where a
result has no dimensions, into a 0-d array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from threading import Lock, RLock
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


draw_uniform = draw_ones = draw_chances = draw_again = _not_here
draw_integers = draw_order = draw_exponential = from_numbers = _not_here
draw_cauchy = draw_log_normal = draw_geometric = draw_scores = largest_places = _not_here


class Stream:
    """What a generator keeps of its stream; see `random.generator.Generator`, which is one."""

    lock: RLock
    cached_normal: float | None
    _key: Array  # what the block was made from
    _words: Array
    _next: int  # the words [_next, _stop) of the block are still unused
    _stop: int
    _known: tuple[Any, ...] | None  # the last state read, and what it belongs to


def start_twister(key: Array, seed: int, /) -> None:
    """Overwrite a key of 624 words with that of a seed of 32 bits."""
    words = [seed]
    for place in range(1, len(key)):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + place) & 0xFFFFFFFF)
    key[:] = words


@cache
def _numpy_twister() -> tuple[Lock, np.random.MT19937, np.random.RandomState]:
    """NumPy's generator, which is loaded only now, and another door to its stream."""
    bits = np.random.MT19937(0)
    return Lock(), bits, np.random.RandomState(bits)


def twist(key: Array, words: Array, /) -> None:
    """Overwrite an array of whole blocks of 624 words with those that follow a key's."""
    lock, bits, stream = _numpy_twister()
    with lock:
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": len(key)}}
        # Two ways to the same words: one is cheap to call, the other is cheap per word.
        if words.size <= 4 * len(key):
            words[:] = bits.random_raw(words.size)
        else:
            words[:] = stream.randint(0, 2**32, words.size, np.uint32)
        key[:] = bits.state["state"]["key"]


# A few numbers at a time, as for one step of an agent, are made with Python's floats: with arrays
# it takes several times as long.
_FEW = 16


def _float64s(generator: Any, count: int) -> list[float]:
    words = generator.random32(2 * count).tolist()
    return [
        (words[i] & 0x1FFFFF) * 2.0**-21 + words[i + 1] * 2.0**-53 for i in range(0, 2 * count, 2)
    ]


def draw_normal(
    generator: Any, shape: Any, dtype: np.dtype[Any], mean: float = 0.0, std: float = 1.0, /
) -> Array | None:
    count = math.prod(shape) if type(shape) is tuple else _FEW
    if count >= _FEW or dtype not in _COMPARED[:2] or mean != 0 or std != 1:
        return None
    with generator.lock:
        numbers: list[float] = []
        if generator.cached_normal is not None and count:
            numbers.append(generator.cached_normal)
            generator.cached_normal = None
        uniforms = iter(_float64s(generator, 2 * ((count - len(numbers) + 1) // 2)))
        for turn, tail in zip(uniforms, uniforms, strict=True):
            radius, angle = math.sqrt(-2.0 * math.log1p(-tail)), 2.0 * math.pi * turn
            numbers += (radius * math.cos(angle), radius * math.sin(angle))
        if len(numbers) > count:
            generator.cached_normal = numbers.pop()
    return np.array(numbers, dtype).reshape(shape)


def draw_indices(generator: Any, rows: Array, /) -> Array | None:
    if rows.size > _FEW or rows.ndim != 2 or len(rows) != 1 or rows.dtype not in _COMPARED[:2]:
        return None
    weights = rows[0].tolist()
    if not all([0.0 <= weight < math.inf for weight in weights]) or not any(weights):
        return None
    uniforms = _float64s(generator, len(weights))
    waits = np.array([-math.log1p(-uniform) for uniform in uniforms], rows.dtype)
    with quiet():
        return np.asarray((rows / waits).argmax(axis=1)[:, None])


def set_threads(count: int, /) -> int:
    """NumPy works in the caller's thread, but for its products."""
    return 1
