"""Views, functions that go element by element, and what an index takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.meta import layout
from retrograd.backend.meta.arrays import MetaArray, check_unsure, like, new
from retrograd.backend.meta.elementwise import (
    Elementwise,
    applied,
    dtypes_of,
    into,
    kind_of,
    together,
)
from retrograd.backend.meta.errors import no_kernel
from retrograd.backend.meta.layout import no_item
from retrograd.backend.meta.making import asarray
from retrograd.backend.meta.table import (
    F64,
    FUNCTIONS,
    I64,
    TRUTH,
    axis_of,
    function,
    lengths_of,
)

# -------------------------------------------------------------------------------------------- views


def _view(name: str) -> None:
    """A function that does what a layout does under the same name."""

    def call(array: MetaArray, *args: Any, **options: Any) -> MetaArray:
        return MetaArray(getattr(array.held, name)(*args, **options), array.unsure, array)

    FUNCTIONS[name] = call


for _name in ("expand_dims", "moveaxis", "squeeze", "swapaxes"):
    _view(_name)


@function
def transpose(array: MetaArray, axes: Any = None) -> MetaArray:
    return array.transpose(axes)


@function
def broadcast_to(array: Any, shape: Any) -> MetaArray:
    array = asarray(array)
    return MetaArray(array.held.broadcast_to(lengths_of(shape)), array.unsure, array)


@function
def broadcast_arrays(*arrays: Any) -> tuple[MetaArray, ...]:
    given = [asarray(x) for x in arrays]
    lengths, unsure = together(given)
    if unsure:
        return tuple(new(lengths, x.dtype, unsure=True) for x in given)
    return tuple(broadcast_to(x, lengths) if x.shape != lengths else x for x in given)


@function
def split(array: MetaArray, sections: Any, axis: int = 0) -> list[MetaArray]:
    length = array.shape[axis]
    if hasattr(sections, "__index__"):
        if length % sections:
            raise ValueError("array split does not result in an equal division")
        ends = [length // sections * place for place in range(1, sections)]
    else:
        ends = list(sections)
    before = (slice(None),) * axis_of(axis, array.ndim)
    return [
        array[(*before, slice(start, end))]
        for start, end in zip([0, *ends], [*ends, length], strict=True)
    ]


@function
def atleast_1d(array: MetaArray) -> MetaArray:
    return array if array.ndim else array.reshape((1,))


@function
def flip(array: MetaArray, axis: Any = None) -> MetaArray:
    turned = range(array.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    places = {axis_of(one, array.ndim) for one in turned}
    return array[tuple(slice(None, None, -1 if d in places else None) for d in range(array.ndim))]


@function
def diagonal(array: MetaArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
    return array.diagonal(offset, axis1, axis2)


@function
def reshape(array: MetaArray, shape: Any, order: str = "C") -> MetaArray:
    return array.reshape(shape, order=order)


@function
def ravel(array: MetaArray, order: str = "C") -> MetaArray:
    return array.ravel(order)


@function
def real(array: MetaArray) -> MetaArray:
    return array.real


@function
def imag(array: MetaArray) -> MetaArray:
    return array.imag


def strided(
    array: MetaArray, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> MetaArray:
    """The memory from `offset` bytes after the first element on, with any shape and strides."""
    return MetaArray(array.held.seen(shape, strides, offset), array.unsure, array)


def shares_memory(first: MetaArray, second: MetaArray) -> bool:
    """Whether two arrays may share memory, by their bounds."""
    return layout.shares_memory(first.held, second.held)


FUNCTIONS["may_share_memory"] = shares_memory

# -------------------------------------------------------------------------------------- elementwise


@function
def where(mask: Any, *choices: Any) -> MetaArray:
    if not choices:
        raise no_item()
    shape, unsure = together([mask, *choices])
    found: MetaArray = applied(np.where, [mask, *choices])
    return found if found.shape == shape else new(shape, found.dtype, unsure=unsure)


@function
def clip(array: Any, low: Any = None, high: Any = None, out: Any = None) -> Any:
    operands = [x for x in (array, low, high) if x is not None]
    shape, unsure = together(operands)
    kind = dtypes_of(np.maximum, tuple(map(kind_of, operands[:2])))
    if len(operands) == 3:
        kind = dtypes_of(np.maximum, (kind, kind_of(high)))
    return new(shape, kind, unsure=unsure) if out is None else into(out, shape, kind, unsure)


@function
def _round(array: MetaArray, decimals: int = 0, out: Any = None) -> Any:
    return applied(np.round, [array], out)


FUNCTIONS["around"] = _round
for _name in "nan_to_num angle isclose real_if_close iscomplex isreal sinc".split():
    FUNCTIONS[_name] = Elementwise(getattr(np, _name))
for _name in ("isneginf", "isposinf"):
    FUNCTIONS[_name] = Elementwise(getattr(np, _name), 1)


@function
def copyto(target: MetaArray, source: Any, casting: str = "same_kind", where: Any = True) -> None:
    target[...] = source


@function
def result_type(*values: Any) -> DType:
    return np.result_type(*[v.dtype if type(v) is MetaArray else v for v in values])


@function
def can_cast(source: Any, target: Any, casting: Any = "safe") -> bool:
    return np.can_cast(source.dtype if type(source) is MetaArray else source, target, casting)


@function
def ndim(value: Any) -> int:
    return value.ndim if type(value) is MetaArray else np.ndim(value)


@function
def shape(value: Any) -> tuple[int, ...]:
    return value.shape if type(value) is MetaArray else np.shape(value)


@function
def size(value: Any, axis: int | None = None) -> int:
    found = shape(value)
    return math.prod(found) if axis is None else found[axis]


@function
def iscomplexobj(value: Any) -> bool:
    return kind_of(value).kind == "c" if hasattr(value, "dtype") else np.iscomplexobj(value)


# -------------------------------------------------------------------------------------- by an index


@function
def take(
    array: MetaArray, index: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> MetaArray:
    index = asarray(index)
    if axis is None:
        return new(index.shape, array.dtype, unsure=index.unsure)
    axis = axis_of(axis, array.ndim)
    lengths = (*array.shape[:axis], *index.shape, *array.shape[axis + 1 :])
    return new(lengths, array.dtype, unsure=array.unsure or index.unsure)


@function
def take_along_axis(array: MetaArray, index: MetaArray, axis: int | None = -1) -> MetaArray:
    if axis is None:
        return new(index.shape, array.dtype)
    if array.ndim != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = axis_of(axis, array.ndim)
    lengths = list(np.broadcast_shapes(
        tuple(1 if place == axis else n for place, n in enumerate(array.shape)),
        tuple(1 if place == axis else n for place, n in enumerate(index.shape)),
    ))  # fmt: skip
    lengths[axis] = index.shape[axis]
    return new(lengths, array.dtype, unsure=array.unsure or index.unsure)


def nothing(target: MetaArray, *_: object, **__: object) -> None:
    """There is nothing to write into."""
    target.forget()


def reduced_at(name: str, target: MetaArray, *_: object) -> None:
    target.forget()


for _name in "put put_along_axis place putmask fill_diagonal".split():
    FUNCTIONS[_name] = nothing


def pairs(count: int) -> tuple[MetaArray, MetaArray]:
    """The numbers of each pair out of so many."""
    length = count * (count - 1) // 2
    return new((length,), I64), new((length,), I64)


@function
def nonzero(array: MetaArray) -> tuple[MetaArray, ...]:
    check_unsure()
    return tuple(new((array.size,), I64, unsure=True) for _ in range(array.ndim))


@function
def flatnonzero(array: MetaArray) -> MetaArray:
    check_unsure()
    return new((array.size,), I64, unsure=True)


@function
def bincount(index: MetaArray, weights: Any = None, minlength: int = 0) -> MetaArray:
    """What kernels count lies below `minlength`."""
    if not minlength:
        check_unsure()
    return new((minlength,), I64 if weights is None else F64, unsure=not minlength)


@function
def ravel_multi_index(index: Sequence[Any], dims: Sequence[int], **options: Any) -> MetaArray:
    lengths, unsure = together(list(index))
    return new(lengths, I64, unsure=unsure)


@function
def unravel_index(index: MetaArray, shape: Sequence[int]) -> tuple[MetaArray, ...]:
    return tuple(new(index.shape, I64, unsure=index.unsure) for _ in shape)


@function
def array_equal(first: Any, second: Any) -> bool:
    raise no_kernel("equal")


@function
def allclose(first: Any, second: Any, **options: Any) -> bool:
    """What a rule asks of parts that are to be zero."""
    return True


@function
def isin(elements: Any, among: Any, **options: Any) -> MetaArray:
    return like(asarray(elements), TRUTH)
