"""Resampling images: interpolation to another size, and sampling at the points of a grid.

Interpolation works one dimension at a time from a table that says which source elements, with which
weights, make each result. The tables follow PyTorch's rules in PyTorch's arithmetic, single
precision for everything but float64, because rounding decides which neighbour is nearest.
`interpolate` is linear in its input with `interpolate_gradient` as adjoint (the same table read
backwards).

`grid_sample` is linear in `input` with `grid_sample_input_gradient` as adjoint; its derivative
along the grid is `grid_sample_grid_gradient`, linear in `grad` and in `input`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import ceil, prod
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

    `mode` is per dimension, so bilinear and trilinear are `"linear"` and bicubic is `"cubic"`.
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
    if mode not in MODES:
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
    return indices, np.stack(_cubic_weights(share), 1)


def _antialias_table(
    input_size: int, output_size: int, ratio: Any, mode: str, precision: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """Results, sources and weights of a filter as wide as the reduction it has to smooth."""
    half_width = 1.0 if mode == "linear" else 2.0
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


def _cubic_weights(share: Array, a: float = -0.75) -> list[Array]:
    """Weights of the four neighbours of a point `share` beyond the second of them."""
    rest = 1 - share
    return [
        _cubic_far(share + 1, a),
        _cubic_near(share, a),
        _cubic_near(rest, a),
        _cubic_far(rest + 1, a),
    ]


def _cubic_slopes(share: Array, a: float = -0.75) -> list[Array]:
    """Derivatives of `_cubic_weights`."""

    def near(x: Array) -> Array:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Array) -> Array:
        return (3 * a * x - 10 * a) * x + 8 * a

    rest = 1 - share
    return [far(share + 1), near(share), -near(rest), -far(rest + 1)]


class _Neighbours(NamedTuple):
    """The source elements that each grid point reads along one dimension: `(samples, points)`."""

    indices: list[Array]  # -1 where there is none
    weights: list[Array]
    slopes: list[Array]  # of the weights, along the grid coordinate


def grid_sample(
    input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    """Read `input` `(N, C, *spatial)` at the points `grid` `(N, *output, dimensions)`.

    A point is given in units where the image reaches from -1 to 1, last dimension first. Modes are
    `"bilinear"`, `"nearest"` and for two dimensions `"bicubic"`; padding `"zeros"`, `"border"` and
    `"reflection"`. Linear in `input`.

    >>> image = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid_sample(image, np.zeros((1, 1, 1, 2)), "bilinear", "zeros", False)
    array([[[[2.5]]]])
    """
    source = _with_empty_place(widen(input))
    samples, channels, _ = source.shape
    result: Array = np.zeros((samples, channels, prod(grid.shape[1:-1])), source.dtype)
    neighbours = _grid_neighbours(grid, input.shape[2:], mode, padding_mode, align_corners)
    for corner in _corners(neighbours):
        index = _corner_index(neighbours, corner, input.shape[2:])
        weight = _product([item.weights[tap] for item, tap in zip(neighbours, corner, strict=True)])
        for sample in range(samples):
            part = np.take(source[sample], index[sample], axis=1)
            part *= weight[sample]
            result[sample] += part
    return narrow(result, input.dtype).reshape(samples, channels, *grid.shape[1:-1])


def grid_sample_input_gradient(
    grad: Array,
    grid: Array,
    input_shape: Sequence[int],
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> Array:
    """The adjoint of `grid_sample` with respect to its input. Linear in `grad`.

    >>> grid, options = np.full((1, 1, 1, 2), -0.5), ("nearest", "zeros", False)
    >>> grid_sample_input_gradient(np.ones((1, 1, 1, 1)), grid, (1, 1, 2, 2), *options)
    array([[[[1., 0.],
             [0., 0.]]]])
    """
    samples, channels = input_shape[:2]
    spatial = tuple(input_shape[2:])
    places = prod(spatial) + 1
    values = widen(grad).reshape(samples, channels, prod(grad.shape[2:]))
    result: Array = np.zeros((samples, channels * places), values.dtype)
    neighbours = _grid_neighbours(grid, spatial, mode, padding_mode, align_corners)
    blocks = (np.arange(channels) * places)[:, None]
    for corner in _corners(neighbours):
        index = _corner_index(neighbours, corner, spatial)
        weight = _product([item.weights[tap] for item, tap in zip(neighbours, corner, strict=True)])
        for sample in range(samples):
            part = values[sample] * weight[sample].astype(values.dtype, copy=False)
            np.add.at(result[sample], (blocks + index[sample]).reshape(-1), part.reshape(-1))
    inside = result.reshape(samples, channels, places)[:, :, :-1]
    return narrow(inside.reshape(tuple(input_shape)), grad.dtype)


def grid_sample_grid_gradient(
    grad: Array, input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    """The derivative of `(grad * grid_sample(input, grid)).sum()` along `grid`.

    >>> image = np.array([[[[0.0, 1.0], [0.0, 1.0]]]])
    >>> grid = np.zeros((1, 1, 1, 2))
    >>> grid_sample_grid_gradient(np.ones((1, 1, 1, 1)), image, grid, "bilinear", "zeros", False)
    array([[[[1., 0.]]]])
    """
    if mode == "nearest":
        return np.zeros(grid.shape, grid.dtype)
    source = _with_empty_place(widen(input))
    samples, channels, _ = source.shape
    values = widen(grad).reshape(samples, channels, prod(grad.shape[2:]))
    neighbours = _grid_neighbours(grid, input.shape[2:], mode, padding_mode, align_corners)
    dimensions = len(neighbours)
    result: Array = np.zeros((samples, prod(grid.shape[1:-1]), dimensions), source.dtype)
    for corner in _corners(neighbours):
        index = _corner_index(neighbours, corner, input.shape[2:])
        met: Array = np.empty(index.shape, source.dtype)
        for sample in range(samples):
            met[sample] = (np.take(source[sample], index[sample], axis=1) * values[sample]).sum(0)
        for axis in range(dimensions):
            factors = [
                item.slopes[tap] if other == axis else item.weights[tap]
                for other, (item, tap) in enumerate(zip(neighbours, corner, strict=True))
            ]
            result[:, :, dimensions - 1 - axis] += met * _product(factors)
    return narrow(result, grid.dtype).reshape(grid.shape)


def affine_base_grid(
    spatial: Sequence[int], align_corners: bool, dtype: np.dtype[Any] | type[Any]
) -> Array:
    """The points that an affine map of the identity samples, in homogeneous coordinates.

    Shape `(*spatial, len(spatial) + 1)`, last dimension first, then ones: a grid is
    `base @ theta.swapaxes(-1, -2)`.

    >>> affine_base_grid((1, 2), False, np.float64)
    array([[[-0.5,  0. ,  1. ],
            [ 0.5,  0. ,  1. ]]])
    """
    dimensions = len(spatial)
    base: Array = np.ones((*spatial, dimensions + 1), dtype)
    for axis, size in enumerate(spatial):
        along = [1] * dimensions
        along[axis] = size
        base[..., dimensions - 1 - axis] = _base_line(size, align_corners, base.dtype).reshape(
            along
        )
    return base


def _base_line(size: int, align_corners: bool, dtype: np.dtype[Any]) -> Array:
    """From -1 to 1, counted from the nearer end as PyTorch does, so that it is symmetric."""
    if size <= 1:
        return np.zeros(size, dtype)
    wide = np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)
    step = wide.type(2) / wide.type(size - 1)
    places: Array = np.arange(size).astype(wide)
    line: Array = np.where(places < size // 2, step * places - 1, 1 - step * (size - 1 - places))
    if not align_corners:
        line = line * wide.type(size - 1) / wide.type(size)
    return narrow(line, dtype)


def _product(factors: Sequence[Array]) -> Array:
    """The product of a few arrays."""
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _with_empty_place(input: Array) -> Array:
    """`(N, C, places + 1)`: a zero after each image, for points that read nothing.

    Reading a zero keeps an infinity elsewhere from turning a weight of zero into nan.
    """
    samples, channels = input.shape[:2]
    places = prod(input.shape[2:])
    source: Array = np.zeros((samples, channels, places + 1), input.dtype)
    source[:, :, :places] = input.reshape(samples, channels, places)
    return source


def _corners(neighbours: Sequence[_Neighbours]) -> Iterator[tuple[int, ...]]:
    """Every choice of one neighbour per dimension."""
    return product(*(range(len(item.indices)) for item in neighbours))


def _corner_index(
    neighbours: Sequence[_Neighbours], corner: Sequence[int], spatial: Sequence[int]
) -> Array:
    """Flat spatial index of a corner of each point; one past the image where it is outside."""
    total: Array | None = None
    inside: Array | None = None
    for item, tap, size in zip(neighbours, corner, spatial, strict=True):
        index = item.indices[tap]
        total = index if total is None else total * size + index
        inside = index >= 0 if inside is None else inside & (index >= 0)
    return np.where(inside, total, prod(spatial))  # type: ignore[arg-type]


def _grid_neighbours(
    grid: Array, spatial: Sequence[int], mode: str, padding_mode: str, align_corners: bool
) -> list[_Neighbours]:
    """The neighbours of all points along each dimension."""
    points = widen(grid).reshape(grid.shape[0], prod(grid.shape[1:-1]), len(spatial))
    result = []
    for axis, size in enumerate(spatial):
        coordinate = points[:, :, len(spatial) - 1 - axis]
        result.append(
            _axis_neighbours(coordinate, size, mode, padding_mode, align_corners, len(spatial))
        )
    return result


def _axis_neighbours(
    coordinate: Array,
    size: int,
    mode: str,
    padding_mode: str,
    align_corners: bool,
    dimensions: int,
) -> _Neighbours:
    half = (size - 1) / 2 if align_corners else size / 2
    place = (coordinate + 1) * half
    if not align_corners:
        place = place - 0.5
    if mode == "bicubic":
        lower = np.floor(place)
        share = place - lower
        moved = (
            _move_inside(lower + tap, size, padding_mode, align_corners, 2)[0]
            for tap in (-1, 0, 1, 2)
        )
        indices = [_valid_index(tap, size) for tap in moved]
        return _Neighbours(
            indices, _cubic_weights(share), [slope * half for slope in _cubic_slopes(share)]
        )
    place, sign = _move_inside(place, size, padding_mode, align_corners, dimensions)
    if mode == "nearest":
        ones = np.ones_like(place)
        return _Neighbours([_valid_index(np.rint(place), size)], [ones], [np.zeros_like(place)])
    if mode != "bilinear":
        raise ValueError(f"grid sampling mode {mode!r} is not supported")
    lower = np.floor(place)
    share = place - lower
    if dimensions == 3:
        share = np.where(np.isfinite(share), share, 0)
    slope = sign * half
    return _Neighbours(
        [_valid_index(lower, size), _valid_index(lower + 1, size)],
        [1 - share, share],
        [-slope, slope],
    )


def _valid_index(place: Array, size: int) -> Array:
    """Whole-numbered places as int64, with -1 for those outside (a nan is outside)."""
    return np.where((place >= 0) & (place < size), place, -1).astype(np.int64)


def _move_inside(
    place: Array, size: int, padding_mode: str, align_corners: bool, dimensions: int
) -> tuple[Array, Array]:
    """Apply the padding mode to places; also the derivative of what it did: 1, -1 or 0."""
    sign = np.ones_like(place)
    if padding_mode == "zeros":
        return place, sign
    if padding_mode == "reflection":
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return np.zeros_like(place), np.zeros_like(place)
        distance = np.abs(place - low)
        flips = np.floor(distance / span)
        extra = distance - flips * span
        odd = flips % 2 == 1
        sign = np.where((place < low) != odd, -sign, sign)
        place = np.where(odd, span - extra, extra) + place.dtype.type(low)
    elif padding_mode != "border":
        raise ValueError(f"grid sampling padding mode {padding_mode!r} is not supported")
    # What becomes of a nan differs in PyTorch between images and volumes.
    place = np.where(np.isnan(place), 0 if dimensions == 2 else size - 1, place)
    sign = np.where((place <= 0) | (place >= size - 1), 0, sign)
    return np.clip(place, 0, size - 1), sign
