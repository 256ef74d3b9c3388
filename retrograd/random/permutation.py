"""Random orders: ``randperm``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from retrograd.random.arguments import COMPLEX, SIGNIFICAND, not_implemented, spelled
from retrograd.random.arithmetic import HALVES
from retrograd.random.generator import Array, Generator

__all__ = ["randperm"]

_FEW = 400  # swaps: below, a Python loop is faster than resolving them together
_ANOTHER_ALGORITHM = (2**32 - 1) // 20


def randperm(generator: Generator, count: int, dtype: npt.DTypeLike = np.int64) -> Array:
    """The numbers 0 .. count - 1 in random order.

    >>> randperm(Generator().manual_seed(0), 5)
    array([4, 0, 1, 3, 2])
    """
    kind = np.dtype(dtype)
    _check(count, kind)
    if count >= _ANOTHER_ALGORITHM:
        return _inside_out(generator, count, kind)
    # Place i changes places with swaps[i] >= i, for i = 0, 1, ...
    remaining = np.arange(count, 1, -1, dtype=np.uint32)
    swaps = generator.random32(remaining.size) % remaining
    swaps += np.arange(remaining.size, dtype=np.uint32)
    if count <= _FEW:
        order = list(range(count))
        for i, other in enumerate(swaps.tolist()):
            order[i], order[other] = order[other], order[i]
        result = np.array(order, np.int64)
    else:
        result = _swapped(swaps, count)
    if kind in HALVES:
        return result.astype(np.float32).astype(kind)
    return result.astype(kind, copy=False)


def _swapped(swaps: Array, count: int) -> Array:
    """``range(count)`` after place i has changed places with swaps[i], for i = 0, 1, ...

    In step i, place i receives for good what stands at p = swaps[i]. If no earlier step named p,
    that is p itself. Otherwise the last step k that named p left there what stood at place k just
    before step k: ``held[k]``. And ``held[k]`` has its answer in the same way, from the last step
    before k that named place k: a chain to follow.
    """
    places = np.append(swaps, np.uint32(count - 1))  # the last place changes with itself
    steps = _stable_order(places)
    places = places[steps].astype(np.int64)  # sorted, the steps that name a place in their order
    named_before = np.zeros(count, np.bool_)
    np.equal(places[1:], places[:-1], out=named_before[1:])
    last = np.flatnonzero(np.append(~named_before[1:], True))  # each place's last mention
    its_own_step = (steps[last] == places[last]) & named_before[last]
    held = np.arange(count)
    held[places[last]] = steps[last - its_own_step]
    while True:  # every round doubles the length of chain that is followed
        further = held[held]
        if np.array_equal(further, held):
            break
        held = further
    again = np.flatnonzero(named_before)
    places[again] = held[steps[again - 1]]
    out = np.empty(count, np.int64)
    out[steps] = places
    return out


def _stable_order(numbers: Array) -> Array:
    """The indices that sort 32-bit numbers, equal ones in their order.

    NumPy has a fast stable sort for 16 bits only: by the low half, then by the high half.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if numbers.size > 2**16:
        high = (numbers >> np.uint32(16)).astype(np.uint16)
        order = order[np.argsort(high[order], kind="stable")]
    return order


def _inside_out(generator: Generator, count: int, dtype: np.dtype[Any]) -> Array:
    """The algorithm of very large orders: i goes to a place z <= i, and what stood there to i."""
    out = np.empty(count, dtype)
    with generator.lock:
        for start in range(0, count, 1 << 20):
            sizes = np.arange(start + 1, min(count, start + (1 << 20)) + 1, dtype=np.uint64)
            for i, z in enumerate((generator.random64(sizes.size) % sizes).tolist(), start):
                out[i] = out[z]
                out[z] = i
    return out


def _check(count: int, dtype: np.dtype[Any]) -> None:
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
