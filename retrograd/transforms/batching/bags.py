"""`embedding_bag` inside of vmap: made of ops that have batching rules.

Which rows a bag has may differ from example to example, so no dimension can be left out or cut to
size. Every index is looked up; those of padding are then made to count for nothing.
"""

from __future__ import annotations

import numpy as np

from retrograd import dtypes
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, wrap


def bags_of_starts(starts: Tensor, length: int) -> Tensor:
    """The number of the bag that each of `length` indices is in; bags begin at `starts`."""
    found = RECORDED._searchsorted(starts, wrap(np.arange(length)), True, dtypes.I64)
    return RECORDED.sub(found, 1)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    samples: Tensor | None,
    starts: Tensor,
    mode: str,
    scale_grad_by_freq: bool,
    padding: int,
) -> Tensor:
    """One row per bag; `indices`, `samples`, `starts` have one dimension, `padding` may be -1."""
    bags, count = bags_of_starts(starts, indices._array.size), starts._array.shape[0]
    rows: Tensor = RECORDED.embedding(weight, indices, -1, scale_grad_by_freq)
    given = rows._array.dtype
    if given in dtypes.HALF_TYPES:
        rows = RECORDED._to_dtype(rows, dtypes.F32, None)
    members = RECORDED.ne(indices, padding)
    if mode == "max" and indices._array.size:
        result = _largest(rows, members, bags, count)
    else:
        result = _total(rows, members, samples, bags, count)
        if mode == "mean":
            sizes = _total(RECORDED.ones_like(rows), members, None, bags, count)
            result = RECORDED.div(result, RECORDED.clamp(sizes, 1, None))
    if result._array.dtype is not given:
        result = RECORDED._to_dtype(result, given, None)
    return result


def _total(
    rows: Tensor, members: Tensor, samples: Tensor | None, bags: Tensor, count: int
) -> Tensor:
    if samples is not None:
        rows = RECORDED.mul(rows, RECORDED.unsqueeze(samples, 1))
    rows = RECORDED.masked_fill(rows, RECORDED.unsqueeze(RECORDED.logical_not(members), 1), 0)
    shape = rows._array.shape
    places = RECORDED.expand(RECORDED.unsqueeze(bags, 1), shape)
    nothing = wrap(np.zeros((count, shape[1]), rows._array.dtype))
    return RECORDED.scatter_add(nothing, 0, places, rows)


def _largest(rows: Tensor, members: Tensor, bags: Tensor, count: int) -> Tensor:
    """Maxima by column; the first of equal ones gets the gradient, an empty bag is zero."""
    numbers = wrap(np.arange(count).reshape(count, 1))
    inside = RECORDED.logical_and(RECORDED.eq(bags, numbers), members)  # (bags, indices)
    others = RECORDED.unsqueeze(RECORDED.logical_not(inside), 2)
    kind = rows._array.dtype
    lowest = -np.inf if kind.kind == "f" else int(np.iinfo(kind).min)
    found = RECORDED.max(RECORDED.masked_fill(RECORDED.unsqueeze(rows, 0), others, lowest), 1)[0]
    empty = RECORDED.logical_not(RECORDED.any(inside, 1))
    return RECORDED.masked_fill(found, RECORDED.unsqueeze(empty, 1), 0)
