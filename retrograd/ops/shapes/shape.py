"""Views of all elements in another shape: view, reshape, squeeze and relatives.

A view op gives an array that shares the input's memory. Its rule reads only shapes and options,
never elements: it runs again after a write to the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from retrograd import core, dtypes
from retrograd.above import above
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Index, Ints, Namespace, wrap_dim
from retrograd.ops.registry import (
    RECORDED,
    Table,
    composite,
    function_only,
    inner_op,
    method_only,
    op,
    table_entry,
)
from retrograd.ops.sizes import (
    Shape,
    as_integer,
    as_integers,
    as_size,
    complete_size,
    require_tensor,
    view_strides,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor, cell_of, wrap

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


# ------------------------------------------------------------------------------ view, reshape


@inner_op(input=lambda m, g, input_shape: m.reshape(g, input_shape), view="always")
def view(xp: Namespace, input: Array, size: Shape) -> Array:
    """The elements in another shape (complete: no -1), without a copy."""
    return _viewed(xp, input, size)


def _viewed(xp: Namespace, input: Array, size: Shape) -> Array:
    if input.flags.c_contiguous:
        return input.reshape(size)
    strides = view_strides(input.shape, input.strides, size, input.itemsize)
    if strides is None:
        raise errors.runtime_error(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
            code="RG208",
        )
    return xp.strided(input, size, strides)


@op(
    input=lambda m, g, input_shape: m.reshape(g, input_shape),
    view="always",
    aten="view",
    event="_reshape_alias",
)
def _reshape_alias(xp: Namespace, input: Array, size: Shape) -> Array:
    """The view that `reshape` gives of a tensor which is not contiguous."""
    return _viewed(xp, input, size)


@op(
    input=lambda m, g, input_shape: m.reshape(g, input_shape),
    moves=True,
    aten="_unsafe_view",
)
def _unsafe_view(xp: Namespace, input: Array, size: Shape) -> Array:
    """A fresh array in another shape: it has no other user, so it need not be a view."""
    return input.reshape(size)


@op(input=lambda m, g: g, moves=True, aten="clone")
def _contiguous_copy(xp: Namespace, input: Array) -> Array:
    return xp.copy_in_rows(input)


@inner_op(input=lambda m, g: g, view="always")
def alias(xp: Namespace, input: Array) -> Array:
    """A view of all elements as they are."""
    return input.view()


def _raw_reshape(xp: Namespace, input: Array, shape: Shape) -> Array:
    return input.reshape(shape)


def _reshape(input: Tensor, shape: Shape) -> Tensor:
    """A view where the strides allow it, else a view of a copy; `shape` is complete."""
    array = input._array
    if array.flags.c_contiguous:
        return RECORDED.view(input, shape)
    if view_strides(array.shape, array.strides, shape, array.itemsize) is not None:
        return RECORDED._reshape_alias(input, shape)
    return RECORDED._unsafe_view(RECORDED._contiguous_copy(input), shape)


table_entry("reshape", _raw_reshape, _reshape)


@method_only(
    samples=lambda: [
        *(Sample(T(3, 4), *size, dtypes=_MOVED) for size in ((12,), (2, 6), (-1,), (2, -1))),
        Sample(T(3, 4), (2, 6)),
        Sample(T(3, 4), [2, 3, 2]),
        Sample(T(3, 4), 3, 1, 4, 1),
        Sample(T(), 1, 1),
        Sample(T(1), ()),
        Sample(T(0, 3), 3, 0),
        Sample(T(0, 3), -1),
        Sample(T(3, 4), -1, -1),
        Sample(T(3, 4), -2, 6),
        Sample(T(3, 4), 5, -1),
        Sample(T(3, 4), 2, 2),
        Sample(T(0), 0, -1),
        Sample(T(3, 4), 2.0),
        Sample(T(3, 4), "dtype:int16", grad=False),
        Sample(T(4, dtype="int32"), "dtype:float32", grad=False),
        Sample(T(4, 2, dtype="int32"), "dtype:int64", grad=False),
        Sample(T(4, 3, dtype="int32"), "dtype:int64", grad=False),
        Sample(T(dtype="int32"), "dtype:int64", grad=False),
    ]
)
@forms(*sized(before="self: Tensor"), "(self: Tensor, dtype: dtype) -> Tensor")
@core.shortcut("sized", view)
def _view(
    self: Tensor, *shape: object, size: Ints | None = None, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The same elements in another shape, or the same bytes as another dtype.

    >>> torch.arange(6).view(2, -1).shape
    torch.Size([2, 3])
    """
    if dtype is not None:
        return _view_dtype(self, dtype)
    if size is not None:
        shape = (size,)
    try:
        wanted = as_size("view", "size", shape)
    except TypeError:
        if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
            return _view_dtype(self, shape[0])
        raise errors.invalid_combination("view", shape) from None
    return RECORDED.view(self, complete_size(wanted, self._array.size))


