"""Resampling images of bytes: with whole numbers for weights, as PyTorch and Pillow do.

Weights are 16-bit numbers of as many binary places as the largest allows. Each direction is summed
in whole numbers, rounded and kept within a byte, rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from retrograd.backend.namespace import Namespace

from .folding import Array
from .resampling import _antialias_table, _cubic_table, _linear_table, _source_ratio

_MOST_PLACES = 22
_LARGEST = 1 << 15  # what a weight stays below


def interpolate_bytes(
    xp: Namespace,
    input: Array,
    output_size: Sequence[int],
    mode: str,
    align_corners: bool,
    scales: Sequence[float | None] | None,
    antialias: bool,
) -> Array:
    """Resize the last two dimensions of an array of bytes.

    >>> interpolate_bytes(np, np.array([[0, 100]], np.uint8), (1, 3), "linear", False, None, False)
    array([[  0,  50, 100]], dtype=uint8)
    """
    factors = (None, None) if scales is None else scales
    result = input
    for axis in (-1, -2):
        before, after = input.shape[axis], output_size[axis]
        if before != after:
            weights, places = _weights(
                xp, before, after, mode, align_corners, factors[axis], antialias
            )
            turned = xp.swapaxes(result, axis, -1)
            result = xp.swapaxes(_mixed(xp, turned, weights, places), axis, -1)
    return xp.ascontiguousarray(result) if result is not input else input.copy()


def _mixed(xp: Namespace, array: Array, weights: Array, places: int) -> Array:
    """Bytes along the last dimension, summed with weights of so many binary places."""
    # float64 has room for the whole numbers, and the fastest product
    sums = xp.matmul(array.astype(xp.float64), weights) + float(1 << (places - 1))
    found: Array = xp.clip(xp.floor(sums / float(1 << places)), 0, 255).astype(array.dtype)
    return found


@lru_cache(maxsize=128)
def _weights(
    xp: Namespace,
    before: int,
    after: int,
    mode: str,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
) -> tuple[Array, int]:
    """The weight of each source for each result, as whole numbers, and their binary places."""
    exact = np.dtype(np.float64)
    ratio = _source_ratio(before, after, align_corners, scale, exact)
    if antialias:
        targets, sources, taps = _antialias_table(xp, before, after, ratio, mode, exact)
    else:
        table = _linear_table if mode == "linear" else _cubic_table
        indices, found = table(xp, before, after, ratio, align_corners, exact)
        targets = xp.repeat(xp.arange(after), indices.shape[1])
        sources, taps = indices.reshape(-1), found.reshape(-1)
    # taps beyond the border add up at the border before they are rounded
    flat = xp.bincount(sources * after + targets, taps, before * after)
    largest, places = float(flat.max()), 0
    while places < _MOST_PLACES and int(0.5 + largest * (1 << (places + 1))) < _LARGEST:
        places += 1
    scaled = flat * float(1 << places)
    whole = xp.where(scaled < 0, xp.ceil(scaled - 0.5), xp.floor(scaled + 0.5))
    return whole.reshape(before, after), places
