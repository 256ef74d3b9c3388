"""Order along a dimension: sort, argsort, topk, and search in sorted values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd import dtypes, return_types
from retrograd.backend.memory_order import as_it_lies
from retrograd.notices import runtime_error
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.reduction.extremes import scatter_selected
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf


def order_along(xp: Namespace, input: Array, axis: int, descending: bool) -> Array:
    """Indices that sort along an axis; equals keep their order, nan counts as the largest."""
    if not descending:
        return xp.argsort(input, axis=axis, kind="stable")
    backwards = xp.flip(input, axis)
    order = xp.flip(xp.argsort(backwards, axis=axis, kind="stable"), axis)
    return xp.subtract(input.shape[axis] - 1, order)


def _refuse_complex(input: Array) -> None:
    if input.dtype.kind == "c":
        raise runtime_error(" Sort does not support complex dtypes on CPU", code="RG304")


def _sorted(xp: Namespace, input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, input.ndim)
    _refuse_complex(input)
    if not input.ndim:
        return input.copy(), xp.zeros((), dtypes.I64)
    index = as_it_lies(order_along(xp, input, axis, descending), input)
    return as_it_lies(xp.take_along_axis(input, index, axis), input), index


def _sort_samples() -> list[Sample]:
    awkward = [[2.0, nan, 1.0, 2.0], [nan, -inf, inf, 0.0], [1.0, 1.0, 1.0, 0.0]]
    both = (*FLOATS, *HALVES)
    found = [Sample(T(5), dtypes=both), Sample(T(3, 4)), Sample(T(3, 4), 0), Sample(T(3, 4), -2)]
    found += [Sample(T(3, 4), 1, True, dtypes=both), Sample(T(3, 4), dim=0, descending=True)]
    found += [Sample(T(values=awkward), -1, down) for down in (False, True)]
    found += [Sample(T(values=awkward), dim=0, descending=True, stable=True)]
    found += [Sample(T()), Sample(T(), 0), Sample(T(0, 3)), Sample(T(0, 3), 0), Sample(T(3), 1)]
    found += [Sample(T(3, 4, dtype=d), grad=False) for d in ("int64", "uint8", "bool", "int8")]
    found += [Sample(T(6, dtype=d), 0, True, grad=False) for d in ("int64", "bool")]
    found += [Sample(T(3), stable=True), Sample(T(2, dtype="complex64"), grad=False)]
    return found


def _sort_rule(
    m: Table, g: Sequence[Tensor], out1: Tensor, input_shape: tuple[int, ...], dim: int
) -> Tensor:
    return scatter_selected(m, g[0], out1, input_shape, dim, True)


@inner_op(
    input=_sort_rule,
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.sort,
    out=True,
    saved_names={"indices": "out1"},
)
def sort(
    xp: Namespace, input: Array, dim: int = -1, descending: bool = False
) -> tuple[Array, Array]:
    """Values in order along a dimension, and where they came from."""
    return _sorted(xp, input, dim, descending)


@op(
    input=_sort_rule,
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.sort,
    out=True,
    node_name="SortBackward1",
    saved_names={"indices": "out1"},
    aten="sort.stable",
)
def _stable_sort(
    xp: Namespace, input: Array, dim: int = -1, descending: bool = False
) -> tuple[Array, Array]:
    return _sorted(xp, input, dim, descending)


@composite(samples=_sort_samples)
def _sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Sequence[Tensor] | None = None,
    axis: int | None = None,
) -> return_types.sort:
    """Values in order along a dimension, and the indices where they came from.

    Equal elements keep their order; nan counts as larger than every number.

    >>> values, indices = torch.sort(torch.tensor([3.0, 1.0, 2.0]))
    >>> values
    tensor([1., 2., 3.])
    """
    function = RECORDED.sort if stable is None else RECORDED._stable_sort
    return function(input, dim if axis is None else axis, bool(descending), out=out)


def _argsort_samples() -> list[Sample]:
    found = [Sample(T(5)), Sample(T(3, 4), 0), Sample(T(3, 4), 1, True), Sample(T())]
    found += [Sample(T(3, 4), dim=0, descending=True, stable=True), Sample(T(3), 2)]
    found += [Sample(T(values=[nan, 1.0, nan, 0.0]), descending=True), Sample(T(0))]
    found += [Sample(T(5, dtype="int64"), stable=True, grad=False)]
    return found


@op(fast=False, out=True, samples=_argsort_samples, aten="sort")
def argsort(
    xp: Namespace, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Array:
    """Indices that would sort along a dimension."""
    return _sorted(xp, input, dim, descending)[1]


@composite(
    samples=lambda: [Sample(T(3, 4)), Sample(T(5)), Sample(T(values=[nan, 1.0])), Sample(T())],
    out="structured",
)
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Values in order along the first dimension."""
    target = None if out is None else (out, input.new_empty(0, dtype=dtypes.int64))
    return RECORDED.sort(input, 0, out=target)[0]


# ---------------------------------------------------------------------------------------- topk


def _topk_samples() -> list[Sample]:
    found = [Sample(T(6, distinct=True), 3, dtypes=(*FLOATS, *HALVES)), Sample(T(5), 0)]
    found += [Sample(T(3, 4, distinct=True), 2, dim) for dim in (0, 1, -1)]
    found += [Sample(T(3, 4, distinct=True), 2, 1, False), Sample(T(3, 4, distinct=True), k=4)]
    found += [Sample(T(values=[1.0, nan, 3.0, -inf, inf]), 3, largest=big) for big in (True, False)]
    found += [
        Sample(T(), 1),
        Sample(T(), 0, 0),
        Sample(T(3), 4),
        Sample(T(3), -1),
        Sample(T(3), 1, 1),
    ]
    found += [Sample(T(values=[3, 1, 2], dtype="int64"), 2, grad=False), Sample(T(0, 3), 2)]
    # small k among many: the way that sorts only a part
    found += [Sample(T(20, distinct=True), 3, 0, big) for big in (True, False)]
    found += [
        Sample(T(3, 20, 2, distinct=True), 4, 1),
        Sample(T(20, 2, distinct=True), 2, 0, False),
    ]
    return found


@op(
    input=lambda m, g, out1, input_shape, dim: scatter_selected(
        m, g[0], out1, input_shape, dim, True
    ),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.topk,
    out=True,
    saved_names={"indices": "out1"},
    samples=_topk_samples,
)
def topk(
    xp: Namespace, input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """The `k` largest (or smallest) values along a dimension, in order, and their indices."""
    axis = wrap_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= size:
        raise runtime_error("selected index k out of range", code="RG204")
    if input.dtype.kind == "c":
        raise runtime_error("topk does not support complex dtypes on CPU", code="RG304")
    if not input.ndim:
        return input.copy(), xp.zeros((), dtypes.I64)
    if 0 < k and 4 * k < size:
        # only the part that holds the k is sorted
        edge = size - k if largest else k - 1
        part = xp.argpartition(input, edge, axis=axis)
        span = slice(size - k, None) if largest else slice(0, k)
        part = part[(*(slice(None),) * axis, span)]
        order = order_along(xp, xp.take_along_axis(input, part, axis), axis, largest)
        index = xp.take_along_axis(part, order, axis)
    else:
        order = order_along(xp, input, axis, largest)
        index = xp.ascontiguousarray(order[(*(slice(None),) * axis, slice(0, k))])
    return xp.take_along_axis(input, index, axis), index
