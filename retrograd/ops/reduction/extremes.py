"""Largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes, return_types, samples
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace, restore_dims, wrap_dim, wrap_dims
from retrograd.ops.reduction.reduce import check_keepdim
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf


# ---------------------------------------------------------------------- errors and small helpers


def check_not_empty(function: str, input: Array) -> None:
    """A full reduction without identity needs an element."""
    if not input.size:
        raise RuntimeError(
            f"{function}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )


def check_dims_not_empty(function: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Reductions without identity need elements along the dimensions they reduce."""
    for axis in axes:
        if shape and not shape[axis]:
            raise IndexError(f"{function}: Expected reduction dim {axis} to have non-zero size.")


def refuse_complex(kernel: str, input: Array) -> None:
    """Complex numbers have no order; PyTorch names the kernel that is missing."""
    if input.dtype.kind == "c":
        raise errors.not_implemented_for(kernel, input.dtype)


def is_nan(value: Tensor | Array) -> bool:
    """Whether a 0-d array or Tensor is nan."""
    array = value._array if isinstance(value, Tensor) else value
    return bool(array != array)


@op(fast=False)
def _count_true(xp: Namespace, mask: Array, like: Array, dim: Ints | None) -> Array:
    """How many places of a mask are true along `dim` (kept), as a number of `like`'s dtype."""
    axes = wrap_dims(dim, mask.ndim)
    return xp.sum(mask, axis=axes, dtype=like.dtype, keepdims=True)


def share_among(m: Table, g: Tensor, mask: Tensor, dim: Ints | None) -> Tensor:
    """A kept-dimension gradient divided evenly among the places where `mask` is true."""
    return m.mul(m.div(g, m._count_true(mask, g, dim)), mask)


@op(
    input=lambda m, g: None,
    value=lambda m, g, mask: m.where(mask, g, 0.0),
    node_name="MaskedFillBackward1",
    elementwise=True,
)
def _fill_where(xp: Namespace, input: Array | None, mask: Array, value: Array) -> Array:
    """`value` (one element) where the mask is true, zero elsewhere."""
    return xp.where(mask, value, xp.asarray(0, value.dtype))


