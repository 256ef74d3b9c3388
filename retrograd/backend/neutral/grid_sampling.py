"""Sampling images at the points of a grid, and its derivatives of every order.

`grid_sample` is linear in `input` with `grid_sample_input_gradient` as adjoint. Both take the
order of a derivative along each coordinate of the grid, so that the derivative of one is made of
others of the same kind. `grid_sample_grid_gradient` is the first derivative along all coordinates
at once, linear in `grad` and in `input`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from retrograd.backend.namespace import Namespace

from .folding import Array, narrow, widen
from .resampling import cubic_weights


class _Neighbours(NamedTuple):
    """The source elements that each grid point reads along one dimension: `(samples, points)`."""

    indices: list[Array]  # -1 where there is none
    # order n gives the n-th derivatives of the weights along the grid coordinate
    weights: Callable[[int], list[Array]]


def grid_sample(
    xp: Namespace,
    input: Array,
    grid: Array,
    mode: str,
    padding_mode: str,
    align_corners: bool,
    orders: Sequence[int] | None = None,
) -> Array:
    """Read `input` `(N, C, *spatial)` at the points `grid` `(N, *output, dimensions)`.

    A point is given in units where the image reaches from -1 to 1, last dimension first. Modes are
    `"bilinear"`, `"nearest"` and for two dimensions `"bicubic"`; padding `"zeros"`, `"border"` and
    `"reflection"`. Linear in `input`. With `orders`, one for each coordinate of the grid, the
    result is the derivative of those orders instead.

    >>> image = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid_sample(np, image, np.zeros((1, 1, 1, 2)), "bilinear", "zeros", False)
    array([[[[2.5]]]])
    """
    source = _with_empty_place(xp, widen(input))
    samples, channels, _ = source.shape
    result: Array = xp.zeros((samples, channels, prod(grid.shape[1:-1])), source.dtype)
    neighbours = _grid_neighbours(xp, grid, input.shape[2:], mode, padding_mode, align_corners)
    weights = _weights(neighbours, orders)
    for corner in _corners(neighbours):
        index = _corner_index(xp, neighbours, corner, input.shape[2:])
        weight = _product([taps[tap] for taps, tap in zip(weights, corner, strict=True)])
        for sample in range(samples):
            part = xp.take(source[sample], index[sample], axis=1)
            part *= weight[sample]
            result[sample] += part
    return narrow(result, input.dtype).reshape(samples, channels, *grid.shape[1:-1])


def grid_sample_input_gradient(
    xp: Namespace,
    grad: Array,
    grid: Array,
    input_shape: Sequence[int],
    mode: str,
    padding_mode: str,
    align_corners: bool,
    orders: Sequence[int] | None = None,
) -> Array:
    """The adjoint of `grid_sample` with respect to its input. Linear in `grad`.

    >>> grid, options = np.full((1, 1, 1, 2), -0.5), ("nearest", "zeros", False)
    >>> from retrograd.backend import CPU
    >>> grid_sample_input_gradient(CPU.xp, np.ones((1, 1, 1, 1)), grid, (1, 1, 2, 2), *options)
    array([[[[1., 0.],
             [0., 0.]]]])
    """
    samples, channels = input_shape[:2]
    spatial = tuple(input_shape[2:])
    places = prod(spatial) + 1
    values = widen(grad).reshape(samples, channels, prod(grad.shape[2:]))
    result: Array = xp.zeros((samples, channels * places), values.dtype)
    neighbours = _grid_neighbours(xp, grid, spatial, mode, padding_mode, align_corners)
    weights = _weights(neighbours, orders)
    blocks = (xp.arange(channels) * places)[:, None]
    for corner in _corners(neighbours):
        index = _corner_index(xp, neighbours, corner, spatial)
        weight = _product([taps[tap] for taps, tap in zip(weights, corner, strict=True)])
        for sample in range(samples):
            part = values[sample] * weight[sample].astype(values.dtype, copy=False)
            xp.add_at(result[sample], (blocks + index[sample]).reshape(-1), part.reshape(-1))
    inside = result.reshape(samples, channels, places)[:, :, :-1]
    return narrow(inside.reshape(tuple(input_shape)), grad.dtype)


def grid_sample_grid_gradient(
    xp: Namespace,
    grad: Array,
    input: Array,
    grid: Array,
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> Array:
    """The derivative of `(grad * grid_sample(input, grid)).sum()` along `grid`.

    >>> image = np.array([[[[0.0, 1.0], [0.0, 1.0]]]])
    >>> grid = np.zeros((1, 1, 1, 2))
    >>> options = ("bilinear", "zeros", False)
    >>> grid_sample_grid_gradient(np, np.ones((1, 1, 1, 1)), image, grid, *options)
    array([[[[1., 0.]]]])
    """
    if mode == "nearest":
        return xp.zeros(grid.shape, grid.dtype)
    source = _with_empty_place(xp, widen(input))
    samples, channels, _ = source.shape
    values = widen(grad).reshape(samples, channels, prod(grad.shape[2:]))
    neighbours = _grid_neighbours(xp, grid, input.shape[2:], mode, padding_mode, align_corners)
    dimensions = len(neighbours)
    weights = _weights(neighbours, None)
    slopes = [item.weights(1) for item in neighbours]
    result: Array = xp.zeros((samples, prod(grid.shape[1:-1]), dimensions), source.dtype)
    for corner in _corners(neighbours):
        index = _corner_index(xp, neighbours, corner, input.shape[2:])
        met: Array = xp.empty(index.shape, source.dtype)
        for sample in range(samples):
            met[sample] = (xp.take(source[sample], index[sample], axis=1) * values[sample]).sum(0)
        for axis in range(dimensions):
            factors = [
                slopes[other][tap] if other == axis else weights[other][tap]
                for other, tap in enumerate(corner)
            ]
            result[:, :, dimensions - 1 - axis] += met * _product(factors)
    return narrow(result, grid.dtype).reshape(grid.shape)


def affine_base_grid(
    xp: Namespace, spatial: Sequence[int], align_corners: bool, dtype: np.dtype | type
) -> Array:
    """The points that an affine map of the identity samples, in homogeneous coordinates.

    Shape `(*spatial, len(spatial) + 1)`, last dimension first, then ones: a grid is
    `base @ theta.swapaxes(-1, -2)`.

    >>> affine_base_grid(np, (1, 2), False, np.float64)
    array([[[-0.5,  0. ,  1. ],
            [ 0.5,  0. ,  1. ]]])
    """
    dimensions = len(spatial)
    base: Array = xp.ones((*spatial, dimensions + 1), dtype)
    for axis, size in enumerate(spatial):
        along = [1] * dimensions
        along[axis] = size
        base[..., dimensions - 1 - axis] = _base_line(xp, size, align_corners, base.dtype).reshape(
            along
        )
    return base


def _base_line(xp: Namespace, size: int, align_corners: bool, dtype: np.dtype) -> Array:
    """From -1 to 1, counted from the nearer end as PyTorch does, so that it is symmetric."""
    if size <= 1:
        return xp.zeros(size, dtype)
    wide = xp.float64 if dtype == xp.float64 else xp.float32
    step = float(wide(2) / wide(size - 1))
    places: Array = xp.arange(size).astype(wide)
    line: Array = xp.where(places < size // 2, step * places - 1, 1 - step * (size - 1 - places))
    if not align_corners:
        line = line * (size - 1) / size
    return narrow(line, dtype)


def _product(factors: Sequence[Array]) -> Array:
    """The product of a few arrays."""
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _with_empty_place(xp: Namespace, input: Array) -> Array:
    """`(N, C, places + 1)`: a zero after each image, for points that read nothing.

    Reading a zero keeps an infinity elsewhere from turning a weight of zero into nan.
    """
    samples, channels = input.shape[:2]
    places = prod(input.shape[2:])
    source: Array = xp.zeros((samples, channels, places + 1), input.dtype)
    source[:, :, :places] = input.reshape(samples, channels, places)
    return source


def _weights(neighbours: Sequence[_Neighbours], orders: Sequence[int] | None) -> list[list[Array]]:
    """The weights along each dimension; `orders` come in the order of the grid's coordinates."""
    if orders is None:
        return [item.weights(0) for item in neighbours]
    return [item.weights(n) for item, n in zip(neighbours, reversed(orders), strict=True)]


