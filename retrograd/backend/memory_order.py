"""How results lie in memory: as those of PyTorch's iterator over operands do.

NumPy lays a result out row by row where operands lie differently. PyTorch lets the first operand
that has an opinion decide, dimension by dimension. A dimension along which an operand does not move
(it is broadcast, or expanded) is none of its business.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrograd.backend.arrays import Array, DType
from retrograd.backend.device import xp_of

Steps = Sequence[int]


def axes_by_memory(shape: Steps, operands: Sequence[Steps]) -> list[int]:
    """The dimensions from the slowest to the fastest; `operands` are strides that fit `shape`."""
    order = list(reversed(range(len(shape))))  # the fastest first
    for start in range(1, len(order)):
        moved = start
        for place in reversed(range(start)):
            verdict = _is_slower(shape, operands, order[place], order[moved])
            if verdict is False:
                break
            if verdict:
                order[place], order[moved] = order[moved], order[place]
                moved = place
    return order[::-1]


def _is_slower(shape: Steps, operands: Sequence[Steps], one: int, other: int) -> bool | None:
    """Whether one dimension lies further apart than the other; None if nobody says."""
    for steps in operands:
        if steps[one] and steps[other]:
            if steps[one] != steps[other]:
                return steps[one] > steps[other]
            if shape[one] > shape[other]:
                return True
    return None


def steps_within(array: Array, shape: Steps) -> Steps:
    """An operand's strides in the result's dimensions: 0 where it is broadcast."""
    missing = len(shape) - array.ndim
    own = [
        step if have == size else 0
        for step, have, size in zip(array.strides, array.shape, shape[missing:], strict=True)
    ]
    return [0] * missing + own


def lies_in(array: Array, axes: Sequence[int]) -> bool:
    """Whether an array is dense with its dimensions in this order, the slowest first."""
    return bool(array.transpose(axes).flags.c_contiguous)


def as_pytorch_lays(result: Array, operands: Sequence[object]) -> Array:
    """An elementwise result of operands (arrays, or numbers) in PyTorch's memory order."""
    if result.ndim < 2:
        return result
    steps = [steps_within(a, result.shape) for a in operands if isinstance(a, type(result))]
    return laid_along(result, axes_by_memory(result.shape, steps))


def converted(array: Array, dtype: DType) -> Array:
    """The elements in another dtype, in the same memory order but without gaps and overlaps."""
    result = array.astype(dtype)
    return as_it_lies(result, array) if 0 in array.strides else result


def as_it_lies(result: Array, array: Array) -> Array:
    """A result in the memory order of an array of its shape, without that one's gaps."""
    if array.flags.c_contiguous:
        return result
    return laid_along(result, axes_by_memory(array.shape, [array.strides]))


def laid_along(array: Array, axes: Sequence[int]) -> Array:
    """An array whose dimensions lie in this order; itself if they do."""
    turned = array.transpose(axes)
    if turned.flags.c_contiguous:
        return array
    copy: Array = xp_of(array).copy_in_rows(turned)
    return copy.transpose(np.argsort(axes).tolist())
