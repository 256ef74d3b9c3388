"""What functions that go element by element give: the shape by broadcasting, the dtype by NumPy.

NumPy is asked once for each function and types of operands, with arrays of one element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.memory_order import axes_by_memory, steps_within
from retrograd.backend.meta.arrays import MANY, MetaArray, Usual, folded, new
from retrograd.backend.quiet import quiet

Function = Callable[..., Any]


def kind_of(value: Any) -> Any:
    """What NumPy's choice of a dtype goes by: a dtype, or the type of a plain number."""
    if isinstance(value, (MetaArray, np.ndarray, np.generic)):
        return value.dtype
    if isinstance(value, (bool, int, float, complex)):
        return next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))
    return np.asarray(value).dtype


@cache
def dtypes_of(function: Function, kinds: tuple[Any, ...], dtype: Any = None) -> Any:
    """The dtype of a function's result, or a tuple of several."""
    given = [kind(1) if isinstance(kind, type) else np.ones(1, kind) for kind in kinds]
    with quiet():
        found = function(*given) if dtype is None else function(*given, dtype=dtype)
    if isinstance(found, tuple):
        return tuple(part.dtype for part in found)
    return found.dtype


def together(operands: Sequence[Any]) -> tuple[tuple[int, ...], bool]:
    """The shape of operands that are broadcast, and whether it is unsure."""
    arrays = [x for x in operands if isinstance(x, (MetaArray, np.ndarray))]
    unsure = any(getattr(array, "unsure", False) for array in arrays)
    if not unsure:
        shapes = {array.shape for array in arrays}
        return (shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)), False
    # lengths that nobody knows fit each other
    ndim = max(array.ndim for array in arrays)
    padded = [(1,) * (ndim - array.ndim) + array.shape for array in arrays]
    return tuple(max(lengths) for lengths in zip(*padded, strict=True)), True


def laid(shape: tuple[int, ...], dtype: DType, operands: Sequence[Any], unsure: bool) -> MetaArray:
    """A new result in the memory order of its operands."""
    arrays: list[Any] = [x for x in operands if type(x) is MetaArray]
    if len(shape) < 2 or unsure or all(array.flags.c_contiguous for array in arrays):
        return new(shape, dtype, unsure=unsure)
    steps = [[abs(step) for step in steps_within(array, shape)] for array in arrays]
    return new(shape, dtype, axes_by_memory(shape, steps))


def applied(function: Function, operands: Sequence[Any], out: Any = None, dtype: Any = None) -> Any:
    """The result of a function of operands that are broadcast."""
    shape, unsure = together(operands)
    kinds = dtypes_of(function, tuple(map(kind_of, operands)), dtype)
    if isinstance(kinds, tuple):
        return tuple(laid(shape, kind, operands, unsure) for kind in kinds)
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return laid(shape, kinds, operands, unsure)
    return into(target, shape, kinds, unsure)


def into(target: Any, shape: tuple[int, ...], dtype: DType, unsure: bool = False) -> Any:
    """An operand that a result is written into."""
    if not (unsure or target.unsure):
        if np.broadcast_shapes(shape, target.shape) != target.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {target.shape} doesn't match the "
                f"broadcast shape {np.broadcast_shapes(shape, target.shape)}"
            )
    if not np.can_cast(dtype, target.dtype, "same_kind"):
        raise TypeError(f"Cannot cast from {dtype} to {target.dtype} with casting rule 'same_kind'")
    return target


