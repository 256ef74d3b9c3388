"""Pooling over any number of spatial dimensions: maximum and average, fixed and adaptive windows.

The pooled dimensions are the last ones of an array, as many as `kernel` or `output_size` has
entries; whatever comes before is batch. Maximum pooling returns, beside the values, the place of
each in its flattened spatial block. `gather_at_indices` and `scatter_to_indices` are linear and
each other's adjoint, and give the derivatives of maximum pooling of every order. Average pooling is
linear; its adjoint is the function called `..._gradient`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from retrograd.backend.namespace import Namespace

from .folding import Array, Index, narrow, pad_spatial, widen, window_view, without_padding

# Windows longer than this are searched by `argmax` instead of offset by offset.
_SHORT_WINDOW = 32


def pooled_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows pooling uses along one dimension.

    `ceil_mode` lets the last window run over the end, as long as it starts inside the input or
    the padding before it.

    >>> pooled_size(5, 2, 2, 0, 1, ceil_mode=True)
    3
    """
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def max_pool(
    xp: Namespace,
    input: Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """The largest value of each window and its flat spatial index.

    Among equals the first counts, a nan counts as larger than every number (the last of several),
    and padding is never chosen.

    >>> from retrograd.backend import CPU
    >>> max_pool(CPU.xp, np.array([[1.0, 3.0, 3.0, 2.0]]), (2,), (2,), (0,), (1,))
    (array([[3., 3.]]), array([[1, 2]]))
    """
    lead = input.ndim - len(kernel)
    spatial = input.shape[lead:]
    output = [
        pooled_size(*sizes, ceil_mode)
        for sizes in zip(spatial, kernel, stride, padding, dilation, strict=True)
    ]
    wide = widen(input)
    after = _trailing_padding(spatial, output, kernel, stride, padding, dilation)
    padded = pad_spatial(xp, wide, padding, after, _lowest(xp, wide.dtype))
    view = window_view(xp, padded, lead, kernel, output, stride, dilation)
    origins, moves, first = _max_pool_tables(
        xp, spatial, tuple(output), tuple(kernel), tuple(stride), tuple(padding), tuple(dilation)
    )
    values, offsets = _window_maximum(xp, view, len(kernel), first, wide.size)
    indices = moves[offsets]
    indices += origins
    return narrow(values, input.dtype), indices


def adaptive_max_pool(
    xp: Namespace, input: Array, output_size: Sequence[int]
) -> tuple[Array, Array]:
    """Maximum pooling into a given number of windows; values and flat spatial indices.

    >>> from retrograd.backend import CPU
    >>> adaptive_max_pool(CPU.xp, np.array([[1.0, 5.0, 2.0]]), (2,))
    (array([[5., 5.]]), array([[1, 1]]))
    """
    dimensions = len(output_size)
    lead = input.ndim - dimensions
    spatial = input.shape[lead:]
    if all(count and size % count == 0 for size, count in zip(spatial, output_size, strict=True)):
        kernel = [size // count for size, count in zip(spatial, output_size, strict=True)]
        return max_pool(xp, input, kernel, kernel, [0] * dimensions, [1] * dimensions)
    wide = widen(input)
    # Shorter windows repeat their last element: it never comes before the original.
    tables = []
    for size, count in zip(spatial, output_size, strict=True):
        starts, stops = adaptive_spans(xp, size, count)
        longest = largest(stops - starts)
        tables.append(xp.minimum(starts[:, None] + xp.arange(longest), stops[:, None] - 1))
    gathered = wide
    for axis, table in enumerate(tables):
        gathered = xp.take(gathered, table, axis=lead + 2 * axis)
    order = (*range(lead, lead + 2 * dimensions, 2), *range(lead + 1, lead + 2 * dimensions, 2))
    view = gathered.transpose(*range(lead), *order)
    values, offsets = _window_maximum(xp, view, dimensions, None, wide.size)
    kernel = [table.shape[1] for table in tables]
    indices: Array = xp.zeros(values.shape, xp.int64)
    for axis, inside in enumerate(xp.unravel_index(offsets, kernel) if values.size else ()):
        window = xp.arange(output_size[axis]).reshape(-1, *[1] * (dimensions - axis - 1))
        indices += tables[axis][window, inside] * prod(spatial[axis + 1 :])
    return narrow(values, input.dtype), indices


def gather_at_indices(xp: Namespace, input: Array, indices: Array, dimensions: int) -> Array:
    """Read `input` at flat spatial indices; its last `dimensions` dimensions are spatial.

    Linear in `input`, with `scatter_to_indices` as adjoint.

    >>> gather_at_indices(np, np.array([[5.0, 6.0, 7.0]]), np.array([[2, 0]]), 1)
    array([[7., 5.]])
    """
    spatial = input.shape[input.ndim - dimensions :]
    positions = _flat_places(xp, indices, dimensions, prod(spatial))
    return xp.take(input.reshape(-1), positions)


def scatter_to_indices(xp: Namespace, grad: Array, indices: Array, spatial: Sequence[int]) -> Array:
    """Sum `grad` into zeros of the given spatial shape at flat spatial indices.

    Linear in `grad`, with `gather_at_indices` as adjoint.

    >>> from retrograd.backend import CPU
    >>> scatter_to_indices(CPU.xp, np.array([[1.0, 2.0]]), np.array([[1, 1]]), (3,))
    array([[0., 3., 0.]])
    """
    positions = _flat_places(xp, indices, len(spatial), prod(spatial))
    wide = widen(grad)
    lead = grad.shape[: grad.ndim - len(spatial)]
    result: Array = xp.zeros((*lead, *spatial), wide.dtype)
    xp.add_at(result.reshape(-1), positions.reshape(-1), wide.reshape(-1))
    return narrow(result, grad.dtype)


def max_unpool(xp: Namespace, input: Array, indices: Array, spatial: Sequence[int]) -> Array:
    """Put values at flat spatial indices of zeros; the last of several for one place stays.

    Linear in `input`. Indices may come from anywhere, so they are checked.

    >>> max_unpool(np, np.array([[4.0, 5.0]]), np.array([[2, 0]]), (3,))
    array([[5., 0., 4.]])
    """
    size = prod(spatial)
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        outside = indices[(indices < 0) | (indices >= size)]
        raise IndexError(
            f"index {int(outside.reshape(-1)[0])} is out of bounds for {size} output places"
        )
    positions = _flat_places(xp, indices, len(spatial), size)
    result: Array = xp.zeros((*input.shape[: input.ndim - len(spatial)], *spatial), input.dtype)
    result.reshape(-1)[positions] = input
    return result


def avg_pool(
    xp: Namespace,
    input: Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The average of each window. Linear in `input`; the adjoint is `avg_pool_gradient`.

    >>> avg_pool(np, np.array([[1.0, 3.0, 5.0]]), (2,), (1,), (0,))
    array([[2., 4.]])
    """
    dimensions = len(kernel)
    lead = input.ndim - dimensions
    spatial = input.shape[lead:]
    ones = [1] * dimensions
    output = [
        pooled_size(*sizes, ceil_mode)
        for sizes in zip(spatial, kernel, stride, padding, ones, strict=True)
    ]
    after = _trailing_padding(spatial, output, kernel, stride, padding, ones)
    total = pad_spatial(xp, widen(input), padding, after)
    for axis in range(dimensions):
        total = _sum_windows(xp, total, lead + axis, kernel[axis], stride[axis], output[axis])
    divisor = _divisor(
        xp, spatial, output, kernel, stride, padding, count_include_pad, divisor_override
    )
    return narrow(_divide(xp, total, divisor), input.dtype)


def avg_pool_gradient(
    xp: Namespace,
    grad: Array,
    spatial: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The adjoint of `avg_pool` on inputs of the given spatial shape. Linear in `grad`.

    >>> avg_pool_gradient(np, np.array([[1.0, 1.0]]), (3,), (2,), (1,), (0,))
    array([[0.5, 1. , 0.5]])
    """
    dimensions = len(kernel)
    lead = grad.ndim - dimensions
    output = grad.shape[lead:]
    divisor = _divisor(
        xp, spatial, output, kernel, stride, padding, count_include_pad, divisor_override
    )
    result = _divide(xp, widen(grad), divisor)
    after = _trailing_padding(spatial, output, kernel, stride, padding, [1] * dimensions)
    for axis in reversed(range(dimensions)):
        size = spatial[axis] + padding[axis] + after[axis]
        result = _spread_windows(xp, result, lead + axis, kernel[axis], stride[axis], size)
    inner = result[without_padding(spatial, padding)]
    return narrow(xp.ascontiguousarray(inner), grad.dtype)


def adaptive_avg_pool(xp: Namespace, input: Array, output_size: Sequence[int]) -> Array:
    """Average pooling into a given number of windows. Linear in `input`; the adjoint is
    `adaptive_avg_pool_gradient`.

    >>> adaptive_avg_pool(np, np.array([[1.0, 3.0, 5.0]]), (2,))
    array([[2., 4.]])
    """
    lead = input.ndim - len(output_size)
    result = widen(input)
    spatial = input.shape[lead:]
    if all(count == 1 for count in output_size):
        total = result.reshape(*input.shape[:lead], prod(spatial)).sum(-1)
        return narrow(_divide(xp, total, prod(spatial)), input.dtype).reshape(
            *input.shape[:lead], *output_size
        )
    for axis, count in enumerate(output_size, start=lead):
        starts, stops = adaptive_spans(xp, result.shape[axis], count)
        result = _sum_spans(xp, result, axis, starts, stops)
        result = _divide(xp, result, _along(stops - starts, axis, result.ndim))
    return narrow(xp.ascontiguousarray(result), input.dtype)


def adaptive_avg_pool_gradient(xp: Namespace, grad: Array, spatial: Sequence[int]) -> Array:
    """The adjoint of `adaptive_avg_pool` on inputs of the given spatial shape. Linear in `grad`.

    >>> adaptive_avg_pool_gradient(np, np.array([[1.0, 1.0]]), (3,))
    array([[0.5, 1. , 0.5]])
    """
    lead = grad.ndim - len(spatial)
    result = widen(grad)
    for axis, size in reversed(list(enumerate(spatial, start=lead))):
        starts, stops = adaptive_spans(xp, size, result.shape[axis])
        result = _divide(xp, result, _along(stops - starts, axis, result.ndim))
        # Windows come in order, so those that cover one element are neighbours too.
        covered = xp.arange(size)
        first = xp.searchsorted(stops, covered, side="right")
        last = xp.searchsorted(starts, covered, side="right")
        result = _sum_spans(xp, result, axis, first, last)
    return narrow(xp.ascontiguousarray(result), grad.dtype)


def adaptive_spans(xp: Namespace, size: int, count: int) -> tuple[Array, Array]:
    """Start and end of each of `count` windows that together cover `size` elements.

    >>> adaptive_spans(np, 5, 2)
    (array([0, 2]), array([3, 5]))
    """
    windows = xp.arange(count)
    return windows * size // max(count, 1), -(-(windows + 1) * size // max(count, 1))


def largest(counts: Array) -> int:
    """The largest of some counts; none of none."""
    return int(counts.max()) if counts.size else 0


def _trailing_padding(
    spatial: Sequence[int],
    output: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """How far the last window reaches over the end of each dimension."""
    sizes = zip(spatial, output, kernel, stride, padding, dilation, strict=True)
    return [
        max(0, (count - 1) * step + spread * (window - 1) + 1 - size - pad)
        for size, count, window, step, pad, spread in sizes
    ]


def _lowest(xp: Namespace, dtype: np.dtype) -> Any:
    return xp.iinfo(dtype).min if dtype.kind in "iu" else -xp.inf


def _outer_sum(tables: Sequence[Array]) -> Array:
    """All sums of one entry from each table: one dimension per table."""
    total: Array = tables[0]
    for table in tables[1:]:
        total = total[..., None] + table
    return total


@lru_cache(maxsize=64)
def _max_pool_tables(
    xp: Namespace,
    spatial: tuple[int, ...],
    output: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[Array, Array, Array | None]:
    """What turns offsets into indices: the flat index that each window starts at, the way from
    there to each of its offsets, and with padding each window's first offset inside the input.
    """
    origins, moves, skipped = [], [], []
    for axis in range(len(spatial)):
        step = prod(spatial[axis + 1 :])
        starts = xp.arange(output[axis]) * stride[axis] - padding[axis]
        origins.append(starts * step)
        moves.append(xp.arange(kernel[axis]) * (dilation[axis] * step))
        outside = xp.maximum(-(starts // dilation[axis]), 0)
        skipped.append(outside * prod(kernel[axis + 1 :]))
    first = _outer_sum(skipped) if any(padding) else None
    return _outer_sum(origins), _outer_sum(moves).reshape(-1), first


def _window_maximum(
    xp: Namespace, view: Array, dimensions: int, first: Array | None, input_size: int
) -> tuple[Array, Array]:
    """Largest value of each window and its offset in the flattened window.

    `view` ends in `dimensions` window dimensions. `first` gives the smallest offset to report for
    each window where padding may come before it: padding equals the lowest number, so it can tie
    with an element but not beat one.
    """
    kernel = view.shape[view.ndim - dimensions :]
    length = prod(kernel)
    # Searching whole windows copies them: only where they hardly overlap.
    if length > _SHORT_WINDOW and view.size <= 2 * input_size:
        windows = view.reshape(*view.shape[: view.ndim - dimensions], length)
        offsets = windows.argmax(-1)
        values = xp.take_along_axis(windows, offsets[..., None], -1)[..., 0]
        if first is not None:
            offsets = xp.maximum(offsets, first)
    else:
        kind = xp.dtype(xp.int8 if length <= 127 else xp.int32)
        corner: Index = (..., *(0,) * dimensions)
        values = view[corner].copy(order="C")
        offsets = xp.zeros(values.shape, kind)
        if first is not None:
            offsets += first.astype(kind)
        number: Array = xp.zeros((), kind)
        for offset in islice(product(*(range(size) for size in kernel)), 1, None):
            number += 1
            place: Index = (..., *offset)
            candidate = view[place]
            # Offsets come in order, so a later winner is a larger number. This form runs
            # vectorised where a masked copy does not.
            later = xp.multiply(candidate > values, number, dtype=kind)
            xp.maximum(offsets, later, out=offsets)
            xp.maximum(values, candidate, out=values)
    if values.dtype.kind == "f":
        missing = xp.isnan(values)
        if missing.any():
            windows = xp.isnan(view[missing]).reshape(-1, length)
            offsets[missing] = length - 1 - windows[:, ::-1].argmax(-1)
    return values, offsets


def _flat_places(xp: Namespace, indices: Array, dimensions: int, size: int) -> Array:
    """Positions in the flattened array of flat spatial indices, one block of `size` per batch."""
    lead = indices.shape[: indices.ndim - dimensions]
    blocks = xp.arange(prod(lead)) * size
    return indices + blocks.reshape(*lead, *[1] * dimensions)


def _window_slices(axis: int, kernel: int, stride: int, count: int) -> list[tuple[Index, Index]]:
    """Pairs of indices (windows, elements) that meet along an axis: by offset, or by window where
    windows are long and few."""
    lead: Index = (slice(None),) * axis
    if kernel <= max(count, _SHORT_WINDOW):
        return [
            ((...,), (*lead, slice(offset, offset + (count - 1) * stride + 1, stride)))
            for offset in range(kernel)
        ]
    return [
        (
            (*lead, slice(window, window + 1)),
            (*lead, slice(window * stride, window * stride + kernel)),
        )
        for window in range(count)
    ]


def _sum_windows(
    xp: Namespace, array: Array, axis: int, kernel: int, stride: int, count: int
) -> Array:
    """Sum `count` windows of `kernel` elements along one axis."""
    if kernel == 1 and stride == 1:
        return array
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
    if kernel <= max(count, _SHORT_WINDOW):
        result: Array = xp.zeros(shape, array.dtype)
        for windows, elements in _window_slices(axis, kernel, stride, count):
            result[windows] += array[elements]
    else:
        result = xp.empty(shape, array.dtype)
        for windows, elements in _window_slices(axis, kernel, stride, count):
            xp.sum(array[elements], axis=axis, keepdims=True, out=result[windows])
    return result


def _spread_windows(
    xp: Namespace, grad: Array, axis: int, kernel: int, stride: int, size: int
) -> Array:
    """The adjoint of `_sum_windows`: add each value to all elements of its window."""
    if kernel == 1 and stride == 1:
        return grad
    result: Array = xp.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1 :]), grad.dtype)
    for windows, elements in _window_slices(axis, kernel, stride, grad.shape[axis]):
        result[elements] += grad[windows]
    return result


def _sum_spans(xp: Namespace, array: Array, axis: int, starts: Array, stops: Array) -> Array:
    """Sum spans `starts[i]:stops[i]` along one axis; starts and stops never decrease."""
    count = len(starts)
    lengths = stops - starts
    longest = largest(lengths)
    lead: Index = (slice(None),) * axis
    result: Array = xp.zeros((*array.shape[:axis], count, *array.shape[axis + 1 :]), array.dtype)
    if count <= longest:
        for window, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            result[(*lead, window)] = array[(*lead, slice(start, stop))].sum(axis)
        return result
    for offset in range(longest):
        longer = xp.flatnonzero(lengths > offset)
        part = xp.take(array, starts[longer] + offset, axis=axis)
        if len(longer) == count:
            result += part
        else:
            result[(*lead, longer)] += part
    return result


def _along(table: Array, axis: int, dimensions: int) -> Array:
    """A one-dimensional table laid along one axis, to broadcast."""
    return table.reshape([-1 if other == axis else 1 for other in range(dimensions)])


def _divisor(
    xp: Namespace,
    spatial: Sequence[int],
    output: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array | int:
    """What each window's sum is divided by: a number, or an array over the windows."""
    if divisor_override is not None:
        return divisor_override
    sizes = zip(spatial, output, kernel, stride, padding, strict=True)
    if all(
        # the first and the last window are whole; asked of numbers, so that no device is waited for
        (count_include_pad or not pad) and (count - 1) * step + window <= size + 2 * pad
        for size, count, window, step, pad in sizes
    ):
        return prod(kernel)
    tables = []
    for size, count, window, step, pad in zip(
        spatial, output, kernel, stride, padding, strict=True
    ):
        starts = xp.arange(count) * step - pad
        stops = xp.minimum(starts + window, size + pad)
        if not count_include_pad:
            stops = xp.minimum(stops, size)
            starts = xp.maximum(starts, 0)
        tables.append(stops - starts)
    total: Array = tables[0]
    for table in tables[1:]:
        total = total[..., None] * table
    return total


def _divide(xp: Namespace, array: Array, divisor: Array | int) -> Array:
    """Divide by whole numbers in the array's own type; whole numbers drop the fraction."""
    if array.dtype.kind in "iu":
        quotient = xp.abs(array) // xp.abs(divisor)
        return (quotient * xp.sign(array) * xp.sign(divisor)).astype(array.dtype)
    if not isinstance(divisor, int):
        divisor = divisor.astype(array.dtype)
    return xp.divide(array, divisor)
