"""Draws of indices with given weights: ``multinomial``."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backend import kernels, xp_of
from retrograd.notices import runtime_error
from retrograd.random.arguments import FLOATS, spelled
from retrograd.random.arithmetic import HALVES
from retrograd.random.continuous import exponential
from retrograd.random.generator import Array, Generator
from retrograd.random.layout import fill_, new_like
from retrograd.random.selection import largest_first

__all__ = ["multinomial"]


def multinomial(
    generator: Generator, weights: Array, count: int, replacement: bool = False
) -> Array:
    """``count`` indices for every row of ``weights`` (one or two axes), in proportion to these.

    >>> multinomial(Generator().manual_seed(0), np.array([0.0, 1.0, 3.0]), 2)
    array([2, 1])
    """
    _check(weights, count, replacement)
    if weights.size == 0 and weights.ndim == 2 and weights.shape[1]:
        return np.empty((0, count), np.int64)
    if generator.samplers is not None:
        return _on_device(generator, weights, count, replacement)
    if replacement and count > 1:
        made = kernels.draw_again(generator, weights, count)
    elif count == 1:
        made = kernels.draw_indices(generator, weights)
    else:
        made = _few_at_once(generator, weights, count)
    if made is not None:
        return made
    rows = weights if weights.ndim == 2 else weights[None]
    if replacement and count > 1:
        indices = _with_replacement(generator, rows, count)
    else:
        indices = _without_replacement(generator, rows, count)
    return indices if weights.ndim == 2 else indices[0]


def _on_device(generator: Generator, weights: Array, count: int, replacement: bool) -> Array:
    """The same race, by the functions of the device; only the check waits for it."""
    rows = weights if weights.ndim == 2 else weights[None]
    if replacement and count > 1:
        found: Array = generator.samplers.places(rows, count)
    else:
        xp = xp_of(rows)
        fair: Array = (rows < np.inf) & (rows >= 0)
        if not bool(fair.all()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not bool(rows.any(axis=1).all()):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        numbers = fill_(new_like(rows), exponential(generator, rows.size, 1.0, rows.dtype))
        scores = rows / numbers
        if count == 1:
            found = scores.argmax(axis=1)[:, None]
        else:
            found = xp.raw.topk(scores, count)[1]
    return found if weights.ndim == 2 else found[0]


def _check(weights: Array, count: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype not in FLOATS:
        raise runtime_error(
            "multinomial only supports floating-point dtypes for input, got: "
            + spelled(weights.dtype),
            code="RG304",
        )
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _few_at_once(generator: Generator, weights: Array, count: int) -> Array | None:
    """The exponential race of weights that are compiled kernels' to draw from."""
    scores = kernels.draw_scores(generator, weights)
    return None if scores is None else _largest_of_each(scores, count)


def _largest_of_each(scores: Array, count: int) -> Array:
    made = kernels.largest_places(scores, count)
    if made is not None:
        return made
    if scores.ndim == 1:
        return largest_first(scores, count)
    return np.stack([largest_first(row, count) for row in scores])


def _without_replacement(generator: Generator, rows: Array, count: int) -> Array:
    """The largest of weight / exponential number: the exponential race."""
    if not rows.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension "
            "as the operation has no identity."
        )
    if not (rows.max() < np.inf and rows.min() >= 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not rows.any(axis=1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    numbers = fill_(new_like(rows), exponential(generator, rows.size, 1.0, rows.dtype))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores = rows / numbers
    if count == 1:
        return np.asarray(scores.argmax(axis=1)[:, None])
    return _largest_of_each(scores, count)


def _with_replacement(generator: Generator, rows: Array, count: int) -> Array:
    """The first entry of the cumulative weights that reaches a uniform number, row by row."""
    indices = np.empty((len(rows), count), np.int64)
    real: Any = np.float32 if rows.dtype in HALVES else rows.dtype
    with generator.lock, np.errstate(over="ignore", invalid="ignore"):
        for row, result in zip(rows, indices, strict=True):
            cumulative = np.cumsum(row, dtype=real)
            _check_row(row, cumulative)
            cumulative /= cumulative[-1]
            cumulative[-1] = 1
            result[...] = np.searchsorted(cumulative.astype(np.float64), generator.float64s(count))
    return indices


def _check_row(row: Array, cumulative: Array) -> None:
    wrong = ~(row >= 0) | ~np.isfinite(row)
    if wrong.any():
        what = "= infinity or NaN" if row[wrong.argmax()] >= 0 else "< 0"
        raise RuntimeError(
            f"invalid multinomial distribution (encountering probability entry {what})"
        )
    if not row.size or not cumulative[-1] > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
