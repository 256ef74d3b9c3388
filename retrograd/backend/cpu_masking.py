"""`neutral.masking` for NumPy, which is slow at `where` and at comparing with a number."""

from __future__ import annotations

import numpy as np

from retrograd.backend import kernels
from retrograd.backend.arrays import Array

_INTEGERS: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}
_ZEROS: dict[np.dtype, Array] = {kind: np.zeros((), kind) for kind in _INTEGERS}
_FEW = 1024  # elements: below, `np.where` is faster than the bit mask


def keep_where(values: Array, mask: Array) -> Array:
    """`values` where `mask` is true, else zero: on large arrays all bits or none of an element.

    >>> keep_where(np.array([1.0, np.inf]), np.array([True, False]))
    array([1., 0.])
    """
    kind = values.dtype
    if values.size < _FEW or kind not in _INTEGERS:
        zero = _ZEROS.get(kind)
        return np.where(mask, values, np.zeros((), kind) if zero is None else zero)
    bits = np.negative(mask.view(np.int8))  # all ones where true
    kept: Array = np.bitwise_and(values.view(_INTEGERS[kind]), bits)
    return kept.view(kind)


_CHUNK = 32768
_ROW_OF_ZEROS: dict[np.dtype, Array] = {kind: np.zeros(_CHUNK, kind) for kind in _INTEGERS}


def not_below_zero(values: Array) -> Array:
    """``max(values, 0)``: on large arrays NumPy compares with zeros faster than with a zero.

    >>> not_below_zero(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    zeros = _ROW_OF_ZEROS.get(values.dtype)
    if values.size < _FEW or zeros is None or not values.flags.c_contiguous:
        return kernels.maximum(0, values)  # the second where both are zeros
    if values.size <= _CHUNK:
        return kernels.maximum(zeros[: values.size].reshape(values.shape), values)
    result = np.empty_like(values)
    source, target = values.reshape(-1), result.reshape(-1)
    for start in range(0, source.size, _CHUNK):
        part = source[start : start + _CHUNK]
        np.maximum(zeros[: part.size], part, out=target[start : start + _CHUNK])
    return result