def share_with_equals(m: Table, g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    """The gradient of picking one value: divided evenly among all elements equal to it."""
    if isinstance(out, Tensor) and out._level:  # nan in some examples only
        mask = m.logical_or(m.eq(input, out), m.logical_and(m.isnan(input), m.isnan(out)))
    else:
        mask = m.isnan(input) if is_nan(out) else m.eq(input, out)
    return m._fill_where(None, mask, m.div(g, m._count_true(mask, g, None)))


@op(
    input=lambda m, g: None,
    src=lambda m, g, index, dim: m.gather(g, dim, index),
    half="move",
    node_name="ScatterBackward0",
)
def _scatter_values(
    xp: Namespace, input: Array | None, src: Array, index: Array, dim: int, shape: tuple[int, ...]
) -> Array:
    """Zeros of `shape` with `src` put where `index` says along `dim`."""
    result = xp.zeros(shape, src.dtype)
    if shape:
        xp.put_along_axis(result, index, src, dim)
    else:
        result[...] = src
    return result


def scatter_selected(
    m: Table, g: Tensor, index: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool
) -> Tensor:
    """The gradient of values picked by index along `dim`, put back where they came from."""
    if not shape:
        return g
    dim = wrap_dim(dim, len(shape))
    if not keepdim:
        g, index = m.unsqueeze(g, dim), m.unsqueeze(index, dim)
    return m._scatter_values(None, g, index, dim, tuple(shape))


def pick(xp: Namespace, input: Array, index: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The values at `index` (kept) along `dim`, and the index, with the dimension kept or not."""
    if not input.ndim:
        return input.copy(), xp.zeros((), dtypes.I64)
    values = xp.take_along_axis(input, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


# ------------------------------------------------------------------------------------- max, min


@op(
    input=share_with_equals,
    node_name="MaxBackward1",
    label="max",
    forward="reduction",
)
def _max_all(xp: Namespace, input: Array) -> Array:
    refuse_complex("max_all", input)
    check_not_empty("max", input)
    return xp.max(input, axis=None)


@op(
    input=share_with_equals,
    node_name="MinBackward1",
    label="min",
    forward="reduction",
)
def _min_all(xp: Namespace, input: Array) -> Array:
    refuse_complex("min_all", input)
    check_not_empty("min", input)
    return xp.min(input, axis=None)


@inner_op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.max,
    out=True,
    saved_names={"indices": "out1"},
    aten="max.dim",
)
def max(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Largest values along a dimension, and where they are."""
    refuse_complex("max", input)
    dim = wrap_dim(dim, input.ndim)
    check_dims_not_empty("max()", input.shape, (dim,))
    axis = dim if input.ndim else None
    return xp.max(input, axis, keepdims=keepdim), xp.argmax(input, axis, keepdims=keepdim)


@inner_op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.min,
    out=True,
    saved_names={"indices": "out1"},
    aten="min.dim",
)
def min(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Smallest values along a dimension, and where they are."""
    refuse_complex("min", input)
    dim = wrap_dim(dim, input.ndim)
    check_dims_not_empty("min()", input.shape, (dim,))
    axis = dim if input.ndim else None
    return xp.min(input, axis, keepdims=keepdim), xp.argmin(input, axis, keepdims=keepdim)


def _overload(name: str, input: Tensor, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The three forms that max and min share: everything, along a dimension, with another."""
    out = keywords.pop("out", None)
    for alias, own in (("axis", "dim"), ("keepdims", "keepdim")):
        if alias in keywords:
            keywords[own] = keywords.pop(alias)
    names = ("other",) if args and isinstance(args[0], Tensor) else ("dim", "keepdim")
    given = {**dict(zip(names, args, strict=False)), **keywords}
    forms: tuple[set[str], ...] = (set(), {"other"}, {"dim"}, {"dim", "keepdim"})
    dim = given.get("dim", 0)
    if len(args) > len(names) or set(given) not in forms or not hasattr(dim, "__index__"):
        found = [type(a).__name__ for a in args]
        found += [f"{k}={type(v).__name__}" for k, v in keywords.items()]
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"({', '.join(found)}), but expected one of:\n * ()\n * (Tensor other)\n"
            " * (int dim, bool keepdim = False)\n"
        )
    if "other" in given:
        binary = RECORDED.maximum if name == "max" else RECORDED.minimum
        return binary(input, given["other"], **({} if out is None else {"out": out}))
    if "dim" in given:
        check_keepdim(name, dim, given.get("keepdim", False))
        reduce = getattr(RECORDED, name)
        return reduce(input, dim.__index__(), bool(given.get("keepdim", False)), out=out)
    if out is not None:
        return getattr(RECORDED, f"a{name}")(input, out=out)
    return getattr(RECORDED, f"_{name}_all")(input)


def _extreme_samples() -> list[Sample]:
    ties = [[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [2.0, 2.0, 2.0]]
    nans = [[1.0, nan, nan], [inf, -inf, 0.0], [nan, 1.0, 2.0]]
    found = samples.reduction(distinct=True, multiple=False)()
    found += [Sample(T(values=v), *dim) for v in (ties, nans) for dim in ((), (0,), (1, True))]
    found += [Sample(T(3, 4), T(3, 4)), Sample(T(3, 4), T(4)), Sample(T(values=ties), dim=1)]
    found += [Sample(T(), 0), Sample(T(), -1, True), Sample(T(0, 3)), Sample(T(0, 3), 0)]
    found += [Sample(T(0, 3), 1), Sample(T(3, 4), axis=0, keepdims=True), Sample(T(3), 1)]
    found += [Sample(T(3, 4, dtype=d), grad=False) for d in ("int64", "uint8", "bool", "int8")]
    found += [Sample(T(3, 4, dtype=d), 1, grad=False) for d in ("int64", "uint8", "bool")]
    found += [Sample(T(3), 2.0), Sample(T(3), (0,)), Sample(T(3), keepdim=True), Sample(T(3), None)]
    found += [Sample(T(2, dtype="complex64"), grad=False), Sample(T(2, 3), 0, 1)]
    return found


@composite(samples=_extreme_samples)
@forms(
    "(input: Tensor, *, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "return_types.max",
    "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor",
)
def _max(input: Tensor, *args: object, **keywords: object) -> Any:
    """``max(input)``, ``max(input, dim, keepdim=False)`` or ``max(input, other)``.

    The largest element; the largest along a dimension and their indices; or elementwise.

    >>> torch.tensor([1.0, 3.0, 2.0]).max()
    tensor(3.)
    """
    if not keywords:  # the common forms, by the short way
        if not args:
            return RECORDED._max_all(input)
        if len(args) == 1 and type(args[0]) is int:
            return RECORDED.max(input, args[0])
    return _overload("max", input, args, keywords)


@composite(samples=_extreme_samples)
@forms(
    "(input: Tensor, *, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "return_types.min",
    "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor",
)
def _min(input: Tensor, *args: object, **keywords: object) -> Any:
    """``min(input)``, ``min(input, dim, keepdim=False)`` or ``min(input, other)``.

    The smallest element; the smallest along a dimension and their indices; or elementwise.

    >>> torch.tensor([2.0, 1.0, 3.0]).min()
    tensor(1.)
    """
    if not keywords:  # the common forms, by the short way
        if not args:
            return RECORDED._min_all(input)
        if len(args) == 1 and type(args[0]) is int:
            return RECORDED.min(input, args[0])
    return _overload("min", input, args, keywords)


# --------------------------------------------------------------------------- amax, amin, aminmax


def _share_reduced(
    m: Table, g: Tensor, input: Tensor, out: Tensor, dim: Ints | None, keepdim: bool
) -> Tensor:
    shape = input.shape
    mask = m.eq(input, restore_dims(m, out, shape, dim, keepdim))
    return share_among(m, restore_dims(m, g, shape, dim, keepdim), mask, dim)


def _amax_samples() -> list[Sample]:
    ties = [[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [2.0, 2.0, 2.0]]
    nans = [[1.0, nan, nan], [inf, -inf, 0.0], [nan, 1.0, 2.0]]
    dims: tuple[tuple[Any, ...], ...] = ((), (0,), ((0, 1), True), ((),))
    found = samples.reduction(distinct=True)()
    found += [Sample(T(values=values), *dim) for values in (ties, nans) for dim in dims]
    found += [Sample(T(), 0), Sample(T(), ()), Sample(T(0, 3)), Sample(T(0, 3), 0)]
    found += [Sample(T(0, 3), 1), Sample(T(3, 4), axis=0, keepdims=True), Sample(T(3), 1)]
    found += [Sample(T(3, 4, dtype=d), 0, grad=False) for d in ("int64", "uint8", "bool")]
    found += [Sample(T(2, dtype="complex64"), grad=False), Sample(T(2, 3), (0, 0))]
    return found


@op(
    input=_share_reduced,
    out=True,
    samples=_amax_samples,
    forward="reduction",
    saved_names={"dim": ("dim",)},
)
def amax(xp: Namespace, input: Array, dim: Ints | None = (), keepdim: bool = False) -> Array:
    """Largest values along dimensions; ties share the gradient evenly."""
    return _reduce_extreme("amax", xp.max, input, dim, keepdim)


@op(
    input=_share_reduced,
    out=True,
    samples=_amax_samples,
    forward="reduction",
    saved_names={"dim": ("dim",)},
)
def amin(xp: Namespace, input: Array, dim: Ints | None = (), keepdim: bool = False) -> Array:
    """Smallest values along dimensions; ties share the gradient evenly."""
    return _reduce_extreme("amin", xp.min, input, dim, keepdim)


def _reduce_extreme(
    name: str, reduce: Callable[..., Array], input: Array, dim: Ints | None, keepdim: bool
) -> Array:
    axes = wrap_dims(dim, input.ndim)
    if dim is None or dim == ():
        check_not_empty(name, input)
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    check_dims_not_empty(f"{name}()", input.shape, tuple(given) if dim else axes)
    refuse_complex(f"{name[1:]}_values_cpu", input)
    return reduce(input, axis=axes, keepdims=keepdim)


def _aminmax_gradient(
    m: Table,
    g: Tensor,
    input: Tensor,
    smallest: Tensor,
    largest: Tensor,
    dim: Ints | None,
    keepdim: bool,
) -> Tensor:
    parts = [
        _share_reduced(m, part, input, out, dim, keepdim)
        for part, out in zip(g, (smallest, largest), strict=True)
        if part is not None
    ]
    return parts[0] if len(parts) == 1 else m.add(*parts)


@op(
    input=lambda m, g, input, out0, out1, dim, keepdim: _aminmax_gradient(
        m, g, input, out0, out1, dim, keepdim
    ),
    outputs=2,
    returns=return_types.aminmax,
    out=True,
    saved_names={"min": "out0", "max": "out1"},
    samples=lambda: [
        *(Sample(T(3, 4)), Sample(T(3, 4), dim=0), Sample(T(3, 4), dim=-1, keepdim=True)),
        *(Sample(T()), Sample(T(), dim=0), Sample(T(0, 3)), Sample(T(0, 3), dim=0)),
        *(Sample(T(values=[1.0, 2.0, 1.0, 2.0])), Sample(T(values=[1.0, nan]))),
        *(Sample(T(3, dtype="int64")), Sample(T(3), dim=1), Sample(T(3), 0)),
        Sample(T(3), dtypes=HALVES),
    ],
)
def aminmax(
    xp: Namespace, input: Array, *, dim: int | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    """Smallest and largest values, of all elements or along a dimension."""
    if dim is None and not input.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    axes = wrap_dims(dim, input.ndim)
    if input.dtype.kind == "c":
        raise errors.not_implemented_for("aminmax_cpu", input.dtype)
    check_dims_not_empty("aminmax", input.shape, axes)
    lowest = xp.min(input, axis=axes, keepdims=keepdim)
    return lowest, xp.max(input, axis=axes, keepdims=keepdim)


# ------------------------------------------------------------------------------- argmax, argmin


def _index_of_extreme(
    name: str, xp: Namespace, input: Array, dim: int | None, keepdim: bool
) -> Array:
    if input.dtype.kind in "bc":
        kind = "bool" if input.dtype.kind == "b" else "complex"
        raise RuntimeError(f"{name}(): does not support {kind} input")
    if dim is not None and not hasattr(dim, "__index__"):
        raise errors.argument_type(name, "dim", 1, "int", dim)
    if dim is None and not input.size:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        )
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
        check_dims_not_empty(f"{name}()", input.shape, (dim,))
    axis = dim if input.ndim else None
    found = getattr(xp, name)(input, axis=axis, keepdims=keepdim)
    return xp.asarray(found, dtypes.I64)


def _index_samples() -> list[Sample]:
    ties = [[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [2.0, 2.0, 2.0]]
    nans = [[1.0, nan, nan], [inf, -inf, 0.0], [nan, 1.0, 2.0]]
    dims: tuple[tuple[Any, ...], ...] = ((), (0,), (1, True), (-1,), (None, True))
    both = (*FLOATS, *HALVES)
    found = [Sample(T(values=v), *dim, dtypes=both) for v in (ties, nans) for dim in dims]
    found += [Sample(T()), Sample(T(), 0), Sample(T(0, 3)), Sample(T(0, 3), 0), Sample(T(0, 3), 1)]
    found += [Sample(T(2, 3), axis=1), Sample(T(2, 3), 2), Sample(T(2, 3), (0, 1))]
    found += [Sample(T(3, dtype=d), grad=False) for d in ("int64", "uint8", "bool", "complex64")]
    return found


@op(out="structured", samples=_index_samples)
def argmax(xp: Namespace, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Index of the largest element (of the first, among equals), of all or along a dimension."""
    return _index_of_extreme("argmax", xp, input, dim, keepdim)


@op(out="structured", samples=_index_samples)
def argmin(xp: Namespace, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Index of the smallest element (of the first, among equals), of all or along a dimension."""
    return _index_of_extreme("argmin", xp, input, dim, keepdim)
