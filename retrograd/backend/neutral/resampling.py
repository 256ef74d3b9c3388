"""Resampling images: interpolation to another size.

It works one dimension at a time from a table that says which source elements, with which
weights, make each result. The tables follow PyTorch's rules in PyTorch's arithmetic, single
precision for everything but float64, because rounding decides which neighbour is nearest.
`interpolate` is linear in its input with `interpolate_gradient` as adjoint (the same table read
backwards).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from .folding import Array, Index, narrow, widen
from .pooling import adaptive_avg_pool, adaptive_avg_pool_gradient

MODES = ("nearest", "nearest-exact", "linear", "cubic", "area")


class _Step(NamedTuple):
    """One summand of many results at once: `result[targets] += weights * source[sources]`."""

    targets: Array | None  # None: every result in order
    sources: Array
    weights: Array | None  # None: ones


def interpolate(
    input: Array,
    output_size: Sequence[int],
    mode: str,
    align_corners: bool = False,
    scales: Sequence[float | None] | None = None,
    antialias: bool = False,
) -> Array:
    """Resize the last `len(output_size)` dimensions. Linear in `input`.

    `mode` is per dimension, so bilinear and trilinear are `"linear"` and bicubic is `"cubic"`;
    `"lanczos"` exists with `antialias` only.
    `scales` are the factors asked for by the user, where they, not the sizes, place the samples.

    >>> interpolate(np.array([[0.0, 1.0]]), (4,), "linear")
    array([[0.  , 0.25, 0.75, 1.  ]])
    """
    if mode == "area":
        return adaptive_avg_pool(input, output_size)
    lead = input.ndim - len(output_size)
    sizes = input.shape[lead:]
    result = _computable(input, mode)
    steps = _all_steps(sizes, output_size, mode, align_corners, scales, antialias, result, False)
    for axis in _shrinking_first(sizes, output_size):
        result = _resample(result, lead + axis, steps[axis], output_size[axis])
    return narrow(np.ascontiguousarray(result), input.dtype)


def interpolate_gradient(
    grad: Array,
    input_size: Sequence[int],
    mode: str,
    align_corners: bool = False,
    scales: Sequence[float | None] | None = None,
    antialias: bool = False,
) -> Array:
    """The adjoint of `interpolate` on inputs of the given spatial size. Linear in `grad`.

    >>> interpolate_gradient(np.array([[1.0, 1.0, 1.0, 1.0]]), (2,), "linear")
    array([[2., 2.]])
    """
    if mode == "area":
        return adaptive_avg_pool_gradient(grad, input_size)
    lead = grad.ndim - len(input_size)
    sizes = grad.shape[lead:]
    result = _computable(grad, mode)
    steps = _all_steps(input_size, sizes, mode, align_corners, scales, antialias, result, True)
    for axis in _shrinking_first(sizes, input_size):
        result = _resample(result, lead + axis, steps[axis], input_size[axis])
    return narrow(np.ascontiguousarray(result), grad.dtype)


def _computable(array: Array, mode: str) -> Array:
    if array.dtype.kind in "iub" and not mode.startswith("nearest"):
        raise TypeError(f"interpolation with weights ({mode}) of {array.dtype} is not supported")
    return widen(array)


def _all_steps(
    input_size: Sequence[int],
    output_size: Sequence[int],
    mode: str,
    align_corners: bool,
    scales: Sequence[float | None] | None,
    antialias: bool,
    array: Array,
    backwards: bool,
) -> list[tuple[_Step, ...]]:
    if mode not in MODES and not (mode == "lanczos" and antialias):
        raise ValueError(f"interpolation mode {mode!r} is not supported")
    given = scales if scales is not None else [None] * len(input_size)
    if mode == "nearest" and len(input_size) == 2:
        # For images alone PyTorch takes these two sizes as exact factors, whatever was asked for.
        given = [
            count / size if count in (size, 2 * size) else scale
            for size, count, scale in zip(input_size, output_size, given, strict=True)
        ]
    precision = np.dtype(np.float64 if array.dtype == np.float64 else np.float32)
    return [
        _steps(size, count, mode, align_corners, scale, antialias, precision, backwards)
        for size, count, scale in zip(input_size, output_size, given, strict=True)
    ]


def _shrinking_first(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Dimensions in the order that keeps intermediate arrays small, the last first among equals."""
    return sorted(range(len(before)), key=lambda axis: (after[axis] / max(before[axis], 1), -axis))


def _resample(array: Array, axis: int, steps: tuple[_Step, ...], size: int) -> Array:
    """Apply the steps of one dimension."""
    lead: Index = (slice(None),) * axis
    trail = [1] * (array.ndim - axis - 1)
    result: Array | None = None
    for targets, sources, weights in steps:
        part = np.take(array, sources, axis=axis)
        if weights is not None:
            part *= weights.reshape(-1, *trail)
        if result is None:
            if targets is None:
                result = part
                continue
            result = np.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
        result[(...,) if targets is None else (*lead, targets)] += part
    if result is None:
        result = np.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    return result


@lru_cache(maxsize=128)
def _steps(
    input_size: int,
    output_size: int,
    mode: str,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
    precision: np.dtype[Any],
    backwards: bool,
) -> tuple[_Step, ...]:
    """The table of one dimension, cut into steps in which no result appears twice."""
    if mode.startswith("nearest"):
        sources = _nearest_sources(input_size, output_size, scale, mode, precision)
        targets, weights = np.arange(output_size), None
    else:
        ratio = _source_ratio(input_size, output_size, align_corners, scale, precision)
        if antialias:
            targets, sources, weights = _antialias_table(
                input_size, output_size, ratio, mode, precision
            )
        else:
            table = _linear_table if mode == "linear" else _cubic_table
            indices, taps = table(input_size, output_size, ratio, align_corners, precision)
            targets = np.repeat(np.arange(output_size), indices.shape[1])
            sources, weights = indices.reshape(-1), taps.reshape(-1)
    if backwards:
        order = np.argsort(sources, kind="stable")
        targets, sources = sources[order], targets[order]
        weights = None if weights is None else weights[order]
    return tuple(_split(targets, sources, weights, input_size if backwards else output_size))


