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
from typing import NamedTuple

import numpy as np

from retrograd.backend.namespace import Namespace

from .folding import Array, Index, narrow, widen
from .pooling import adaptive_avg_pool, adaptive_avg_pool_gradient, largest

MODES = ("nearest", "nearest-exact", "linear", "cubic", "area")


class _Step(NamedTuple):
    """One summand of many results at once: `result[targets] += weights * source[sources]`."""

    targets: Array | None  # None: every result in order
    sources: Array
    weights: Array | None  # None: ones


def interpolate(
    xp: Namespace,
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

    >>> interpolate(np, np.array([[0.0, 1.0]]), (4,), "linear")
    array([[0.  , 0.25, 0.75, 1.  ]])
    """
    if mode == "area":
        return adaptive_avg_pool(xp, input, output_size)
    lead = input.ndim - len(output_size)
    sizes = input.shape[lead:]
    result = _computable(input, mode)
    steps = _all_steps(
        xp, sizes, output_size, mode, align_corners, scales, antialias, result, False
    )
    for axis in _shrinking_first(sizes, output_size):
        result = _resample(xp, result, lead + axis, steps[axis], output_size[axis])
    return narrow(xp.ascontiguousarray(result), input.dtype)


def interpolate_gradient(
    xp: Namespace,
    grad: Array,
    input_size: Sequence[int],
    mode: str,
    align_corners: bool = False,
    scales: Sequence[float | None] | None = None,
    antialias: bool = False,
) -> Array:
    """The adjoint of `interpolate` on inputs of the given spatial size. Linear in `grad`.

    >>> interpolate_gradient(np, np.array([[1.0, 1.0, 1.0, 1.0]]), (2,), "linear")
    array([[2., 2.]])
    """
    if mode == "area":
        return adaptive_avg_pool_gradient(xp, grad, input_size)
    lead = grad.ndim - len(input_size)
    sizes = grad.shape[lead:]
    result = _computable(grad, mode)
    steps = _all_steps(xp, input_size, sizes, mode, align_corners, scales, antialias, result, True)
    for axis in _shrinking_first(sizes, input_size):
        result = _resample(xp, result, lead + axis, steps[axis], input_size[axis])
    return narrow(xp.ascontiguousarray(result), grad.dtype)


def _computable(array: Array, mode: str) -> Array:
    if array.dtype.kind in "iub" and not mode.startswith("nearest"):
        raise TypeError(f"interpolation with weights ({mode}) of {array.dtype} is not supported")
    return widen(array)


def _all_steps(
    xp: Namespace,
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
    precision = xp.dtype(xp.float64 if array.dtype == xp.float64 else xp.float32)
    return [
        _steps(xp, size, count, mode, align_corners, scale, antialias, precision, backwards)
        for size, count, scale in zip(input_size, output_size, given, strict=True)
    ]


def _shrinking_first(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Dimensions in the order that keeps intermediate arrays small, the last first among equals."""
    return sorted(range(len(before)), key=lambda axis: (after[axis] / max(before[axis], 1), -axis))


def _resample(xp: Namespace, array: Array, axis: int, steps: tuple[_Step, ...], size: int) -> Array:
    """Apply the steps of one dimension."""
    lead: Index = (slice(None),) * axis
    trail = [1] * (array.ndim - axis - 1)
    result: Array | None = None
    for targets, sources, weights in steps:
        part = xp.take(array, sources, axis=axis)
        if weights is not None:
            part *= weights.reshape(-1, *trail)
        if result is None:
            if targets is None:
                result = part
                continue
            result = xp.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
        result[(...,) if targets is None else (*lead, targets)] += part
    if result is None:
        result = xp.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    return result


@lru_cache(maxsize=128)
def _steps(
    xp: Namespace,
    input_size: int,
    output_size: int,
    mode: str,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
    precision: np.dtype,
    backwards: bool,
) -> tuple[_Step, ...]:
    """The table of one dimension, cut into steps in which no result appears twice."""
    if mode.startswith("nearest"):
        sources = _nearest_sources(xp, input_size, output_size, scale, mode, precision)
        targets, weights = xp.arange(output_size), None
    else:
        ratio = _source_ratio(input_size, output_size, align_corners, scale, precision)
        if antialias:
            targets, sources, weights = _antialias_table(
                xp, input_size, output_size, ratio, mode, precision
            )
        else:
            table = _linear_table if mode == "linear" else _cubic_table
            indices, taps = table(xp, input_size, output_size, ratio, align_corners, precision)
            targets = xp.repeat(xp.arange(output_size), indices.shape[1])
            sources, weights = indices.reshape(-1), taps.reshape(-1)
    if backwards:
        order = xp.argsort(sources, kind="stable")
        targets, sources = sources[order], targets[order]
        weights = None if weights is None else weights[order]
    return tuple(_split(xp, targets, sources, weights, input_size if backwards else output_size))


def _split(
    xp: Namespace, targets: Array, sources: Array, weights: Array | None, size: int
) -> Iterator[_Step]:
    """Cut entries sorted by target into steps: the first entry of each target, the second, ..."""
    counts = xp.bincount(targets, minlength=size)
    starts = xp.cumsum(counts) - counts
    for number in range(largest(counts)):
        reached = xp.flatnonzero(counts > number)
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
    precision: np.dtype,
) -> float:
    """Source elements per result, rounded as PyTorch rounds it."""
    real = precision.type
    if align_corners:
        return float(real(input_size - 1) / real(output_size - 1)) if output_size > 1 else 0.0
    if scale is not None and scale > 0:
        return float(real(1.0 / scale))
    return float(real(input_size) / real(output_size))


