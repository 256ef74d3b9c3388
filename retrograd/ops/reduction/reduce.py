"""Reductions that combine every element: sum, mean, prod, logsumexp, all, any."""

from __future__ import annotations

import builtins
import math
from functools import partial
from typing import Any

from retrograd import core, dtypes, samples
from retrograd.backend import backend_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.ops import errors
from retrograd.ops.calling.aten_names import by_dim
from retrograd.ops.kinds import (
    Array,
    DType,
    Ints,
    Namespace,
    restore_dims,
    wrap_dim,
    wrap_dims,
)
from retrograd.ops.registry import (
    RECORDED,
    Table,
    composite,
    inner_op,
    method_only,
    op,
    table_entry,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf

# ------------------------------------------------------------------------------------- helpers


def cast_summands(input: Array, dtype: dtypes.dtype | None) -> Array:
    """Elements in the dtype that a sum or product of them has: integers add up in int64."""
    if dtype is None:
        return input.astype(dtypes.I64) if input.dtype.kind in "biu" else input
    if input.dtype.kind == "c" and not dtype.is_complex:
        input = input.real
    cast = input.astype(dtype.numpy)
    return cast.astype(dtypes.F32) if dtype.numpy in dtypes.HALF_TYPES else cast


def cast_total(total: Array, dtype: dtypes.dtype | None) -> Array:
    """Half precision was added up in float32: round the result."""
    return total.astype(dtype.numpy) if dtype is not None else total


# rows that one product adds up; the sums of these blocks are then added in turn
_BLOCK = 512


def add_along(xp: Namespace, input: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The sum along axes.

    Along the last axis NumPy adds pairwise, along others row by row, where rounding errors grow
    with the length. So many rows are added by matrix products with ones, in blocks: the error
    stays small, and it is several times as fast.
    """
    total: Array
    if input.size < 2 * _BLOCK or not axes:
        if len(axes) == 1 and input.size:
            small = _add_small(xp, input, axes[0], keepdims)
            if small is not None:
                return small
        return xp.sum(input, axis=axes, keepdims=keepdims)
    first, last = min(axes), max(axes) + 1
    rows = math.prod(input.shape[first:last])
    if (
        rows < 2 * _BLOCK
        or last == input.ndim
        or last - first != len(axes)
        or input.dtype.kind != "f"
        or not input.flags.c_contiguous
    ):
        return xp.sum(input, axis=axes, keepdims=keepdims)
    lead, rest = input.shape[:first], input.shape[last:]
    table = input.reshape(math.prod(lead), rows, math.prod(rest))
    whole = rows - rows % _BLOCK
    blocks = table[:, :whole].reshape(table.shape[0], -1, _BLOCK, table.shape[2])
    total = xp.sum((xp.ones((1, _BLOCK), input.dtype) @ blocks)[:, :, 0], axis=1)
    if whole != rows:
        total += xp.sum(table[:, whole:], axis=1)
    return total.reshape(*lead, *((1,) * len(axes) if keepdims else ()), *rest)


def _add_small(xp: Namespace, input: Array, axis: int, keepdims: bool) -> Array | None:
    """NumPy's sum along one axis by a compiled kernel, a tenth of the time, or None."""
    before, after = input.shape[:axis], input.shape[axis + 1 :]
    if keepdims or before:
        total = xp.sum_to(input, (*before, 1, *after))
        return total if keepdims or total is None else total.reshape((*before, *after))
    return xp.sum_to(input, after)


def _over_rows(
    mean: bool, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array | None:
    found: Array | None = rows.sum_over(input, dim, keepdim, mean) if dtype is None else None
    return found


def check_keepdim(function: str, dim: object, keepdim: object) -> None:
    """``x.sum(0, 1)`` is a mistake for ``x.sum((0, 1))``: keepdim must be a bool."""
    if keepdim is not False and keepdim is not True and type(keepdim) is not dtypes.B8.type:
        if function == "sum":
            raise errors.argument_type(function, "keepdim", 2, "bool", keepdim)
        raise errors.invalid_combination(function, [dim, keepdim])


def count_along(shape: tuple[int, ...], dim: Ints | None) -> int:
    """How many elements a reduction over `dim` combines."""
    return math.prod(shape[d] for d in wrap_dims(dim, len(shape))) if shape else 1


def has_zeros(value: Tensor | Array) -> bool:
    """Whether an array or Tensor holds a zero: products then need another formula."""
    array = value._elements() if isinstance(value, Tensor) else value
    return not backend_of(array).xp.all(array)


def spread(m: Table, g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A 0-d gradient at every place: filled in at once on arrays, an expanded view on Tensors."""
    if m is RECORDED:
        return m.expand(g, shape)
    filled: Tensor = m.xp.filled(shape, g, g.dtype)
    return filled


# ----------------------------------------------------------------------------------------- sum


@op(
    input=lambda m, g, input_shape: spread(m, g, input_shape),
    label="sum",
    forward="linear",
)
def _sum_all(xp: Namespace, input: Array, dtype: dtypes.dtype | None = None) -> Array:
    return cast_total(xp.sum_all(cast_summands(input, dtype)), dtype)


@inner_op(
    input=lambda m, g, input_shape, dim, keepdim: m.expand(
        restore_dims(m, g, input_shape, dim, keepdim), input_shape
    ),
    node_name="SumBackward1",
    out=True,
    lies="rows",
    forward="linear",
    aten="sum.dim_IntList",
    saved_names={"dim": ("dim",)},
)
def sum(
    xp: Namespace,
    input: Array,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Array:
    """Sum along dimensions."""
    axes = wrap_dims(dim, input.ndim)
    return cast_total(add_along(xp, cast_summands(input, dtype), axes, keepdim), dtype)


compiled_first("sum", partial(_over_rows, False), short=True)


def _sum_samples() -> list[Sample]:
    more = [Sample(T(3, 4), dtypes=COMPLEX), Sample(T(3, 4), 0, True, dtypes=COMPLEX)]
    more += [Sample(T(2, 0, 3)), Sample(T(2, 0, 3), 1), Sample(T(2, 0, 3), (0, 2))]
    more += [Sample(T(3, 4), ()), Sample(T(3, 4), [0, 1], True), Sample(T(), 0), Sample(T(), -1)]
    more += [Sample(T(3, 4), axis=1, keepdims=True), Sample(T(3, 4), None, True)]
    more += [Sample(T(1500, 2), 0), Sample(T(2, 1030, 3), 1, True), Sample(T(40, 30, 2), (1, 0))]
    more += [Sample(T(3, 4, dtype=name), grad=False) for name in ("bool", "uint8", "int32")]
    more += [Sample(T(3, 4, dtype=name), 0, grad=False) for name in ("bool", "uint8", "int8")]
    more += [Sample(T(3), dtype=f"dtype:{d}") for d in ("float64", "float16")]
    more += [Sample(T(3), dtype="dtype:int32", grad=False)]
    more += [Sample(T(2, 3), 1, dtype=f"dtype:{d}") for d in ("float64", "bfloat16")]
    more += [Sample(T(values=[1.0, nan, inf])), Sample(T(values=[[-inf, inf], [1, 2]]), 0)]
    more += [Sample(T(3, 4), 2), Sample(T(3, 4), (0, 0)), Sample(T(3, 4), (0, -2))]
    more += [Sample(T(), 1), Sample(T(3, 4), 0, 1), Sample(T(3, 4), "x"), Sample(T(3), 0.5)]
    return more


@composite(samples=lambda: samples.reduction()() + _sum_samples())
@core.shortcut("reduction", _sum_all, sum)
def _sum(
    input: Tensor,
    dim: Any = ...,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Tensor | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The sum of all elements, or along one or several dimensions.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(1)
    tensor([3., 7.])
    """
    if axis is None and not keepdims and dtype is None and out is None:
        # the common forms, by the short way
        if dim is ... and keepdim is False:
            return RECORDED._sum_all(input)
        if type(dim) is int and type(keepdim) is bool:
            return RECORDED.sum(input, dim, keepdim)
    elif dim is ... and axis is None and not keepdim and not keepdims and out is None:
        return RECORDED._sum_all(input, dtypes.as_dtype(dtype, "sum"))
    dim = None if dim is ... else dim  # a given None is another function of PyTorch's
    dim = checked_dims("sum", dim if axis is None else axis, keepdim)
    dtype = dtypes.as_dtype(dtype, "sum")
    if dtype is None and out is not None:
        dtype = out.dtype
    return RECORDED.sum(input, dim, bool(keepdim or keepdims), dtype=dtype, out=out)


def checked_dims(function: str, dim: Any, keepdim: bool = False) -> Any:
    """A ``dim=`` argument: None, an int or a tuple of ints; TypeError for anything else."""
    check_keepdim(function, dim, keepdim)
    if dim is None or type(dim) is int:
        return dim
    try:
        if isinstance(dim, (tuple, list)):
            return tuple(d.__index__() for d in dim)
        if not isinstance(dim, bool):
            return dim.__index__()
    except (AttributeError, TypeError):
        pass
    raise errors.invalid_combination(function, [dim])


@inner_op(
    input=lambda m, g, input_shape: m.expand(g, input_shape),
    node_name="SumBackward1",
    forward="linear",
)
def sum_to_size(xp: Namespace, input: Array, size: tuple[int, ...]) -> Array:
    """Sum over the dimensions that broadcasting `size` to the input's shape would add."""
    if input.size < 2 * _BLOCK:
        small: Array | None = xp.sum_to(input, size)
        if small is not None:
            return small
    lead = input.ndim - len(size)
    total = add_along(xp, input, tuple(range(lead)), False) if lead else input
    axes = tuple(i for i, n in enumerate(size) if n == 1 and total.shape[i] != 1)
    if axes:
        return add_along(xp, total, axes, True)
    return total if lead else xp.array(input)


@method_only(
    samples=lambda: [
        *(Sample(T(2, 3, 4), *size) for size in ((2, 1, 4), (1, 1), (4,), (2, 3, 4), ((),))),
        *(Sample(T(2, 3), (1, 3)), Sample(T(2, 3), 5), Sample(T(3), 2, 3)),
    ]
)
@forms(*sized(before="self: Tensor"))
def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum the tensor down to `size`, the inverse of broadcasting."""
    wanted = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    wanted = tuple(int(n) for n in wanted)
    shape = self._array.shape
    if shape == wanted:
        return self
    pairs = zip(reversed(wanted), reversed(shape), strict=False)
    if len(wanted) > len(shape) or builtins.any(n not in (1, have) for n, have in pairs):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    if self._array.dtype.kind in "biu":
        self = RECORDED._to_dtype(self, dtypes.I64)
    return RECORDED.sum_to_size(self, wanted)


@op(
    input=lambda m, g, input, dim, keepdim: m.mul(
        m.expand(restore_dims(m, g, input.shape, dim, keepdim), input.shape),
        m.logical_not(m.isnan(input)),
    ),
    out=True,
    samples=lambda: [
        *samples.reduction()(),
        *(Sample(T(values=[[1.0, nan], [nan, nan]]), *dim) for dim in ((), (0,), (1, True))),
        *(Sample(T(3, dtype=name), grad=False) for name in ("int64", "bool", "uint8")),
        Sample(T(values=[1.0, nan]), dtype="dtype:float64"),
        Sample(T(2, dtype="complex64"), grad=False),
    ],
    forward="reduction",
    saved_names={"dim": ("dim",)},
)
def nansum(
    xp: Namespace,
    input: Array,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Array:
    """Sum that counts nan as zero."""
    if input.dtype.kind == "c":
        raise errors.runtime_error("nansum on CPU does not support complex inputs", code="RG304")
    if dtype is not None and dtype.is_complex and input.dtype.kind not in "biu":
        raise errors.explained(
            NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtype.type_name}'"),
            code="RG304",
        )
    axes = wrap_dims(dim, input.ndim)
    if input.dtype.kind not in "biu":
        input = xp.where(xp.isnan(input), xp.asarray(0, input.dtype), input)
    total = xp.sum(cast_summands(input, dtype), axis=axes, keepdims=keepdim)
    return cast_total(total, dtype)


# ---------------------------------------------------------------------------------------- mean


def spread_mean(
    m: Table, g: Tensor, shape: tuple[int, ...], dim: Ints | None, keepdim: bool
) -> Tensor:
    """The gradient of a mean: on arrays the small one is divided, then repeated."""
    count = count_along(shape, dim)
    restored = restore_dims(m, g, shape, dim, keepdim)
    if m is not RECORDED:
        return m.expand(m.div(restored, count), shape)
    return m.div(m.expand(restored, shape), count)


def _check_mean(input: Array, dtype: dtypes.dtype | None) -> None:
    if dtype is None and input.dtype.kind in "fc":
        return
    found = dtypes.from_numpy_dtype(input.dtype) if dtype is None else dtype
    if found.category < dtypes.FLOAT:
        kind = "Input" if dtype is None else "Optional"
        raise errors.runtime_error(
            f"mean(): could not infer output dtype. {kind} dtype must be either a floating "
            f"point or complex dtype. Got: {found.type_name}",
            code="RG304",
        )


@op(
    input=lambda m, g, input_shape: (
        spread(m, m.div(g, math.prod(input_shape)), input_shape)
        if m is not RECORDED
        else m.div(m.expand(g, input_shape), math.prod(input_shape))
    ),
    label="mean",
    forward="linear",
)
def _mean_all(xp: Namespace, input: Array, dtype: dtypes.dtype | None = None) -> Array:
    _check_mean(input, dtype)
    total = xp.sum_all(cast_summands(input, dtype))
    return cast_total(xp.divide(total, input.size), dtype)


@inner_op(
    input=lambda m, g, input_shape, dim, keepdim: spread_mean(m, g, input_shape, dim, keepdim),
    node_name="MeanBackward1",
    out=True,
    lies="rows",
    forward="linear",
    aten="mean.dim",
    saved_names={"dim": ("dim",)},
)
def mean(
    xp: Namespace,
    input: Array,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Array:
    """Arithmetic mean along dimensions."""
    _check_mean(input, dtype)
    axes = wrap_dims(dim, input.ndim)
    total = add_along(xp, cast_summands(input, dtype), axes, keepdim)
    return cast_total(xp.divide(total, count_along(input.shape, dim)), dtype)


compiled_first("mean", partial(_over_rows, True), short=True)


def _mean_samples() -> list[Sample]:
    more = [Sample(T(3, 4), dtypes=COMPLEX), Sample(T(3, 4), 0, True, dtypes=COMPLEX)]
    more += [Sample(T(2, 0, 3)), Sample(T(2, 0, 3), 1), Sample(T(2, 0, 3), (0, 2))]
    more += [Sample(T(3, 4), ()), Sample(T(), 0), Sample(T(3, 4), axis=1, keepdims=True)]
    more += [Sample(T(3, 4, dtype=name), grad=False) for name in ("bool", "uint8", "int64")]
    more += [Sample(T(3, 4, dtype="int64"), 0, grad=False, dtype="dtype:float32")]
    more += [Sample(T(3), dtype=f"dtype:{d}") for d in ("float64", "float16", "int32")]
    more += [Sample(T(3, 4), 2), Sample(T(3, 4), (0, 0)), Sample(T(3), 0, 1), Sample(T(3), "x")]
    return more


@composite(samples=lambda: samples.reduction()() + _mean_samples())
@core.shortcut("reduction", _mean_all, mean)
def _mean(
    input: Tensor,
    dim: Any = ...,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Tensor | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The arithmetic mean of all elements, or along one or several dimensions.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0)
    tensor([2., 3.])
    """
    if axis is None and not keepdims and dtype is None and out is None:
        if dim is ... and keepdim is False:
            return RECORDED._mean_all(input)
        if type(dim) is int and type(keepdim) is bool:
            return RECORDED.mean(input, dim, keepdim)
    elif dim is ... and axis is None and not keepdim and not keepdims and out is None:
        return RECORDED._mean_all(input, dtypes.as_dtype(dtype, "mean"))
    dim = None if dim is ... else dim  # a given None is another function of PyTorch's
    dim = checked_dims("mean", dim if axis is None else axis, keepdim)
    dtype = dtypes.as_dtype(dtype, "mean")
    return RECORDED.mean(input, dim, bool(keepdim or keepdims), dtype=dtype, out=out)


@composite(
    samples=lambda: [
        *samples.reduction()(),
        *(Sample(T(values=[[1.0, nan], [nan, nan]]), *dim) for dim in ((), (0,), (1, True))),
        Sample(T(3, dtype="int64"), grad=False),
    ]
)
def nanmean(
    input: Tensor,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The mean of the elements that are not nan."""
    if input.dtype.category < dtypes.FLOAT:
        raise errors.runtime_error(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.type_name}",
            code="RG304",
        )
    if dtype is not None and dtype.category < dtypes.FLOAT:
        raise errors.runtime_error(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {dtype.type_name}",
            code="RG304",
        )
    count = RECORDED.sum(RECORDED.logical_not(RECORDED.isnan(input.detach())), dim, keepdim)
    return RECORDED.div(RECORDED.nansum(input, dim, keepdim, dtype=dtype), count)


# ---------------------------------------------------------------------------------------- prod


def product_of_others(m: Table, input: Tensor, dim: int) -> Tensor:
    """At each place, the product of all other elements along `dim`, without a division."""
    count = input.shape[dim]
    ones = m.ones_like(m.narrow(input, dim, 0, 1))
    if count == 1:
        return ones
    before = m.cat([ones, m.narrow(input, dim, 0, count - 1)], dim)
    after = m.cat([ones, m.flip(m.narrow(input, dim, 1, count - 1), (dim,))], dim)
    return m.mul(m.cumprod(before, dim), m.flip(m.cumprod(after, dim), (dim,)))


def _product_gradient(
    m: Table, g: Tensor, input: Tensor, out: Tensor, input_dtype: DType, out_dtype: DType
) -> Tensor:
    if not input.shape:
        return g
    if input_dtype != out_dtype:  # what was multiplied; of complex numbers maybe the real parts
        input = m._to_dtype(input, out_dtype)
    if not has_zeros(input):
        return m.mul(g, m.div(out, input))
    flat = m.reshape(input, (math.prod(input.shape),))
    return m.mul(g, m.reshape(product_of_others(m, flat, 0), tuple(input.shape)))


def _product_gradient_along(
    m: Table,
    g: Tensor,
    input: Tensor,
    out: Tensor,
    dim: int,
    keepdim: bool,
    input_dtype: DType,
    out_dtype: DType,
) -> Tensor:
    if not input.shape:
        return g
    if input_dtype != out_dtype:
        input = m._to_dtype(input, out_dtype)
    g = restore_dims(m, g, input.shape, dim, keepdim)
    if not has_zeros(input):
        return m.mul(g, m.div(restore_dims(m, out, input.shape, dim, keepdim), input))
    return m.mul(g, product_of_others(m, input, wrap_dim(dim, len(input.shape))))


@op(
    input=_product_gradient,
    label="prod",
    forward="reduction",
    autocast="float32",
)
def _prod_all(xp: Namespace, input: Array, dtype: dtypes.dtype | None = None) -> Array:
    total = xp.prod(cast_summands(input, dtype), axis=None)
    return cast_total(total, dtype)


@inner_op(
    input=_product_gradient_along,
    node_name="ProdBackward1",
    out=True,
    forward="reduction",
    autocast="float32",
    aten="prod.dim_int",
)
def prod(
    xp: Namespace,
    input: Array,
    dim: int = 0,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Array:
    """Product along a dimension."""
    axes = wrap_dims(dim, input.ndim)
    total = xp.prod(cast_summands(input, dtype), axis=axes, keepdims=keepdim)
    return cast_total(total, dtype)


def _prod_samples() -> list[Sample]:
    zeros = [[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, -1.0, 0.0]]
    more = [Sample(T(values=zeros), 1), Sample(T(values=zeros), 0, True)]
    more += [Sample(T(values=[2.0, 0.0, 3.0])), Sample(T(values=[[2.0, 0.5], [0.0, 3.0]]))]
    # PyTorch forgets the second derivative of a full product with two zeros
    more += [Sample(T(values=[2.0, 0.0, 0.0, 3.0]), second=False), Sample(T(values=0.0))]
    more += [Sample(T(values=[[0.0], [2.0]]), 1), Sample(T(values=[[0.0]]))]
    more += [Sample(T(2, 3), dtypes=COMPLEX), Sample(T(2, 3), 1, dtypes=COMPLEX)]
    more += [Sample(T(0)), Sample(T(2, 0), 1), Sample(T(0, 2), 1), Sample(T(), 0)]
    more += [Sample(T(3, 4, dtype=name), grad=False) for name in ("bool", "uint8", "int32")]
    more += [Sample(T(2, 3, dtype=name), 1, grad=False) for name in ("bool", "int8")]
    more += [Sample(T(3), dtype="dtype:float64"), Sample(T(2, 3), 1, dtype="dtype:float64")]
    more += [Sample(T(3), dtype="dtype:float64", dtypes=COMPLEX)]
    more += [Sample(T(2, 3), 1, dtype="dtype:float64", dtypes=COMPLEX)]
    more += [Sample(T(3, 4), 2), Sample(T(3, 4), (0, 1)), Sample(T(3, 4), axis=0, keepdims=True)]
    return more


@composite(
    samples=lambda: samples.reduction(multiple=False)() + _prod_samples(), autocast="float32"
)
def _prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The product of all elements, or along one dimension.

    >>> torch.tensor([1.0, 2.0, 3.0]).prod()
    tensor(6.)
    """
    dim = dim if axis is None else axis
    dtype = dtypes.as_dtype(dtype, "prod")
    if dim is None:
        return RECORDED._prod_all(input, dtype)
    check_keepdim("prod", dim, keepdim)
    if not hasattr(dim, "__index__"):
        raise errors.invalid_combination("prod", [dim])
    dim = dim.__index__()
    return RECORDED.prod(input, dim, bool(keepdim or keepdims), dtype=dtype, out=out)


# ----------------------------------------------------------------------------------- logsumexp


def _logsumexp_samples() -> list[Sample]:
    more = [Sample(T(3, 4), 0), Sample(T(3, 4), (0, 1)), Sample(T(2, 3, 4), (0, -1), True)]
    more += [Sample(T(3, 4), -1, dtypes=(*FLOATS, *HALVES)), Sample(T(), 0)]
    more += [Sample(T(3, 4), dim=1, keepdim=True), Sample(T(values=[1000.0, 1000.0, -1e30]), 0)]
    more += [Sample(T(values=[[-inf, -inf], [-inf, 1.0]]), 1), Sample(T(values=[inf, 1.0]), 0)]
    more += [Sample(T(values=[nan, 1.0]), 0), Sample(T(0, 3), 0), Sample(T(0, 3), 1)]
    more += [Sample(T(3, dtype=name), 0, grad=False) for name in ("int64", "bool")]
    more += [Sample(T(2, 3), 1, dtypes=COMPLEX), Sample(T(2, 3), 2), Sample(T(2, 3), (1, 1))]
    return more


def _logsumexp_gradient(
    m: Table, g: Any, input: Any, out: Any, dim: Ints | None, keepdim: bool
) -> Any:
    shifted = m.sub(input, restore_dims(m, out, input.shape, dim, keepdim))
    return m.mul(restore_dims(m, g, input.shape, dim, keepdim), m.exp(shifted))


def _recorded_logsumexp_gradient(
    g: Tensor, input: Tensor, out: Tensor, dim: Ints | None, keepdim: bool
) -> Tensor:
    found: Tensor = _logsumexp_gradient(RECORDED, g, input, out, dim, keepdim)
    return found


table_entry(
    "_logsumexp_gradient",
    lambda xp, *arguments: _logsumexp_gradient(xp.raw, *arguments),
    _recorded_logsumexp_gradient,
)
compiled_first("_logsumexp_gradient", "logsumexp_gradient")


@op(
    input=lambda m, g, input, out, dim, keepdim: m._logsumexp_gradient(g, input, out, dim, keepdim),
    float_result=True,
    elementwise=False,
    samples=_logsumexp_samples,
    forward="reduction",
    second_names=("special.logsumexp",),
    saved_names={"dim": ("dim",)},
    inplace=False,
    lies="rows",
)
def logsumexp(xp: Namespace, input: Array, dim: Ints | None, keepdim: bool = False) -> Array:
    """``log(sum(exp(input)))`` along dimensions, without overflow."""
    axes = wrap_dims(dim, input.ndim)
    real = input.real if input.dtype.kind == "c" else input
    if not real.size:
        shape = [1 if axis in axes else size for axis, size in enumerate(input.shape)]
        result = xp.full(shape, -inf, input.dtype)
        return result if keepdim else xp.squeeze(result, axes)
    peak = xp.max(real, axis=axes, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, xp.asarray(0, real.dtype))
    total = xp.sum(xp.exp(input - peak), axis=axes, keepdims=True)
    result = xp.log(total) + peak
    return result if keepdim else xp.squeeze(result, axes)


compiled_first(
    "logsumexp", lambda input, dim, keepdim=False: rows.logsumexp(input, dim, keepdim), short=True
)


# ------------------------------------------------------------------------------- all, any, count


def _truth(name: str, xp: Namespace, input: Array, dim: Ints | None, keepdim: bool) -> Array:
    # unlike elsewhere, an empty tuple of dimensions reduces nothing
    axes = wrap_dims(dim, input.ndim) if dim is None or dim != () else ()
    result: Array = getattr(xp, name)(input, axis=axes, keepdims=keepdim)
    return result.astype(dtypes.U8) if input.dtype is dtypes.U8 else result


def _truth_samples() -> list[Sample]:
    forms: list[tuple[Any, ...]] = [(), (0,), (1, True), ((0, 1),), ((0, -1), True), (None,), ((),)]
    found = [Sample(T(3, 4, dtype="bool"), *form, grad=False) for form in forms]
    found += [Sample(T(2, 3, dtype="uint8", high=1), *form, grad=False) for form in forms]
    found += [Sample(T(values=[0.0, nan, 1.0])), Sample(T(0, 3)), Sample(T(0, 3), 0), Sample(T())]
    found += [Sample(T(3), dtypes=(*COMPLEX, *HALVES)), Sample(T(3), 1), Sample(T(2, 3), (0, 0))]
    return found


@op(
    fast=False,
    out="bool or uint8",
    lies="rows",
    samples=_truth_samples,
    aten=by_dim("dim", "dims"),
)
def all(xp: Namespace, input: Array, dim: Ints | None = None, keepdim: bool = False) -> Array:
    """Whether all elements are true (not zero)."""
    return _truth("all", xp, input, dim, keepdim)


@op(
    fast=False,
    out="bool or uint8",
    lies="rows",
    samples=_truth_samples,
    aten=by_dim("dim", "dims"),
)
def any(xp: Namespace, input: Array, dim: Ints | None = None, keepdim: bool = False) -> Array:
    """Whether some element is true (not zero)."""
    return _truth("any", xp, input, dim, keepdim)


@op(
    fast=False,
    samples=lambda: [
        *(Sample(T(3, 4, dtype="int64"), *form, grad=False) for form in ((), (0,), ((0, 1),))),
        *(Sample(T(values=[0.0, nan, 2.0])), Sample(T(2, 3), ()), Sample(T(0, 3), 0)),
        *(Sample(T(2, dtype="bool"), dim=0), Sample(T()), Sample(T(2), 1)),
        Sample(T(2), dtypes=(*COMPLEX, *HALVES)),
    ],
    aten=by_dim("default", "dim_IntList"),
)
def count_nonzero(xp: Namespace, input: Array, dim: Ints | None = None) -> Array:
    """How many elements are not zero."""
    axes = wrap_dims(dim, input.ndim)
    return xp.sum(input != 0, axis=axes, dtype=dtypes.I64)
