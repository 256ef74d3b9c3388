"""Functions along dimensions: reductions, running ones, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backend.meta.arrays import MetaArray, Usual, like, new
from retrograd.backend.meta.elementwise import (
    dtypes_of,
    into,
    reduced,
    without,
)
from retrograd.backend.meta.making import asarray
from retrograd.backend.meta.table import (
    FUNCTIONS,
    I64,
    Function,
    axis_of,
    function,
)

# --------------------------------------------------------------------------------------- reductions


def _reduction(name: str, tag: Usual | None = None) -> Function:
    function = getattr(np, name)

    def reduce(
        array: MetaArray, axis: Any = None, dtype: Any = None, out: Any = None,
        keepdims: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        if isinstance(dtype, MetaArray):  # the third of `max` and of others is `out`
            dtype, out = None, dtype
        array = asarray(array)
        if name in _EXTREMES and not array.size:
            kept = without(array.shape, axis, False)
            if 0 not in kept:
                raise ValueError(
                    f"zero-size array to reduction operation {name}imum which has no identity"
                )
        found = reduced(function, array, axis, dtype, keepdims, tag)
        return found if out is None else into(out, found.shape, found.dtype)

    reduce.__name__ = name
    return reduce


_EXTREMES = ("max", "min")
for _name in """
    sum prod mean std var argmax argmin count_nonzero nansum nanmax nanmin nanmean ptp median
""".split():
    FUNCTIONS[_name] = _reduction(_name)
for _name, _tag in {
    "all": Usual.TRUE, "any": Usual.FALSE, "max": Usual.LOW, "min": Usual.HIGH,
}.items():  # fmt: skip
    FUNCTIONS[_name] = _reduction(_name, _tag)


def _scan(function: Function) -> Function:
    def scan(array: MetaArray, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        lengths = (array.size,) if axis is None else array.shape
        if axis is not None and array.ndim:
            axis_of(axis, array.ndim)
        kind = dtypes_of(function, (array.dtype,), dtype)
        if out is not None:
            return out
        return new(lengths or (1,), kind, unsure=array.unsure)

    return scan


for _name in "cumsum cumprod nancumsum".split():
    FUNCTIONS[_name] = _scan(getattr(np, _name))


def accumulated(array: MetaArray, axis: int = 0) -> MetaArray:
    """The extreme so far, along an axis."""
    return new(array.shape, array.dtype, unsure=array.unsure)


@function
def diff(array: MetaArray, n: int = 1, axis: int = -1, **more: Any) -> MetaArray:
    axis = axis_of(axis, array.ndim)
    extra = sum(asarray(x).shape[axis] if asarray(x).ndim else 1 for x in more.values())
    lengths = list(array.shape)
    lengths[axis] = max(lengths[axis] + extra - n, 0)
    return new(lengths, array.dtype, unsure=array.unsure)


@function
def trace(array: MetaArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return FUNCTIONS["sum"](array.diagonal(offset, axis1, axis2), -1)


# ------------------------------------------------------------------------------------------ sorting


@function
def sort(array: MetaArray, axis: int = -1, **options: Any) -> MetaArray:
    if array.ndim:
        axis_of(axis, array.ndim)
    return like(array, array.dtype)


@function
def argsort(array: MetaArray, axis: int = -1, **options: Any) -> MetaArray:
    return new(array.shape or (1,), I64, unsure=array.unsure)


@function
def partition(array: MetaArray, kth: Any, axis: int = -1) -> MetaArray:
    return sort(array, axis)


@function
def argpartition(array: MetaArray, kth: Any, axis: int = -1) -> MetaArray:
    return argsort(array, axis)


@function
def lexsort(keys: MetaArray, axis: int = -1) -> MetaArray:
    lengths = asarray(keys).shape[1:]
    return new(lengths, I64)


@function
def searchsorted(array: MetaArray, values: Any, side: str = "left", sorter: Any = None) -> Any:
    values = asarray(values)
    return new(values.shape, I64, unsure=values.unsure)