class Elementwise:
    """One of NumPy's ufuncs, or one that NumPy lacks, on arrays without elements."""

    def __init__(self, function: Function, count: int | None = None) -> None:
        self.function = function
        self.count = count  # of operands; what comes after them by place is `out`
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(
        self,
        *operands: Any,
        out: Any = None,
        dtype: Any = None,
        where: Any = None,
        casting: Any = "",
    ) -> Any:
        if self.count is not None and len(operands) > self.count:
            operands, out = operands[: self.count], operands[self.count]
        found = applied(self.function, operands, out, dtype)
        if out is not None:
            (out[0] if isinstance(out, tuple) else out).forget()
        elif is_small(found):
            options = {} if dtype is None else {"dtype": dtype}
            table = folded(self.function, operands, options)
            found = usual(self.__name__, operands, found) if table is None else table
        return found

    def at(self, target: MetaArray, index: object, *values: object) -> None:
        """There is nothing to write into."""
        target.forget()

    def accumulate(self, array: MetaArray, axis: int = 0) -> MetaArray:
        """The result so far, along an axis."""
        kind = dtypes_of(self.function, (array.dtype, array.dtype))
        return new(array.shape, kind, unsure=array.unsure)

    def reduce(
        self, array: MetaArray, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False,
    ) -> MetaArray:  # fmt: skip
        """The result of all elements along axes."""
        return reduced(self.function.reduce, array, axis, dtype, keepdims)  # type: ignore[attr-defined]

    def outer(self, first: MetaArray, second: MetaArray) -> Any:
        """The result of each pair."""
        return self(first.reshape(first.shape + (1,) * second.ndim), second)


def is_small(found: Any) -> bool:
    """Whether a result has so few elements that they may be known."""
    parts = found if isinstance(found, tuple) else (found,)
    return all(part.size <= MANY for part in parts)


_YES = {
    "less": Usual.LOW, "less_equal": Usual.LOW, "greater": Usual.HIGH, "greater_equal": Usual.HIGH,
}  # fmt: skip
_AGAIN = {Usual.TRUE: Usual.FALSE, Usual.FALSE: Usual.TRUE}


def usual(name: str, operands: Sequence[Any], found: Any) -> Any:
    """A result of which something may be taken for granted."""
    if isinstance(found, tuple) or found.ndim:
        return found
    tags = [getattr(x, "usual", None) for x in operands]
    if name in _YES and tags[0] in (Usual.LOW, Usual.HIGH):
        found.usual = Usual.TRUE if tags[0] is _YES[name] else Usual.FALSE
    elif name in ("isnan", "isinf") or (name == "not_equal" and operands[0] is operands[1]):
        found.usual = Usual.FALSE
    elif name == "equal":  # to what a kernel has a shorter way for
        found.usual = Usual.FALSE
    elif name == "isfinite" or name == "not_equal":
        found.usual = Usual.TRUE
    elif name in ("invert", "logical_not"):
        found.usual = None if tags[0] is None else _AGAIN.get(tags[0])
    elif name in ("bitwise_and", "logical_and", "bitwise_or", "logical_or"):
        all_of = name.endswith("and")
        deciding, other = (Usual.FALSE, Usual.TRUE) if all_of else (Usual.TRUE, Usual.FALSE)
        if deciding in tags:
            found.usual = deciding
        elif tags == [other, other]:
            found.usual = other
    return found


def without(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """A shape without some of its dimensions, or with these of length 1."""
    ndim = len(shape)
    given = range(ndim) if axis is None else (axis if isinstance(axis, (tuple, list)) else (axis,))
    axes = set()
    for one in given:
        if not -ndim <= one < ndim:
            raise np.exceptions.AxisError(int(one), ndim)
        axes.add(one % ndim)
    if keepdims:
        return tuple(1 if place in axes else n for place, n in enumerate(shape))
    return tuple(n for place, n in enumerate(shape) if place not in axes)


def reduced(
    function: Function,
    array: MetaArray,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    tag: Usual | None = None,
) -> MetaArray:
    """The result of a function that takes dimensions away."""
    kind = dtypes_of(function, (array.dtype,), dtype)
    lengths = without(array.shape, axis, keepdims)
    found = new(lengths, kind, unsure=array.unsure and axis is not None)
    if not found.ndim:
        found.usual = tag
    return found