@above
def view_batch(
    view: Callable[[Tensor, dtypes.dtype], Tensor], batch: Tensor, dtype: dtypes.dtype
) -> Tensor:
    """A view of all of a batch as another dtype."""
    raise NotImplementedError


def _view_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same bytes as another dtype: shares memory and version, but has no history."""
    array = self._array
    if self._level:
        if array.itemsize != dtype.numpy.itemsize and not array.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {self.dtype.type_name} as {dtype.type_name} "
                "(different element sizes)"
            )
        return view_batch(_view_dtype, self, dtype)
    old, new = array.itemsize, dtype.numpy.itemsize
    if old != new:
        names = f"{self.dtype.type_name} as {dtype.type_name} (different element sizes)"
        if array.ndim == 0:
            raise RuntimeError(f"self.dim() cannot be 0 to view {names}")
        if new > old and array.shape[-1] % (new // old):
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {names}, but got "
                f"{array.shape[-1]}"
            )
        if array.size and array.strides[-1] != old:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {names}, but got {array.strides[-1] // old}"
            )
        if array.size and new > old and any(stride % new for stride in array.strides[:-1]):
            raise RuntimeError(f"self.stride() must be divisible by {new // old} to view {names}")
    result = wrap(array.view(dtype.numpy))
    result._cell = cell_of(self)
    return result


@function_only(
    samples=lambda: [
        *(Sample(T(3, 4), size, dtypes=_MOVED) for size in ((12,), (2, 6), (-1,), (2, -1))),
        Sample(T(), (1, 1)),
        Sample(T(1), ()),
        Sample(T(0, 3), (3, 0)),
        Sample(T(3, 4), (2, 2)),
        Sample(T(3, 4), 12),
        Sample(T(2, 3, dtype="int64"), (3, 2), grad=False),
    ]
)
@forms("(input: Tensor, shape: Sequence[int]) -> Tensor")
def _reshape_function(input: Tensor, shape: Ints) -> Tensor:
    """The same elements in another shape; a view where possible.

    >>> torch.reshape(torch.arange(6), (2, 3)).shape
    torch.Size([2, 3])
    """
    require_tensor("reshape", input)
    wanted = as_integers("reshape", "shape", 2, shape)
    return _reshape(input, complete_size(wanted, input._array.size))


@method_only(samples=lambda: [Sample(T(3, 4), 2, 6), Sample(T(3, 4), (2, -1)), Sample(T(3, 4))])
@forms(*sized(before="self: Tensor", name="shape"))
@core.shortcut("sized", view)
def _reshape_method(self: Tensor, *shape: object, **named: Any) -> Tensor:
    """The same elements in another shape; a view where possible."""
    if named:
        shape = (named.pop("shape"), *named)
    wanted = as_size("reshape", "shape", shape)
    return _reshape(self, complete_size(wanted, self._array.size))


@method_only(samples=lambda: [Sample(T(3, 4), T(2, 6))])
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of `other`."""
    require_tensor("view_as", other, "other")
    return _view(self, *other._array.shape) if other._array.ndim else _view(self, ())


@method_only(samples=lambda: [Sample(T(3, 4), T(2, 6))])
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of `other`."""
    require_tensor("reshape_as", other, "other")
    return _reshape_method(self, other._array.shape)


@composite(
    samples=lambda: [
        Sample(T(2, 3, 4)),
        Sample(T(2, 3, 4), 1),
        Sample(T(2, 3, 4), -2, -1),
        Sample(T(2, 3, 4), start_dim=0, end_dim=1),
        Sample(T()),
        Sample(T(2, 3), 1, 0),
        Sample(T(2, 3), 5),
    ]
)
@core.shortcut("flatten", view)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """One dimension in place of several; the tensor itself if there is nothing to flatten.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    require_tensor("flatten", input)
    shape = input._array.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if first == last:
        return input
    joined = math.prod(shape[first : last + 1])
    return _reshape(input, (*shape[:first], joined, *shape[last + 1 :]))


@composite(
    samples=lambda: [
        Sample(T(3, 4), 1, (2, 2)),
        Sample(T(3, 4), -1, (2, -1)),
        Sample(T(3, 4), 1, (3, -1)),
        Sample(T(3, 4), 1, ()),
        Sample(T(3, 4), 5, (1,)),
    ]
)
def unflatten(input: Tensor, dim: int, sizes: object) -> Tensor:
    """Several dimensions in place of one."""
    shape = input._array.shape
    place = wrap_dim(dim, len(shape))
    wanted = as_integers("unflatten", "sizes", 3, sizes)
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        complete = complete_size(wanted, shape[place])
    except RuntimeError as error:
        if wanted.count(-1) > 1:
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise errors.runtime_error(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim "
            f"{place} ({shape[place]}) in the input tensor",
            code="RG203",
        ) from None
    return RECORDED.view(input, (*shape[:place], *complete, *shape[place + 1 :]))