def _split(targets: Array, sources: Array, weights: Array | None, size: int) -> Iterator[_Step]:
    """Cut entries sorted by target into steps: the first entry of each target, the second, ..."""
    counts = np.bincount(targets, minlength=size)
    starts = np.cumsum(counts) - counts
    for number in range(int(counts.max(initial=0))):
        reached = np.flatnonzero(counts > number)
        entries = starts[reached] + number
        yield _Step(
            None if len(reached) == size else reached,
            sources[entries],
            None if weights is None else weights[entries],
        )


def _source_ratio(
    input_size: int,
    output_size: int,
    align_corners: bool,
    scale: float | None,
    precision: np.dtype[Any],
) -> Any:
    """Source elements per result, rounded as PyTorch rounds it."""
    real = precision.type
    if align_corners:
        return real(input_size - 1) / real(output_size - 1) if output_size > 1 else real(0)
    if scale is not None and scale > 0:
        return real(1.0 / scale)
    return real(input_size) / real(output_size)


def _centres(output_size: int, ratio: Any, align_corners: bool, precision: np.dtype[Any]) -> Array:
    """Where each result lies among the source elements. PyTorch's compiled code rounds once."""
    places: Array = np.arange(output_size, dtype=np.float64)
    if align_corners:
        places = places * float(ratio)
    else:
        places = (places + 0.5) * float(ratio) - 0.5
    return places.astype(precision)


def _nearest_sources(
    input_size: int, output_size: int, scale: float | None, mode: str, precision: np.dtype[Any]
) -> Array:
    ratio = _source_ratio(input_size, output_size, False, scale, precision)
    if mode == "nearest":
        places: Array = np.arange(output_size).astype(precision) * ratio
    else:
        places = np.maximum(_centres(output_size, ratio, False, precision), 0) + precision.type(0.5)
    # PyTorch rounds down in single precision, whatever it computed in.
    return np.minimum(np.floor(places.astype(np.float32)).astype(np.int64), input_size - 1)


def _linear_table(
    input_size: int, output_size: int, ratio: Any, align_corners: bool, precision: np.dtype[Any]
) -> tuple[Array, Array]:
    """Two neighbours and their weights for each result."""
    if input_size == output_size:
        lower = upper = np.arange(output_size)
        share: Array = np.zeros(output_size, precision)
    else:
        places = np.maximum(_centres(output_size, ratio, align_corners, precision), 0)
        lower = np.minimum(places.astype(np.int64), input_size - 1)
        upper = np.minimum(lower + 1, input_size - 1)
        share = np.clip(places - lower.astype(precision), 0, 1)
    return np.stack([lower, upper], 1), np.stack([1 - share, share], 1)


def _cubic_table(
    input_size: int, output_size: int, ratio: Any, align_corners: bool, precision: np.dtype[Any]
) -> tuple[Array, Array]:
    """Four neighbours, repeated at the border, and their weights for each result."""
    places = _centres(output_size, ratio, align_corners, precision)
    lower = np.minimum(np.floor(places).astype(np.int64), input_size - 1)
    share = np.clip(places - lower.astype(precision), 0, 1)
    indices = np.clip(lower[:, None] + np.arange(-1, 3), 0, input_size - 1)
    return indices, np.stack(cubic_weights(share), 1)


def _antialias_table(
    input_size: int, output_size: int, ratio: Any, mode: str, precision: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """Results, sources and weights of a filter as wide as the reduction it has to smooth."""
    half_width = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}[mode]
    stretch = max(float(ratio), 1.0)
    support = half_width * stretch
    centres = float(ratio) * (np.arange(output_size) + 0.5)
    starts = np.maximum((centres - support + 0.5).astype(np.int64), 0)
    stops = np.minimum((centres + support + 0.5).astype(np.int64), input_size)
    counts = np.clip(stops - starts, 0, ceil(support) * 2 + 1)
    targets = np.repeat(np.arange(output_size), counts)
    inside = np.arange(len(targets)) - np.repeat(np.cumsum(counts) - counts, counts)
    sources = starts[targets] + inside
    distance = np.abs((sources - centres[targets] + 0.5) / stretch)
    if mode == "linear":
        weights = np.maximum(1 - distance, 0)
    elif mode == "lanczos":
        weights = np.where(distance < 3, np.sinc(distance) * np.sinc(distance / 3), 0)
    else:
        near = _cubic_near(distance, -0.5)
        weights = np.where(
            distance < 1, near, np.where(distance < 2, _cubic_far(distance, -0.5), 0)
        )
    totals = np.bincount(targets, weights, output_size)[targets]
    weights = weights / np.where(totals == 0, 1, totals)
    return targets, sources, weights.astype(precision)


def _cubic_near(x: Array, a: float) -> Array:
    """The cubic convolution kernel at distances up to one."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _cubic_far(x: Array, a: float) -> Array:
    """The cubic convolution kernel at distances from one to two."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def cubic_weights(share: Array, a: float = -0.75) -> list[Array]:
    """Weights of the four neighbours of a point `share` beyond the second of them."""
    rest = 1 - share
    return [
        _cubic_far(share + 1, a),
        _cubic_near(share, a),
        _cubic_near(rest, a),
        _cubic_far(rest + 1, a),
    ]