def _corners(neighbours: Sequence[_Neighbours]) -> Iterator[tuple[int, ...]]:
    """Every choice of one neighbour per dimension."""
    return product(*(range(len(item.indices)) for item in neighbours))


def _corner_index(
    xp: Namespace, neighbours: Sequence[_Neighbours], corner: Sequence[int], spatial: Sequence[int]
) -> Array:
    """Flat spatial index of a corner of each point; one past the image where it is outside."""
    total, inside = neighbours[0].indices[corner[0]], neighbours[0].indices[corner[0]] >= 0
    for item, tap, size in zip(neighbours[1:], corner[1:], spatial[1:], strict=True):
        index = item.indices[tap]
        total = total * size + index
        inside = inside & (index >= 0)
    return xp.where(inside, total, prod(spatial))


def _grid_neighbours(
    xp: Namespace,
    grid: Array,
    spatial: Sequence[int],
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> list[_Neighbours]:
    """The neighbours of all points along each dimension."""
    points = widen(grid).reshape(grid.shape[0], prod(grid.shape[1:-1]), len(spatial))
    result = []
    for axis, size in enumerate(spatial):
        coordinate = points[:, :, len(spatial) - 1 - axis]
        result.append(
            _axis_neighbours(xp, coordinate, size, mode, padding_mode, align_corners, len(spatial))
        )
    return result


def _axis_neighbours(
    xp: Namespace,
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
        lower = xp.floor(place)
        share = place - lower
        moved = (
            _move_inside(xp, lower + tap, size, padding_mode, align_corners, 2)[0]
            for tap in (-1, 0, 1, 2)
        )
        indices = [_valid_index(xp, tap, size) for tap in moved]
        return _Neighbours(indices, lambda order: _cubic_derivatives(xp, share, half, order))
    place, sign = _move_inside(xp, place, size, padding_mode, align_corners, dimensions)
    if mode == "nearest":
        nearest = [_valid_index(xp, xp.rint(place), size)]
        return _Neighbours(nearest, lambda order: [xp.full_like(place, order == 0)])
    if mode != "bilinear":
        raise ValueError(f"grid sampling mode {mode!r} is not supported")
    lower = xp.floor(place)
    share = place - lower
    if dimensions == 3:
        share = xp.where(xp.isfinite(share), share, 0)

    def weights(order: int) -> list[Array]:
        if order == 0:
            return [1 - share, share]
        slope = sign * half if order == 1 else xp.zeros_like(share)
        return [-slope, slope]

    return _Neighbours([_valid_index(xp, lower, size), _valid_index(xp, lower + 1, size)], weights)


def _cubic_derivatives(
    xp: Namespace, share: Array, scale: float, order: int, a: float = -0.75
) -> list[Array]:
    """Derivatives of the cubic weights along a coordinate whose unit is `scale` elements."""
    if order == 0:
        return cubic_weights(share)
    near = _derivative([a + 2, -(a + 3), 0, 1], order)
    far = _derivative([a, -5 * a, 8 * a, -4 * a], order)
    rest = 1 - share
    mirrored = -1 if order % 2 else 1  # the last two neighbours are measured backwards
    parts = [(far, share + 1, 1), (near, share, 1), (near, rest, mirrored)]
    parts.append((far, rest + 1, mirrored))
    return [_polynomial(xp, terms, x) * (sign * scale**order) for terms, x, sign in parts]


def _derivative(terms: list[float], order: int) -> list[float]:
    """The derivative of a polynomial; terms are given from the highest power on."""
    for _ in range(order):
        terms = [
            term * power
            for power, term in zip(range(len(terms) - 1, 0, -1), terms[:-1], strict=True)
        ]
    return terms


def _polynomial(xp: Namespace, terms: Sequence[float], x: Array) -> Array:
    result = xp.zeros_like(x)
    for term in terms:
        result = result * x + term
    return result


def _valid_index(xp: Namespace, place: Array, size: int) -> Array:
    """Whole-numbered places as int64, with -1 for those outside (a nan is outside)."""
    return xp.where((place >= 0) & (place < size), place, -1).astype(xp.int64)


def _move_inside(
    xp: Namespace, place: Array, size: int, padding_mode: str, align_corners: bool, dimensions: int
) -> tuple[Array, Array]:
    """Apply the padding mode to places; also the derivative of what it did: 1, -1 or 0."""
    sign = xp.ones_like(place)
    if padding_mode == "zeros":
        return place, sign
    if padding_mode == "reflection":
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return xp.zeros_like(place), xp.zeros_like(place)
        distance = xp.abs(place - low)
        flips = xp.floor(distance / span)
        extra = distance - flips * span
        odd = flips % 2 == 1
        sign = xp.where((place < low) != odd, -sign, sign)
        place = xp.where(odd, span - extra, extra) + low
    elif padding_mode != "border":
        raise ValueError(f"grid sampling padding mode {padding_mode!r} is not supported")
    # What becomes of a nan differs in PyTorch between images and volumes.
    place = xp.where(xp.isnan(place), 0 if dimensions == 2 else size - 1, place)
    sign = xp.where((place <= 0) | (place >= size - 1), 0, sign)
    return xp.clip(place, 0, size - 1), sign
