"""The small functions that the engine and many kernels call, for libraries without their own.

`backend.kernels` has them compiled for NumPy, and says what each promises.
"""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike, DTypeLike

from retrograd.backend.arrays import Array
from retrograd.backend.namespace import Namespace


def iadd(xp: Namespace, target: Array, other: Array) -> Array:
    """``target += other``."""
    return xp.add(target, other, out=target)


def add_matching(xp: Namespace, target: Array, other: object) -> bool:
    """Add an array that is alike in shape, dtype and layout; says whether it was done."""
    if type(other) is not type(target) or target.shape != other.shape:
        return False
    if target.dtype is not other.dtype or target.strides != other.strides:
        return False
    xp.add(target, other, out=target)
    return True


def sum_all(xp: Namespace, x: Array) -> Array:
    """The sum of all elements, as a 0-d array."""
    return xp.asarray(xp.sum(x))


def sum_to(xp: Namespace, x: Array, shape: tuple[int, ...]) -> None:
    """None: there is no quicker way here than to sum along the axes."""
    return None


def filled(
    xp: Namespace, shape: tuple[int, ...], value: ArrayLike, dtype: DTypeLike | None = None
) -> Array:
    """A new array of one value, a number or a 0-d array."""
    return xp.full(shape, value, dtype=getattr(value, "dtype", None) if dtype is None else dtype)


def add_at(xp: Namespace, target: Array, index: Array, values: Array) -> None:
    """Add to the places that an index names, to one that it names twice two times."""
    xp.add.at(target, index, values)


def reduce_at(xp: Namespace, name: str, target: Array, index: Array, values: Array) -> None:
    """Combine places of a vector with values, one after the other, by a function's name.

    Each round takes the first, the second, ... value of every place.
    """
    if name == "add":
        xp.add_at(target, index, values)
        return
    operation = getattr(xp, name)
    order = xp.argsort(index, kind="stable")
    index, values = index[order], values[order]
    rank = xp.arange(index.size) - xp.searchsorted(index, index, side="left")
    for turn in range(int(rank.max()) + 1 if rank.size else 0):
        now = rank == turn
        places = index[now]
        target[places] = operation(target[places], values[now])


def maximum_accumulate(xp: Namespace, x: Array, axis: int) -> Array:
    """The largest element so far, along an axis."""
    return _accumulated(xp, xp.maximum, x, axis)


def minimum_accumulate(xp: Namespace, x: Array, axis: int) -> Array:
    """The smallest element so far, along an axis."""
    return _accumulated(xp, xp.minimum, x, axis)


def logaddexp_accumulate(xp: Namespace, x: Array, axis: int) -> Array:
    """The logarithm of the sum of exponentials so far, along an axis."""
    return _accumulated(xp, xp.logaddexp, x, axis)


def _accumulated(
    xp: Namespace, function: Callable[[Array, Array], Array], x: Array, axis: int
) -> Array:
    result = xp.array(x, order="C")
    steps = xp.moveaxis(result, axis, 0)
    for place in range(1, steps.shape[0]):
        steps[place] = function(steps[place - 1], steps[place])
    return result


def pairs(xp: Namespace, count: int) -> tuple[Array, Array]:
    """The numbers of each pair out of so many: the smaller one, and the larger."""
    first, second = xp.nonzero(~xp.tri(count, dtype=bool))
    return first, second


def matmul2d(xp: Namespace, a: Array, b: Array) -> Array:
    """The product of two matrices."""
    return xp.matmul(a, b)