@composite(samples=lambda: [Sample(T(2, 3)), Sample(T())])
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, contiguous in memory."""
    require_tensor("ravel", input)
    dense = input if input._array.flags.c_contiguous else RECORDED._contiguous_copy(input)
    return RECORDED.view(dense, (input._array.size,))


# ------------------------------------------------------------------- dimensions of size one


def _without(array: Array, dims: Sequence[int]) -> Array:
    """A view without the given dimensions of size one."""
    key: Index = tuple(
        0 if place in dims and size == 1 else slice(None) for place, size in enumerate(array.shape)
    )
    return array[(*key, ...)]


def _with_ones(m: Table, g: Tensor, shape: Shape, dims: Sequence[int]) -> Tensor:
    """The gradient with squeezed dimensions put back."""
    for dim in sorted(dims):
        if shape[dim] == 1:
            g = m.unsqueeze(g, dim)
    return g


@op(
    input=lambda m, g, input_shape: _with_ones(m, g, input_shape, range(len(input_shape))),
    view="always",
    aten="squeeze",
)
def _squeeze_all(xp: Namespace, input: Array) -> Array:
    return _without(input, range(input.ndim))


@op(
    input=lambda m, g, dim, input_shape: _with_ones(
        m, g, input_shape, (wrap_dim(dim, len(input_shape)),) if input_shape else ()
    ),
    view="always",
    node_name="SqueezeBackward1",
    aten="squeeze.dim",
)
def _squeeze_dim(xp: Namespace, input: Array, dim: int) -> Array:
    place = wrap_dim(dim, input.ndim)
    if input.ndim and input.shape[place] == 1:
        at: Index = (*(slice(None),) * place, 0, ...)
        return input[at]
    return input.view()


@op(
    input=lambda m, g, dims, input_shape: _with_ones(
        m, g, input_shape, _squeezed_dims(dims, len(input_shape))
    ),
    view="always",
    node_name="SqueezeBackward2",
    aten="squeeze.dims",
    saved_names={"dim": "dims"},
)
def _squeeze_dims(xp: Namespace, input: Array, dims: Shape) -> Array:
    return _without(input, _squeezed_dims(dims, input.ndim))


def _squeezed_dims(dims: Sequence[int], ndim: int) -> Shape:
    found = tuple(wrap_dim(dim, ndim) for dim in dims)
    for dim in found:
        if found.count(dim) > 1:
            raise errors.runtime_error(
                f"dim {dim} appears multiple times in the list of dims", code="RG205"
            )
    return found if ndim else ()


def _raw_squeeze(xp: Namespace, input: Array, dim: Ints | None = None) -> Array:
    if dim is None:
        return _without(input, range(input.ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    return _without(input, _squeezed_dims(dims, input.ndim))


@composite(
    samples=lambda: [
        Sample(T(1, 3, 1), dtypes=_MOVED),
        Sample(T(1, 3, 1), 0),
        Sample(T(1, 3, 1), 1),
        Sample(T(1, 3, 1), -1),
        Sample(T(1, 3, 1), (0, 2)),
        Sample(T(1, 3, 1), (0, 1)),
        Sample(T(1, 3, 1), ()),
        Sample(T(1, 1)),
        Sample(T()),
        Sample(T(), 0),
        Sample(T(3), dim=0),
        Sample(T(1, 3), 2),
        Sample(T(1, 3), (0, 0)),
    ]
)
@forms("(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor")
def squeeze(input: Tensor, dim: Ints | None = None, **named: Any) -> Tensor:
    """A view without dimensions of size one: all of them, or those in `dim`.

    >>> torch.zeros(1, 3, 1).squeeze().shape
    torch.Size([3])
    """
    require_tensor("squeeze", input)
    dim = named.get("axis", dim)
    result: Tensor
    if dim is None:
        result = RECORDED._squeeze_all(input)
    elif isinstance(dim, (tuple, list)):
        result = RECORDED._squeeze_dims(input, as_integers("squeeze", "dim", 2, dim))
    else:
        result = RECORDED._squeeze_dim(input, as_integer(dim, "squeeze", "dim", 2))
    return result


table_entry("squeeze", _raw_squeeze, squeeze)


@op(
    input=lambda m, g, dim: m.squeeze(g, dim),
    view="always",
    samples=lambda: [
        *(Sample(T(3, 4), dim, dtypes=_MOVED) for dim in (0, 1, 2, -1, -3)),
        Sample(T(), 0),
        Sample(T(0, 3), dim=-1),
        Sample(T(3, 4), 3),
        Sample(T(3, 4), -4),
    ],
)
def unsqueeze(xp: Namespace, input: Array, dim: int) -> Array:
    """A view with a dimension of size one put in at `dim`."""
    shape = input.shape
    place = dim if 0 <= dim <= len(shape) else wrap_dim(dim, len(shape) + 1)
    wanted = (*shape[:place], 1, *shape[place:])
    if input.flags.c_contiguous:
        return input.reshape(wanted)
    strides = input.strides
    step = input.itemsize if place == len(shape) else shape[place] * strides[place]
    return xp.strided(input, wanted, (*strides[:place], step, *strides[place:]))
