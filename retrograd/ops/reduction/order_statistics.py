"""Values by rank: median, mode, kthvalue, quantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend import CPU
from retrograd.backend.memory_order import laid_along
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.reduction.extremes import (
    check_dims_not_empty,
    pick,
    scatter_selected,
    share_with_equals,
)
from retrograd.ops.reduction.reduce import check_keepdim
from retrograd.ops.reduction.sorting import order_along
from retrograd.ops.registry import RECORDED, composite, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf


def _check_ordered(kernel: str, input: Array) -> None:
    if input.dtype.kind in "bc":
        raise errors.not_implemented_for(kernel, input.dtype)


def _select_rank(
    name: str, xp: Namespace, input: Array, dim: int, keepdim: bool, rank: Callable[[int], Array]
) -> tuple[Array, Array]:
    """Value and index at a rank along `dim`; `rank` takes the axis and tells which rank."""
    axis = wrap_dim(dim, input.ndim)
    check_dims_not_empty(f"{name}()", input.shape, (axis,))
    if not input.ndim:
        rank(axis)
        return pick(xp, input, input, 0, keepdim)
    order = order_along(xp, input, axis, False)
    return pick(xp, input, xp.take_along_axis(order, rank(axis), axis), axis, keepdim)


# --------------------------------------------------------------------------------------- median


def _median_of_all(name: str, xp: Namespace, input: Array) -> Array:
    """The lower median: of four elements the second."""
    _check_ordered("median_cpu", input)
    flat = input.reshape(-1)
    floating = input.dtype.kind == "f"
    if not flat.size:
        return xp.asarray(nan if floating else xp.iinfo(input.dtype).min, input.dtype)
    count = flat.size
    if floating:
        missing = int(xp.count_nonzero(xp.isnan(flat)))
        if missing and (name == "median" or missing == count):
            return xp.asarray(nan, input.dtype)
        count -= missing  # nan is sorted behind all numbers
    lower: Array = xp.partition(flat, (count - 1) // 2)[(count - 1) // 2]
    return lower


def _median_along(
    name: str, xp: Namespace, input: Array, dim: int, keepdim: bool
) -> tuple[Array, Array]:
    _check_ordered("median_out", input)

    def rank(axis: int) -> Array:
        if not input.ndim:
            return input
        count = input.shape[axis]
        missing = xp.sum(input != input, axis=axis, keepdims=True, dtype=dtypes.I64)
        if name == "median":  # the first nan, if there is one
            return xp.where(missing > 0, count - missing, (count - 1) // 2)
        return xp.maximum((count - missing - 1) // 2, 0)

    value, place = _select_rank("median", xp, input, dim, keepdim, rank)
    # not by `ascontiguousarray`, which gives an array without dimensions one
    return laid_along(value, range(value.ndim)), laid_along(place, range(place.ndim))


@op(input=share_with_equals, label="median")
def _median_all(xp: Namespace, input: Array) -> Array:
    return _median_of_all("median", xp, input)


@op(input=share_with_equals, label="nanmedian")
def _nanmedian_all(xp: Namespace, input: Array) -> Array:
    return _median_of_all("nanmedian", xp, input)


@inner_op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.median,
    out=True,
    node_name="MedianBackward1",
    saved_names={"indices": "out1"},
    aten="median.dim",
)
def median(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Lower median along a dimension, and where it is."""
    return _median_along("median", xp, input, dim, keepdim)