def _centres(
    xp: Namespace, output_size: int, ratio: float, align_corners: bool, precision: np.dtype
) -> Array:
    """Where each result lies among the source elements. PyTorch's compiled code rounds once."""
    places: Array = xp.arange(output_size, dtype=xp.float64)
    if align_corners:
        places = places * ratio
    else:
        places = (places + 0.5) * ratio - 0.5
    return places.astype(precision)


def _nearest_sources(
    xp: Namespace,
    input_size: int,
    output_size: int,
    scale: float | None,
    mode: str,
    precision: np.dtype,
) -> Array:
    ratio = _source_ratio(input_size, output_size, False, scale, precision)
    if mode == "nearest":
        places: Array = xp.arange(output_size).astype(precision) * ratio
    else:
        places = xp.maximum(_centres(xp, output_size, ratio, False, precision), 0) + 0.5
    # PyTorch rounds down in single precision, whatever it computed in.
    return xp.minimum(xp.floor(places.astype(xp.float32)).astype(xp.int64), input_size - 1)


def _linear_table(
    xp: Namespace,
    input_size: int,
    output_size: int,
    ratio: float,
    align_corners: bool,
    precision: np.dtype,
) -> tuple[Array, Array]:
    """Two neighbours and their weights for each result."""
    if input_size == output_size:
        lower = upper = xp.arange(output_size)
        share: Array = xp.zeros(output_size, precision)
    else:
        places = xp.maximum(_centres(xp, output_size, ratio, align_corners, precision), 0)
        lower = xp.minimum(places.astype(xp.int64), input_size - 1)
        upper = xp.minimum(lower + 1, input_size - 1)
        share = xp.clip(places - lower.astype(precision), 0, 1)
    return xp.stack([lower, upper], 1), xp.stack([1 - share, share], 1)


def _cubic_table(
    xp: Namespace,
    input_size: int,
    output_size: int,
    ratio: float,
    align_corners: bool,
    precision: np.dtype,
) -> tuple[Array, Array]:
    """Four neighbours, repeated at the border, and their weights for each result."""
    places = _centres(xp, output_size, ratio, align_corners, precision)
    lower = xp.minimum(xp.floor(places).astype(xp.int64), input_size - 1)
    share = xp.clip(places - lower.astype(precision), 0, 1)
    indices = xp.clip(lower[:, None] + xp.arange(-1, 3), 0, input_size - 1)
    return indices, xp.stack(cubic_weights(share), 1)


def _antialias_table(
    xp: Namespace,
    input_size: int,
    output_size: int,
    ratio: float,
    mode: str,
    precision: np.dtype,
) -> tuple[Array, Array, Array]:
    """Results, sources and weights of a filter as wide as the reduction it has to smooth."""
    half_width = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}[mode]
    stretch = max(ratio, 1.0)
    support = half_width * stretch
    centres = ratio * (xp.arange(output_size) + 0.5)
    starts = xp.maximum((centres - support + 0.5).astype(xp.int64), 0)
    stops = xp.minimum((centres + support + 0.5).astype(xp.int64), input_size)
    counts = xp.clip(stops - starts, 0, ceil(support) * 2 + 1)
    targets = xp.repeat(xp.arange(output_size), counts)
    inside = xp.arange(len(targets)) - xp.repeat(xp.cumsum(counts) - counts, counts)
    sources = starts[targets] + inside
    distance = xp.abs((sources - centres[targets] + 0.5) / stretch)
    if mode == "linear":
        weights = xp.maximum(1 - distance, 0)
    elif mode == "lanczos":
        weights = xp.where(distance < 3, xp.sinc(distance) * xp.sinc(distance / 3), 0)
    else:
        near = _cubic_near(distance, -0.5)
        weights = xp.where(
            distance < 1, near, xp.where(distance < 2, _cubic_far(distance, -0.5), 0)
        )
    totals = xp.bincount(targets, weights, output_size)[targets]
    weights = weights / xp.where(totals == 0, 1, totals)
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
