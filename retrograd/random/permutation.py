"""Random orders: ``randperm``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.random.arguments import COMPLEX, SIGNIFICAND, not_implemented, spelled
from retrograd.random.arithmetic import HALVES
from retrograd.random.generator import Array, Generator

__all__ = ["randperm"]

_ANOTHER_ALGORITHM = (2**32 - 1) // 20


def randperm(generator: Generator, count: int, dtype: npt.DTypeLike = np.int64) -> Array:
    """The numbers 0 .. count - 1 in random order.

    >>> randperm(Generator().manual_seed(0), 5)
    array([4, 0, 1, 3, 2])
    """
    kind = np.dtype(dtype)
    _check(count, kind)
    if generator.samplers is not None:
        found: Array = generator.samplers.order(count, kind)
        return found
    if count >= _ANOTHER_ALGORITHM:
        return _inside_out(generator, count, kind)
    result = kernels.draw_order(generator, count)
    if result is None:
        # Place i changes places with swaps[i] >= i, for i = 0, 1, ...
        remaining = np.arange(count, 1, -1, dtype=np.uint32)
        swaps = generator.random32(remaining.size) % remaining
        swaps += np.arange(remaining.size, dtype=np.uint32)
        order = list(range(count))
        for i, other in enumerate(swaps.tolist()):
            order[i], order[other] = order[other], order[i]
        result = np.array(order, np.int64)
    if kind in HALVES:
        return result.astype(np.float32).astype(kind)
    return result.astype(kind, copy=False)


def _inside_out(generator: Generator, count: int, dtype: np.dtype) -> Array:
    """The algorithm of very large orders: i goes to a place z <= i, and what stood there to i."""
    out = np.empty(count, dtype)
    with generator.lock:
        for start in range(0, count, 1 << 20):
            sizes = np.arange(start + 1, min(count, start + (1 << 20)) + 1, dtype=np.uint64)
            for i, z in enumerate((generator.random64(sizes.size) % sizes).tolist(), start):
                out[i] = out[z]
                out[z] = i
    return out


def _check(count: int, dtype: np.dtype) -> None:
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    if dtype in COMPLEX or dtype.name in ("bool", "uint16", "uint32", "uint64"):
        raise not_implemented("randperm", dtype)
    if dtype.name in ("float16", "float32", "float64") and count > 2 ** SIGNIFICAND[dtype] + 1:
        raise RuntimeError(
            f"n cannot be greater than {2 ** SIGNIFICAND[dtype] + 1} for {spelled(dtype)} type."
        )
    if dtype.kind in "iu" and count - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