@inner_op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.nanmedian,
    out=True,
    node_name="NanmedianBackward1",
    saved_names={"indices": "out1"},
    aten="nanmedian.dim",
)
def nanmedian(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Lower median of the elements that are not nan along a dimension, and where it is."""
    return _median_along("nanmedian", xp, input, dim, keepdim)


def _median_samples() -> list[Sample]:
    awkward = [[2.0, nan, 1.0, 5.0], [4.0, 3.0, 1.0, 2.0], [nan, nan, nan, 7.0]]
    found = [Sample(T(*shape, distinct=True)) for shape in ((5,), (3, 4), (), (1,))]
    found += [Sample(T(3, 4, distinct=True), dim) for dim in (0, 1, -1)]
    found += [Sample(T(3, 4, distinct=True), 1, True), Sample(T(2, 3, distinct=True), dim=0)]
    found += [Sample(T(6, distinct=True), dtypes=HALVES), Sample(T(), 0), Sample(T(3), 1)]
    found += [Sample(T(values=awkward), *form) for form in ((), (0,), (1, True))]
    found += [Sample(T(values=[nan, nan])), Sample(T(values=[nan, nan]), 0)]
    found += [Sample(T(values=[2.0, 1.0, 2.0, 2.0])), Sample(T(0, 3)), Sample(T(0, 3), 0)]
    found += [
        Sample(T(0, 3), 1),
        Sample(T(5, dtype="int64"), grad=False),
        Sample(T(3, dtype="bool")),
    ]
    found += [Sample(T(values=[[3, 1, 2]], dtype="int32"), 1, grad=False)]
    return found


def _median_forms(
    name: str, input: Tensor, dim: int | None, keepdim: bool, out: Tensor | None
) -> Any:
    if dim is None:
        return getattr(RECORDED, f"_{name}_all")(input)
    check_keepdim(name, dim, keepdim)
    return getattr(RECORDED, name)(input, dim, bool(keepdim), out=out)


@composite(samples=_median_samples)
@forms(
    "(input: Tensor) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "return_types.median",
)
def _median(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Any:
    """The middle value (the lower one of two), of all elements or along a dimension.

    >>> torch.tensor([4.0, 1.0, 3.0, 2.0]).median()
    tensor(2.)
    """
    return _median_forms("median", input, dim, keepdim, out)


@composite(samples=_median_samples)
@forms(
    "(input: Tensor) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "return_types.nanmedian",
)
def _nanmedian(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Any:
    """The middle value of the elements that are not nan (see `median`)."""
    return _median_forms("nanmedian", input, dim, keepdim, out)


# ------------------------------------------------------------------------------ mode, kthvalue


@op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.mode,
    out=True,
    saved_names={"indices": "out1"},
    samples=lambda: [
        *(Sample(T(values=v)) for v in ([1.0, 1.0, 2.0], [2.0, 1.0, 2.0, 1.0, 3.0], [5.0])),
        *(Sample(T(values=[[2.0, 1.0, 2.0], [3.0, 3.0, 1.0]]), *d) for d in ((0,), (1, True))),
        *(Sample(T(4, 5, dtype="int64"), dim, grad=False) for dim in (0, -1)),
        *(Sample(T()), Sample(T(0, 3)), Sample(T(0, 3), 0), Sample(T(3), 1)),
        *(Sample(T(5, dtype="bool")), Sample(T(4), dtypes=HALVES)),
    ],
)
def mode(xp: Namespace, input: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent value along a dimension (the smallest of several), and its last index."""
    axis = wrap_dim(dim, input.ndim)
    if input.dtype.kind == "c":
        raise errors.not_implemented_for("mode_cpu", input.dtype)
    check_dims_not_empty("mode()", input.shape, (axis,))
    if not input.ndim:
        return pick(xp, input, input, 0, keepdim)
    order = order_along(xp, input, axis, False)
    ordered = xp.moveaxis(xp.take_along_axis(input, order, axis), axis, -1)
    place = xp.arange(ordered.shape[-1])
    new = xp.ones(ordered.shape, bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    # how far into its run of equals each place is: the longest run ends at the maximum
    length = place - xp.maximum_accumulate(xp.where(new, place, 0), axis=-1)
    best = xp.moveaxis(xp.argmax(length, axis=-1, keepdims=True), -1, axis)
    return pick(xp, input, xp.take_along_axis(order, best, axis), axis, keepdim)


@op(
    input=lambda m, g, out1, input_shape, dim, keepdim: scatter_selected(
        m, g[0], out1, input_shape, dim, keepdim
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.kthvalue,
    out=True,
    saved_names={"indices": "out1"},
    samples=lambda: [
        *(Sample(T(5, distinct=True), k, dtypes=(*FLOATS, *HALVES)) for k in (1, 3, 5)),
        *(Sample(T(3, 4, distinct=True), 2, *form) for form in ((0,), (1, True), (-1,))),
        *(Sample(T(), 1), Sample(T(3), 0), Sample(T(3), 4), Sample(T(0, 3), 1, 0)),
        *(Sample(T(0, 3), 1, 1), Sample(T(values=[2.0, nan, 1.0]), 3), Sample(T(3), 1, 1)),
        Sample(T(values=[3, 1, 2], dtype="int64"), 2, grad=False),
    ],
)
def kthvalue(
    xp: Namespace, input: Array, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Array, Array]:
    """The k-th smallest value along a dimension, counted from one, and where it is."""
    _check_ordered("kthvalue_cpu", input)

    def rank(axis: int) -> Array:
        if not 0 < k <= (input.shape[axis] if input.ndim else 1):
            raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
        return xp.full([1] * input.ndim, k - 1)

    return _select_rank("kthvalue", xp, input, dim, keepdim, rank)


# ------------------------------------------------------------------------------------- quantile

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(input: Tensor, q: Tensor | float, interpolation: str) -> None:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError("quantile() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise errors.runtime_error(
                "quantile() q tensor must be same dtype as the input tensor", code="RG301"
            )
        values = q._elements()
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
    elif not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )


def _quantile(
    name: str, input: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    """Sort, find the ranks that belong to `q`, interpolate between the two values around each."""
    _check_quantile(input, q, interpolation)
    m = RECORDED
    place = None if dim is None else wrap_dim(dim, input.ndim)
    if place is None or not input.ndim:
        rows = m.reshape(input, (input._array.size,))
    else:
        rows = m.transpose(m.unsqueeze(input, -1), place, -1)
    ordered = m.sort(rows, -1)[0]
    count = ordered.shape[-1]
    fractions = q if isinstance(q, Tensor) else input.new_tensor(q)
    single = fractions.ndim == 0
    if single:
        fractions = m.unsqueeze(fractions, 0)
    missing = m.isnan(ordered.detach())
    if name == "nanquantile":
        present = m.sub(m.sum(m.logical_not(missing), -1, True), 1)
        ranks = m.mul(fractions, m._to_dtype(present, input._array.dtype))
        ranks = m.masked_fill(ranks, m.lt(ranks, 0), 0.0)
    else:
        # a nan is sorted last: its rank makes the result nan
        ranks = m.mul(fractions, float(count - 1))
        broken = m.any(missing, -1, True)
        shape = CPU.xp.broadcast_shapes(ranks.shape, broken.shape)
        ranks = m.masked_fill(m.expand(ranks, shape), m.expand(broken, shape), float(count - 1))
    rounding = {"lower": m.floor, "higher": m.ceil, "nearest": m.round}.get(interpolation)
    if rounding is not None:
        ranks = rounding(ranks)
    wanted = (*ordered.shape[:-1], fractions.shape[0])
    ranks = m.expand(ranks, wanted)
    below = m._to_dtype(ranks.detach(), dtypes.I64)
    values = m.gather(ordered, -1, below)
    if rounding is None:
        above = m._to_dtype(m.ceil(ranks.detach()), dtypes.I64)
        weight = (
            m.sub(ranks, below) if interpolation == "linear" else m.mul(m.ones_like(ranks), 0.5)
        )
        values = m.lerp(values, m.gather(ordered, -1, above), weight)
    return _arranged(values, input.ndim, place, keepdim, single)


def _arranged(values: Tensor, ndim: int, dim: int | None, keepdim: bool, single: bool) -> Tensor:
    """The quantiles, last so far, moved to the front; the reduced dimension kept or dropped."""
    m = RECORDED
    if dim is None or not ndim:
        result: Tensor = m.reshape(
            values, (*values.shape, *(1,) * ndim) if keepdim else values.shape
        )
    else:
        # values: the reduced dimension is of size one, the quantiles stand behind all others
        result = values if keepdim else m.squeeze(values, dim)
        last = result.ndim - 1
        result = m.permute(result, (last, *range(last)))
    return m.squeeze(result, 0) if single else result


def _quantile_samples() -> list[Sample]:
    qs = T(values=[0.0, 0.3, 0.5, 1.0], grad=False)
    awkward = [[2.0, nan, 1.0, 5.0], [4.0, 3.0, 1.0, 2.0], [nan, nan, nan, nan]]
    found = [Sample(T(5), 0.3), Sample(T(3, 4), 0.5), Sample(T(3, 4), 0.3, 0), Sample(T(3, 4), qs)]
    found += [Sample(T(3, 4), qs, dim, keep) for dim in (0, 1, -1) for keep in (False, True)]
    found += [Sample(T(3, 4), 0.5, keepdim=True), Sample(T(3, 4), qs, keepdim=True)]
    found += [Sample(T(2, 3, 4), 0.3, dim=1, keepdim=True), Sample(T(), 0.3), Sample(T(), 0.3, 0)]
    found += [Sample(T(3, 4), 0.4, 1, interpolation=i) for i in (*_INTERPOLATIONS, "what")]
    found += [Sample(T(values=awkward), 0.5, 1), Sample(T(values=awkward), qs, 0)]
    found += [Sample(T(5), T(2, low=0.1, high=0.9)), Sample(T(5), 1.5), Sample(T(5), -0.1)]
    found += [Sample(T(5), T(values=[1.5])), Sample(T(5), T(values=[[0.5]])), Sample(T(0), 0.5)]
    found += [
        Sample(T(5, dtype="int64"), 0.5),
        Sample(T(5), 0.5, 1),
        Sample(T(5), T(2, dtype="int64")),
    ]
    return found


@composite(samples=_quantile_samples, autocast="float32")
def quantile(
    input: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The values below which a share `q` of the elements lies, of all or along a dimension.

    >>> torch.tensor([1.0, 2.0, 4.0]).quantile(0.75)
    tensor(3.)
    """
    return _into(out, _quantile("quantile", input, q, dim, keepdim, interpolation))


@composite(samples=_quantile_samples, autocast="float32")
def nanquantile(
    input: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """`quantile` of the elements that are not nan."""
    return _into(out, _quantile("nanquantile", input, q, dim, keepdim, interpolation))


def _into(out: Tensor | None, result: Tensor) -> Tensor:
    if out is None:
        return result
    out.resize_(result.shape).copy_(result.detach())
    return out
