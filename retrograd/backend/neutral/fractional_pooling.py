"""Maximum pooling whose windows lie at random places, so that sizes may shrink by any ratio."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from retrograd.backend.namespace import Namespace

from .folding import Array


def window_starts(
    xp: Namespace, samples: Array, input_size: int, output_size: int, window: int
) -> Array:
    """Where the windows of one dimension begin, for each sample in [0, 1).

    All windows advance by nearly the same step; the sample decides where rounding jumps. As in
    PyTorch every intermediate result is rounded to the dtype of the samples.

    >>> import numpy as np
    >>> window_starts(np, np.array([0.0, 0.5]), 7, 4, 2)
    array([[0, 1, 3, 5],
           [0, 2, 4, 5]])
    """
    starts = xp.zeros((*samples.shape, output_size), xp.int64)
    if output_size > 1:
        kind = samples.dtype.type
        # an array, since beside a number some types would be computed in another one
        width = float(kind(input_size - window) / kind(output_size - 1))
        step = xp.asarray(width, dtype=samples.dtype)
        numbers = xp.arange(output_size).astype(samples.dtype)
        first = (samples * step).astype(xp.int64)[..., None]
        starts[...] = ((numbers + samples[..., None]) * step).astype(xp.int64) - first
    if output_size > 0:
        starts[..., -1] = input_size - window
    return starts


def fractional_max_pool(
    xp: Namespace, input: Array, window: Sequence[int], output: Sequence[int], samples: Array
) -> tuple[Array, Array]:
    """The largest value of each window, and its flat place in the spatial dimensions.

    `input` has the dimensions batch, channel and space; `samples` one number per batch, channel
    and spatial dimension, in the order of those dimensions.
    """
    spatial = input.shape[2:]
    rank = len(spatial)
    lead = input.shape[:2]
    places: Any = xp.zeros((*lead, *(1,) * (2 * rank)), xp.int64)
    stride = 1
    for axis in reversed(range(rank)):
        starts = window_starts(xp, samples[..., axis], spatial[axis], output[axis], window[axis])
        reach = starts[..., None] + xp.arange(window[axis])
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = output[axis], window[axis]
        places = places + reach.reshape(*lead, *shape) * stride
        stride *= spatial[axis]
    count, size = prod(output), prod(window)
    places = places.reshape(*lead, *output, size)
    flat = input.reshape(*lead, stride)
    values = xp.take_along_axis(flat, places.reshape(*lead, count * size), 2).reshape(places.shape)
    best = _last_nan_or_first_largest(xp, values)[..., None]
    return (
        xp.take_along_axis(values, best, -1)[..., 0],
        xp.take_along_axis(places, best, -1)[..., 0],
    )


def _last_nan_or_first_largest(xp: Namespace, values: Array) -> Array:
    best: Array = values.argmax(-1)
    missing = xp.isnan(values)
    if missing.any():
        last = values.shape[-1] - 1 - missing[..., ::-1].argmax(-1)
        best = xp.where(xp.any(missing, -1), last, best)
    return best
