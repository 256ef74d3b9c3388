"""Random numbers made on the device: one launch for each draw, of as many threads as PyTorch's.

`random/philox.py` defines the numbers; every function here takes the arguments of its namesake.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from retrograd.backend.arrays import Array
from retrograd.backend.cuda.launch import Source, launch
from retrograd.backend.device import Backend

_REALS = "REALS({0}, {1}, {2}, {3}, {4})"
_OTHERS = "NUMBERS({0}, {1}, {2}, {3})"
_WHOLE = "ALL({0}, {1}, {2}, {3})"
_C_TYPES = {
    "float32": "float",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float64": "double",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}
_LEAST = {"float64": 2.0**-53}  # half the distance from 1 to the next number


@functools.cache
def _source(pattern: str, dtype: str) -> Source:
    """The functions for one type, compiled when it is first drawn."""
    wide = dtype == "float64"
    kinds = ("double", "Units64", "Normals64") if wide else ("float", "Units32", "Normals32")
    written = pattern.format(dtype, _C_TYPES[dtype], *kinds)
    return Source("philox", FUNCTIONS=written)


_OWN = Source("philox")


def _signed(number: int) -> int:
    """64 bits as a launch takes them."""
    return (number + 2**63) % 2**64 - 2**63


class DeviceDraws:
    """The functions of `random.philox`, with kernels.

    array  makes an array of the device, of a shape and a type
    """

    def __init__(self, backend: Backend) -> None:
        self._xp: Any = backend.xp
        self._array: Any = backend.array

    def _filled(
        self, function: Any, at: Any, count: int, dtype: np.dtype, *more: Any, each: int = 1
    ) -> Array:
        """An array that a launch fills, of a thread for each `each` elements at most."""
        made = self._array((count,), dtype)
        blocks = at.grid.streams(count) // 256 if each == 1 else -(-count // (256 * each))
        self._launched(function, at, made, blocks, *more)
        filled: Array = made
        return filled

    def _launched(self, function: Any, at: Any, made: Any, blocks: int, *more: Any) -> None:
        place = (made.data.ptr, made.shape[0], _signed(at.seed), _signed(at.offset), at.recorded)
        launch(function, blocks, (*place, *more))

    # ---- floating numbers

    def _reals(self, name: str, at: Any, count: int, dtype: np.dtype, *more: float) -> Array:
        function = getattr(_source(_REALS, dtype.name), f"{name}_{dtype.name}")
        return self._filled(function, at, count, dtype, *map(float, more))

    def units(self, at: Any, count: int, dtype: np.dtype) -> Array:
        return self._filled(getattr(_OWN, f"units_{dtype.name}"), at, count, dtype)

    def uniform(self, at: Any, count: int, low: float, high: float, dtype: np.dtype) -> Array:
        first, end = np.array([low, high], np.float64).astype(dtype)
        return self._reals("uniform", at, count, dtype, end - first, first, end)

    def normal(self, at: Any, count: int, mean: float, std: float, dtype: np.dtype) -> Array:
        return self._reals("normal", at, count, dtype, mean, std)

    def log_normal(self, at: Any, count: int, mean: float, std: float, dtype: np.dtype) -> Array:
        return self._reals("log_normal", at, count, dtype, mean, std)

    def exponential(self, at: Any, count: int, rate: float, dtype: np.dtype) -> Array:
        least = _LEAST.get(dtype.name, 2.0**-24)
        return self._reals("exponential", at, count, dtype, rate, least)

    def cauchy(self, at: Any, count: int, median: float, sigma: float, dtype: np.dtype) -> Array:
        return self._reals("cauchy", at, count, dtype, median, sigma)

    def geometric(self, at: Any, count: int, p: float, dtype: np.dtype) -> Array:
        function = getattr(_source(_OTHERS, dtype.name), f"geometric_{dtype.name}")
        return self._filled(function, at, count, dtype, float(p))

    # ---- whole numbers, choices

    def _whole(self, name: str, dtype: np.dtype) -> Any:
        return getattr(_source(_WHOLE, dtype.name), f"{name}_{dtype.name}")

    def integers(self, at: Any, count: int, low: int, span: int, dtype: np.dtype) -> Array:
        function = self._whole("integers32" if span < 2**28 else "integers64", dtype)
        return self._filled(function, at, count, dtype, low, _signed(span))

    def full_range(self, at: Any, count: int, last: int, dtype: np.dtype) -> Array:
        wide = dtype.name in ("int64", "float64")
        function = self._whole("integers64" if wide else "integers32", dtype)
        return self._filled(function, at, count, dtype, 0, _signed(last + 1))

    def choices(self, at: Any, count: int, p: float, dtype: np.dtype) -> Array:
        return self._filled(self._whole("choices", dtype), at, count, dtype, float(p))

    def choices_of(self, at: Any, chances: Any, dtype: np.dtype) -> Array:
        kind = np.float64 if dtype.name == "float64" else np.float32
        chances = self._xp.ascontiguousarray(chances, dtype=kind)
        function = self._whole("choices_of", dtype)
        return self._filled(function, at, chances.size, dtype, chances.data.ptr, each=4)

    def kept(self, at: Any, count: int, keep: float, width: int) -> Array:
        return self._filled(_OWN.kept, at, count, np.dtype(np.bool_), float(keep), width)

    # ---- orders and places

    def order(self, at: Any, keys: Any, bits: int) -> Array:
        wide = keys.itemsize == 8
        if bits < 8 * keys.itemsize:
            keys = keys & ((1 << bits) - 1)
        found = self._xp.argsort(keys)
        arranged = self._xp.ascontiguousarray(keys[found])
        if found.size > 1:
            function = _OWN.shuffle64 if wide else _OWN.shuffle32
            blocks = -(-found.size // 256)
            self._launched(function, at, found, blocks, arranged.data.ptr)
        order: Array = found
        return order

    def places(self, at: Any, sums: Any, weights: Any, count: int) -> Array:
        kind = np.float64 if sums.dtype.name == "float64" else np.float32
        sums = self._xp.ascontiguousarray(sums, dtype=kind)
        weights = self._xp.ascontiguousarray(weights, dtype=kind)
        rows, columns = sums.shape
        function = getattr(_OWN, f"places_{sums.dtype.name}")
        more = (sums.data.ptr, weights.data.ptr, columns, count, -(-count // 128) * 128)
        made = self._filled(function, at, rows * count, np.dtype(np.int64), *more)
        return made.reshape(rows, count)


def install(backend: Backend) -> None:
    """Let the device make its own random numbers."""
    backend.maker = DeviceDraws(backend)
