"""Sliding windows over arrays: views of them, sums into them, `unfold` and `fold`.

Convolution and pooling are built from the three helpers at the top. A *window view* of a padded
array lists, for every output position and every kernel offset, the element they meet at; it
shares the array's memory. Everything here is linear in its data argument, and `unfold` and `fold`
are each other's adjoint: `(unfold(x) * y).sum() == (x * fold(y)).sum()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from retrograd.backend.arrays import Array as Array
from retrograd.backend.arrays import DType
from retrograd.backend.arrays import Index as Index
from retrograd.backend.namespace import Namespace
from retrograd.backend.quiet import quiet

_HALF_PRECISION = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def widen(array: Array) -> Array:
    """The array in the precision to compute with: float16 and bfloat16 become float32.

    >>> widen(np.ones(2, np.float16)).dtype
    dtype('float32')
    """
    return array.astype(np.float32) if array.dtype in _HALF_PRECISION else array


def narrow(array: Array, dtype: DType) -> Array:
    """Undo `widen`: the array in `dtype`, without a copy when it has it already."""
    if array.dtype == dtype:
        return array
    with quiet():
        return array.astype(dtype)


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit along one dimension; zero or less when the kernel does not fit.

    >>> window_count(8, kernel=3, stride=2, padding=1, dilation=1)
    4
    """
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def without_padding(spatial: Sequence[int], before: Sequence[int]) -> Index:
    """The index that takes the spatial block back out of a padded array.

    >>> without_padding((3,), (1,))
    (Ellipsis, slice(1, 4, None))
    """
    return (..., *(slice(low, low + size) for size, low in zip(spatial, before, strict=True)))


def pad_spatial(
    xp: Namespace,
    array: Array,
    before: Sequence[int],
    after: Sequence[int],
    value: complex = 0,
    channels_last: bool = False,
) -> Array:
    """A C-contiguous array with its last `len(before)` dimensions padded by `value`.

    With `channels_last` dimension 1 of `(samples, channels, *spatial)` moves to the end in the
    same pass. The result may be `array` itself, so it must not be written to.
    """
    dimensions = len(before)
    first = array.ndim - dimensions
    if not channels_last and not any(before) and not any(after):
        return xp.ascontiguousarray(array)
    spatial = [
        size + low + high
        for size, low, high in zip(array.shape[first:], before, after, strict=True)
    ]
    inner = without_padding(array.shape[first:], before)
    if channels_last:
        shape = (array.shape[0], *spatial, array.shape[1])
        source = array.transpose(0, *range(2, array.ndim), 1)
        inner = (slice(None), *inner[1:])
    else:
        shape = (*array.shape[:first], *spatial)
        source = array
    padded: Array = xp.full(shape, value, array.dtype) if value else xp.zeros(shape, array.dtype)
    padded[inner] = source
    return padded


def window_view(
    xp: Namespace,
    padded: Array,
    first: int,
    kernel: Sequence[int],
    output: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Array:
    """A view of shape `(*before, *output, *kernel, *after)`, the windows of a contiguous array.

    `first` is the first spatial dimension of `padded`; the view is writable when `padded` is.

    >>> from retrograd.backend import CPU
    >>> window_view(CPU.xp, np.arange(5), 0, (3,), (2,), (2,), (1,))
    array([[0, 1, 2],
           [2, 3, 4]])
    """
    last = first + len(kernel)
    spatial = padded.strides[first:last]
    return xp.strided(
        padded,
        (*padded.shape[:first], *output, *kernel, *padded.shape[last:]),
        (
            *padded.strides[:first],
            *(step * size for step, size in zip(stride, spatial, strict=True)),
            *(step * size for step, size in zip(dilation, spatial, strict=True)),
            *padded.strides[last:],
        ),
    )


def add_to_windows(
    view: Array,
    values: Array,
    first: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> None:
    """Add `values` into a window view: the adjoint of reading it.

    Windows overlap, so one `+=` over the whole view would lose summands. Along each dimension the
    windows overlap in, the loop fixes either the kernel offset or the window, whichever is fewer.
    """
    dimensions = len(kernel)
    over_windows: list[Sequence[Any]] = [(slice(None),)] * dimensions
    over_offsets: list[Sequence[Any]] = [(slice(None),)] * dimensions
    for axis in range(dimensions):
        windows = view.shape[first + axis]
        if windows < 2 or stride[axis] > dilation[axis] * (kernel[axis] - 1):
            continue
        if windows < kernel[axis]:
            over_windows[axis] = range(windows)
        else:
            over_offsets[axis] = range(kernel[axis])
    lead = (slice(None),) * first
    for chosen in product(*over_windows, *over_offsets):
        target = view[lead + chosen]
        target += values[lead + chosen]


def unfold(
    xp: Namespace,
    input: Array,
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """Columns of windows: `(N, C, *spatial)` to `(N, C * prod(kernel), windows)` (im2col).

    Linear in `input`; the adjoint is `fold`.

    >>> from retrograd.backend import CPU
    >>> unfold(CPU.xp, np.arange(4.0).reshape(1, 1, 2, 2), (1, 2), (1, 1), (0, 0), (1, 1))[0]
    array([[0., 2.],
           [1., 3.]])
    """
    dimensions = len(kernel)
    output = [
        window_count(*sizes)
        for sizes in zip(input.shape[2:], kernel, stride, padding, dilation, strict=True)
    ]
    padded = pad_spatial(xp, input, padding, padding)
    view = window_view(xp, padded, 2, kernel, output, stride, dilation)
    kernel_first = (0, 1, *range(2 + dimensions, 2 + 2 * dimensions), *range(2, 2 + dimensions))
    samples, channels = input.shape[:2]
    columns = xp.empty((samples, channels, *kernel, *output), input.dtype)
    columns[...] = view.transpose(kernel_first)
    return columns.reshape(samples, channels * prod(kernel), prod(output))


def fold(
    xp: Namespace,
    columns: Array,
    output_size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """Sum columns of windows back into place: `(N, C * prod(kernel), windows)` to
    `(N, C, *output_size)` (col2im).

    Linear in `columns`; the adjoint is `unfold`.

    >>> from retrograd.backend import CPU
    >>> fold(CPU.xp, np.ones((1, 2, 2)), (1, 3), (1, 2), (1, 1), (0, 0), (1, 1))[0, 0]
    array([[1., 2., 1.]])
    """
    dimensions = len(kernel)
    windows = [
        window_count(*sizes)
        for sizes in zip(output_size, kernel, stride, padding, dilation, strict=True)
    ]
    samples = columns.shape[0]
    channels = columns.shape[1] // prod(kernel)
    wide = widen(columns)
    values = wide.reshape(samples, channels, *kernel, *windows)
    kernel_last = (0, 1, *range(2 + dimensions, 2 + 2 * dimensions), *range(2, 2 + dimensions))
    padded_size = [size + 2 * low for size, low in zip(output_size, padding, strict=True)]
    padded: Array = xp.zeros((samples, channels, *padded_size), wide.dtype)
    view = window_view(xp, padded, 2, kernel, windows, stride, dilation)
    add_to_windows(view, values.transpose(kernel_last), 2, kernel, stride, dilation)
    inner = padded[without_padding(output_size, padding)]
    return narrow(xp.ascontiguousarray(inner), columns.dtype)
