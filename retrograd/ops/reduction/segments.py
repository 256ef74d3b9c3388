"""Reductions of pieces: `segment_reduce`, and histograms of points in several dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend import backend_of
from retrograd.backend.quiet import quiet
from retrograd.ops import errors
from retrograd.ops.calling.examples import by_example
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.neural.operand_checks import no_backward
from retrograd.ops.reduction.counting import bins_of
from retrograd.ops.registry import RECORDED, function_only
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_NAMES = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin"}
_NAMES |= {"amax": "amax", "amin": "amin"}
_EMPTY = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "amax": -math.inf, "amin": math.inf}


def _segment_samples() -> list[Sample]:
    lengths = T(values=[3, 0, 5], dtype="int64")
    rows = T(values=[[1, 1], [2, 0], [0, 2]], dtype="int64")
    names = ("sum", "mean", "max", "min", "prod")
    full = T(values=[3, 5], dtype="int64")
    found = [Sample(T(8, distinct=True), name, lengths=full, second=False) for name in names]
    found += [
        Sample(T(8, distinct=True), name, lengths=lengths, initial=0.3, second=False)
        for name in names
    ]
    # without an initial value, what an empty piece gives may not be finite
    found += [Sample(T(8, grad=False), name, lengths=lengths) for name in names]
    return [
        *found,
        Sample(T(8), "sum", lengths=lengths, second=False, dtypes=(*FLOATS, *HALVES)),
        Sample(T(8, 2), "mean", lengths=T(values=[6, 2], dtype="int64"), second=False),
        Sample(T(3, 2), "sum", lengths=rows, axis=1, second=False),
        Sample(T(3, 2, 2), "max", lengths=rows, axis=1, initial=0.0, second=False),
        Sample(T(8), "sum", offsets=T(values=[0, 3, 3, 8], dtype="int64"), second=False),
        Sample(T(8), "sum", lengths=lengths, unsafe=True, second=False),
        Sample(T(values=[1.0, 3.0, 3.0]), "max", lengths=T(values=[3], dtype="int64"),
               second=False),
        Sample(T(8), "odd", lengths=lengths, error=(RuntimeError, "reduce argument must")),
        Sample(T(8), "sum", error=(RuntimeError, "segment_reduce(): Either lengths or off")),
        Sample(T(7), "sum", lengths=lengths, error=(RuntimeError, "segment_reduce(): Exp")),
        Sample(
            *(T(8), "sum"),
            lengths=T(values=[3, -1, 6], dtype="int64"),
            error=(RuntimeError, "lengths contains negative value!"),
        ),
        Sample(
            *(T(8), "sum"),
            lengths=T(values=[3, -1, 6], dtype="int64"),
            unsafe=True,
            error=(RuntimeError, "Expected segment_length >= 0 to be true, but got false."),
        ),
        Sample(T(8, dtype="int64"), "sum", lengths=lengths, error=(NotImplementedError, '"_s')),
        Sample(T(8), "sum", lengths=lengths, axis=1, error=(IndexError, "Dimension out of")),
        Sample(T(8), "sum", indices=lengths, error=(RuntimeError, "segment_reduce(): ind")),
        Sample(T(2, 8), "sum", lengths=lengths, axis=1, error=(RuntimeError, "segment_red")),
    ]  # fmt: skip


@function_only(samples=_segment_samples)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sum, mean, maximum, minimum or product of consecutive pieces along `axis`.

    >>> torch.segment_reduce(torch.arange(5.0), "sum", lengths=torch.tensor([2, 3]))
    tensor([1., 9.])
    """
    axis = wrap_dim(axis, data.ndim)
    if reduce not in _NAMES:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given = lengths if lengths is not None else offsets
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if axis != given.ndim - 1:
        word = "lengths" if lengths is not None else "offsets"
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {word} but got {axis}."
        )
    if given._level:
        raise RuntimeError(
            "vmap: segment_reduce() of lengths that differ between examples is not supported"
        )
    xp = backend_of(given._array).xp
    counts = given._array if lengths is not None else xp.diff(given._array, axis=-1)
    no_backward("segment_reduce", lengths=lengths, offsets=offsets)
    size = data.shape[axis]
    if not unsafe and lengths is not None:
        if counts.dtype.kind == "c":
            raise errors.not_implemented_for("min_all", counts.dtype)
        if not counts.size:
            raise RuntimeError(
                "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument."
            )
        if counts.size and counts.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (counts.sum(axis=-1) != size).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    if counts.dtype.kind not in "iu":
        raise errors.not_implemented_for("_segment_reduce_lengths_cpu_kernel1", counts.dtype)
    if data.dtype.category != dtypes.FLOAT:
        raise errors.not_implemented_for("_segment_reduce_cpu", data._array.dtype)
    if counts.size and counts.min() < 0:
        raise RuntimeError(
            "Expected segment_length >= 0 to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return _reduced(data, _NAMES[reduce], counts, axis, initial)


def _reduced(data: Tensor, way: str, counts: Array, axis: int, initial: float | None) -> Tensor:
    xp = backend_of(counts).xp
    pieces = counts.shape[-1]
    places = _places(xp, counts, data.shape[axis])
    lead = (*places.shape, *(1,) * (data.ndim - axis - 1))
    index = wrap(xp.ascontiguousarray(xp.broadcast_to(places.reshape(lead), data.shape)))
    shape = list(data.shape)
    shape[axis] = pieces + 1  # the last one takes what belongs to no piece
    start = _EMPTY[way] if initial is None else float(initial)
    if way == "mean":
        start = 0.0 if initial is None else start
    base = wrap(xp.full(shape, start, data._array.dtype))
    plain = "sum" if way == "mean" else way
    with_start = way in ("sum", "mean", "prod")
    found = RECORDED.scatter_reduce(base, axis, index, data, plain, include_self=with_start)
    found = RECORDED.narrow(found, axis, 0, pieces)
    if way == "mean":
        numbers = counts.reshape((*counts.shape, *(1,) * (data.ndim - axis - 1)))
        divisor = numbers.astype(data._array.dtype)
        if initial is not None:
            divisor = xp.maximum(divisor, 1)
        found = found / wrap(divisor)
    elif initial is not None and not with_start:
        below = found < start if way == "amax" else found > start
        found = RECORDED.masked_fill(found, below, start)
    return found


def _places(xp: Namespace, counts: Array, size: int) -> Array:
    """For each element along the axis, the number of its piece; one more for those of none."""
    rows = counts.reshape(-1, counts.shape[-1]) if counts.size else counts.reshape(-1, 1)
    pieces = counts.shape[-1]
    found = xp.full((len(rows), size), pieces, dtypes.I64)
    for row, ends in zip(found, xp.cumsum(rows, axis=1), strict=True):
        row[...] = xp.searchsorted(ends, xp.arange(size), "right")
    return found.reshape((*counts.shape[:-1], size))


# ------------------------------------------------------------------------------------ histogram


def _histogram_samples() -> list[Sample]:
    edges = [T(values=[-2.0, 0.0, 1.0], grad=False), T(values=[-1.0, -0.5, 2.0], grad=False)]
    points = T(6, 2, grad=False)
    return [
        Sample(points, [3, 2]),
        Sample(points, 4),
        Sample(points, [2, 2], range=[-1.0, 1.0, 0.0, 1.5]),
        Sample(points, [2, 2], weight=T(6, low=0.5, grad=False), density=True),
        Sample(points, edges),
        Sample(points, [T(values=[-1.0, 1.0, 0.0, 2.0], grad=False), edges[1]]),
        Sample(points, [T(values=[-1.0, math.nan, 1.0], grad=False), edges[1]], density=True),
        Sample(T(2, 3, 3, grad=False), [2, 1, 2]),
        Sample(points, [3], error=(RuntimeError, "histogramdd: The size of bins must be")),
        Sample(T(6, 2, dtype="int64"), [2, 2], error=(NotImplementedError, '"histogramdd"')),
        Sample(T(6, grad=False), [2], error=(RuntimeError, "torch.histogramdd: input tensor")),
        Sample(points, [2, 2], range=[0.0, 1.0], error=(RuntimeError, "torch.histogramdd: fo")),
        Sample(points, [2, 2], weight=T(5, grad=False), error=(RuntimeError, "torch.histogra")),
        Sample(points, [0, 2], error=(RuntimeError, "torch.histogram(): bins must be > 0")),
    ]


@function_only(samples=_histogram_samples)
@by_example
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """Counts (or weights) of points in boxes, and the edges along each dimension.

    The last dimension of `input` holds coordinates; `bins` is a number of bins, one for each
    dimension, or the edges along each.

    >>> points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
    >>> torch.histogramdd(points, [2, 2]).hist
    tensor([[1., 0.],
            [0., 2.]])
    """
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.not_implemented_for("histogramdd", input._array.dtype)
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    points = input._array.reshape(-1, input.shape[-1])
    count = points.shape[1]
    wanted = [bins] * count if isinstance(bins, int) else list(bins)
    if len(wanted) != count:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(input.shape)} and weight with shape {list(weight.shape)}"
        )
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"torch.histogramdd: for a {count}-dimensional histogram range should have "
            f"{2 * count} elements, but got {len(range)}"
        )
    edges = [
        bin._array if isinstance(bin, Tensor) else _edges(points[:, number], bin, number, range)
        for number, bin in enumerate(wanted)
    ]
    flat = None if weight is None else weight._array.reshape(-1)
    kind = input._array.dtype
    xp = backend_of(points).xp
    found = _counted(xp, points, edges, flat)
    if density:
        with quiet():
            found = found / found.sum()
            for number, edge in enumerate(edges):
                widths = xp.diff(edge).astype(dtypes.F64)
                found = xp.moveaxis(xp.moveaxis(found, number, -1) / widths, -1, number)
    shown = tuple(wrap(xp.array(edge, kind)) for edge in edges)
    return return_types.histogramdd(wrap(found.astype(kind)), shown)


def _counted(xp: Namespace, points: Array, edges: list[Array], weights: Array | None) -> Array:
    """The counts (or weights) in each box of points that lie in none outside."""
    inside = xp.ones(len(points), dtypes.B8)
    for column, edge in zip(points.T, edges, strict=True):
        inside &= (column >= edge[0]) & (column <= edge[-1])
    box = xp.zeros(int(inside.sum()), dtypes.I64)
    for column, edge in zip(points[inside].T, edges, strict=True):
        box = box * (len(edge) - 1) + bins_of(xp, edge, column)
    shape = [len(edge) - 1 for edge in edges]
    chosen = None if weights is None else weights[inside].astype(dtypes.F64)
    return xp.bincount(box, chosen, math.prod(shape)).astype(dtypes.F64).reshape(shape)


def _edges(values: Array, bins: int, number: int, limits: Sequence[float] | None) -> Array:
    if bins <= 0:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {number}"
        )
    if limits is not None:
        low, high = float(limits[2 * number]), float(limits[2 * number + 1])
    else:
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {number}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            f"dimension {number}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return backend_of(values).xp.linspace(low, high, bins + 1).astype(values.dtype)
