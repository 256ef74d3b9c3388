"""New arrays, and arrays made of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backend.memory_order import axes_by_memory
from retrograd.backend.meta.arrays import MetaArray, like, new
from retrograd.backend.meta.elementwise import (
    into,
)
from retrograd.backend.meta.layout import no_item
from retrograd.backend.meta.table import (
    FUNCTIONS,
    I64,
    axis_of,
    dtype_of,
    function,
    lengths_of,
)

# --------------------------------------------------------------------------------------- new arrays


@function
def empty(shape: Any, dtype: Any = None, order: str = "C") -> MetaArray:
    return new(lengths_of(shape), dtype_of(dtype))


FUNCTIONS["zeros"] = FUNCTIONS["ones"] = empty


@function
def full(shape: Any, value: Any, dtype: Any = None) -> MetaArray:
    return new(lengths_of(shape), asarray(value).dtype if dtype is None else dtype_of(dtype))


@function
def empty_like(array: Any, dtype: Any = None, order: str = "K", shape: Any = None) -> MetaArray:
    array = asarray(array)
    kind = dtype_of(dtype, array.dtype)
    return like(array, kind, order) if shape is None else new(lengths_of(shape), kind)


FUNCTIONS["zeros_like"] = FUNCTIONS["ones_like"] = empty_like


@function
def full_like(array: Any, value: Any, dtype: Any = None, order: str = "K") -> MetaArray:
    return empty_like(array, dtype, order)


@function
def asarray(value: Any, dtype: Any = None, order: Any = None) -> MetaArray:
    if type(value) is MetaArray:
        array = value
    elif isinstance(value, (list, tuple)) and any(type(item) is MetaArray for item in value):
        array = stack([asarray(item) for item in value])
    else:
        given = np.asarray(value)
        array = new(given.shape, given.dtype)
    if dtype is not None and array.dtype is not dtype_of(dtype):
        return array.astype(dtype_of(dtype))
    return array


@function
def array(value: Any, dtype: Any = None, order: str = "K", copy: bool = True) -> MetaArray:
    found = asarray(value, dtype)
    return found.copy(order) if found is value and copy else found


@function
def copy(value: Any, order: str = "K") -> MetaArray:
    return array(value, order=order)


@function
def ascontiguousarray(value: Any, dtype: Any = None) -> MetaArray:
    found = asarray(value, dtype)
    return found if found.flags.c_contiguous else found.copy()


@function
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    if stop is None:
        start, stop = 0, start
    count = max(math.ceil((stop - start) / step), 0)
    if all(isinstance(x, (int, np.integer)) for x in (start, stop, step)):
        count = len(range(int(start), int(stop), int(step)))
        return new((count,), dtype_of(dtype, I64))
    return new((count,), dtype_of(dtype))


@function
def linspace(start: Any, stop: Any, num: int = 50, **options: Any) -> MetaArray:
    return new((num,), dtype_of(options.get("dtype")))


@function
def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> MetaArray:
    return new((n, n if m is None else m), dtype_of(dtype))


FUNCTIONS["tri"] = eye


@function
def indices(dimensions: Sequence[int], dtype: Any = None) -> MetaArray:
    return new((len(dimensions), *dimensions), dtype_of(dtype, I64))


# ------------------------------------------------------------------------------------------ joining


@function
def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, out: Any = None, dtype: Any = None
) -> Any:
    given = [asarray(x) for x in arrays]
    kind = np.result_type(*[x.dtype for x in given]) if dtype is None else dtype_of(dtype)
    if axis is None:
        return new((sum(x.size for x in given),), kind)
    axis = axis_of(axis, given[0].ndim)
    lengths = list(given[0].shape)
    for other in given[1:]:
        if other.ndim != len(lengths) or any(
            have != wanted and place != axis
            for place, (have, wanted) in enumerate(zip(other.shape, lengths, strict=True))
        ):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                "exactly"
            )
    lengths[axis] = sum(x.shape[axis] for x in given)
    if out is not None:
        return into(out, tuple(lengths), kind)
    axes = None
    if len(lengths) > 1 and not all(x.flags.c_contiguous for x in given):
        axes = axes_by_memory(lengths, [x.strides for x in given])
    return new(lengths, kind, axes, unsure=any(x.unsure for x in given))


@function
def stack(arrays: Sequence[Any], axis: int = 0, out: Any = None) -> Any:
    given = [asarray(x) for x in arrays]
    if len({x.shape for x in given}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = axis_of(axis, given[0].ndim + 1)
    wide = [x[(slice(None),) * axis + (None,)] for x in given]
    return concatenate(wide, axis, out)


@function
def tile(array: MetaArray, times: Any) -> MetaArray:
    counts = lengths_of(times)
    width = max(array.ndim, len(counts))
    lengths = (1,) * (width - array.ndim) + array.shape
    counts = (1,) * (width - len(counts)) + counts
    return new([a * b for a, b in zip(lengths, counts, strict=True)], array.dtype)


@function
def repeat(array: MetaArray, times: Any, axis: int | None = None) -> MetaArray:
    if isinstance(times, (MetaArray, np.ndarray)):
        raise no_item()
    if isinstance(times, (list, tuple)):
        place = 0 if axis is None else axis
        added = sum(times) if len(times) > 1 else times[0] * array.shape[place]
    else:
        place = 0 if axis is None else axis
        added = int(times) * (array.size if axis is None else array.shape[place])
    if axis is None:
        return new((added,), array.dtype)
    lengths = list(array.shape)
    lengths[place] = added
    return new(lengths, array.dtype)


@function
def roll(array: MetaArray, shift: Any, axis: Any = None) -> MetaArray:
    return like(array, array.dtype)


@function
def pad(array: MetaArray, width: Any, mode: str = "constant", **options: Any) -> MetaArray:
    pairs = np.broadcast_to(np.asarray(width), (array.ndim, 2)).tolist()
    lengths = [n + before + after for n, (before, after) in zip(array.shape, pairs, strict=True)]
    return new(lengths, array.dtype)


@function
def tril(array: MetaArray, k: int = 0) -> MetaArray:
    return like(array, array.dtype)


FUNCTIONS["triu"] = tril


@function
def delete(array: MetaArray, place: int, axis: int | None = None) -> MetaArray:
    if axis is None:
        return new((array.size - 1,), array.dtype)
    lengths = list(array.shape)
    lengths[axis] -= 1
    return new(lengths, array.dtype)
