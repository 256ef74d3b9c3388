"""Counting and searching: unique values, bins, histograms, places in sorted boundaries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NoReturn

from retrograd import dtypes, return_types
from retrograd.backend import backend_of
from retrograd.ops import errors
from retrograd.ops.calling.examples import by_example
from retrograd.ops.kinds import Array, DType, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, Table, composite, function_only, op
from retrograd.samples import HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor, wrap

nan, inf = math.nan, math.inf

# --------------------------------------------------------------------------------------- unique


def _no_derivative(name: str) -> NoReturn:
    raise errors.explained(
        NotImplementedError(f"the derivative for '{name}' is not implemented."), code="RG121"
    )


def _groups(xp: Namespace, rows: Array, order: Array | None) -> tuple[Array, Array, Array]:
    """Runs of equal rows, after reordering: the first of each, the run of each row, run lengths."""
    ordered = rows if order is None else rows[order]
    new = xp.ones(len(rows), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    run = xp.cumsum(new) - 1
    inverse = run
    if order is not None:
        inverse = xp.empty_like(run)
        inverse[order] = run
    return ordered[new], inverse, xp.bincount(run)


def _unique_flat(xp: Namespace, input: Array, ordered: bool) -> tuple[Array, Array, Array]:
    rows = input.reshape(-1, 1)
    order = xp.argsort(rows[:, 0], kind="stable") if ordered else None
    values, inverse, counts = _groups(xp, rows, order)
    return values[:, 0].copy(), inverse.reshape(input.shape), counts


def _unique_rows(
    xp: Namespace, input: Array, dim: int, ordered: bool
) -> tuple[Array, Array, Array]:
    if not input.ndim:
        raise errors.explained(
            IndexError(f"Dimension specified as {dim} but tensor has no dimensions"), code="RG205"
        )
    axis = wrap_dim(dim, input.ndim)
    front = xp.moveaxis(input, axis, 0)
    others = math.prod(front.shape[1:])
    if not others:
        if not input.shape[axis]:
            return input.copy(), xp.zeros(0, dtypes.I64), xp.zeros(0, dtypes.I64)
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    rows = front.reshape(front.shape[0], others)
    order = xp.lexsort(rows.T[::-1]) if ordered else None
    values, inverse, counts = _groups(xp, rows, order)
    restored = xp.moveaxis(values.reshape(len(values), *front.shape[1:]), 0, axis)
    return xp.ascontiguousarray(restored), inverse, counts


@op(
    input=lambda m, g: _no_derivative("_unique2"),
    node_name="Unique2Backward0",
    label="unique",
    outputs=3,
    nondifferentiable=(1, 2),
    aten="_unique2",
    event="_unique2",
)
def _unique2(xp: Namespace, input: Array) -> tuple[Array, Array, Array]:
    return _unique_flat(xp, input, True)


@op(
    input=lambda m, g: _no_derivative("unique_dim"),
    node_name="UniqueDimBackward0",
    label="unique",
    outputs=3,
    nondifferentiable=(1, 2),
    aten="unique_dim",
    event="unique_dim",
)
def _unique_dim(xp: Namespace, input: Array, dim: int) -> tuple[Array, Array, Array]:
    return _unique_rows(xp, input, dim, True)


@op(
    input=lambda m, g: _no_derivative("unique_consecutive"),
    outputs=3,
    nondifferentiable=(1, 2),
    aten="unique_consecutive",
)
def _unique_consecutive(xp: Namespace, input: Array, dim: int | None) -> tuple[Array, Array, Array]:
    if dim is None:
        return _unique_flat(xp, input, False)
    return _unique_rows(xp, input, dim, False)


def _chosen(
    found: tuple[Tensor, Tensor, Tensor], inverse: bool, counts: bool
) -> tuple[Tensor, ...] | Tensor:
    if not inverse and not counts:
        return found[0]
    return (found[0], *([found[1]] if inverse else []), *([found[2]] if counts else []))


def _unique_samples() -> list[Sample]:
    table = [[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [1.0, 2.0]]
    more: dict[str, Any] = {"return_inverse": True, "return_counts": True, "grad": False}
    found = [Sample(T(8, dtype="int64"), **more), Sample(T(3, 4, dtype="int64"), **more)]
    found += [Sample(T(values=table), dim=dim, **more) for dim in (0, 1, -1)]
    found += [Sample(T(values=[2.0, nan, 1.0, nan, 2.0]), **more), Sample(T(5), grad=False)]
    found += [Sample(T(values=[[nan], [nan]]), dim=0, **more), Sample(T(0), **more)]
    found += [Sample(T(0, 3), dim=0, **more), Sample(T(0, 3), dim=1, **more), Sample(T(), **more)]
    found += [Sample(T(), dim=0, grad=False), Sample(T(2, 2), dim=2, grad=False)]
    found += [Sample(T(6, dtype="bool"), return_inverse=True, grad=False)]
    found += [Sample(T(4, 2, dtype="bool"), return_counts=True, dim=0, grad=False)]
    found += [Sample(T(5, dtype="uint8"), return_counts=True, grad=False)]
    found += [Sample(T(2, 3, 2, dtype="int64", low=0, high=1), dim=1, **more)]
    found += [Sample(T(values=[1.0, 1.0, 2.0]), dtypes=HALVES, grad=False)]
    return found


@composite(samples=_unique_samples)
@forms(
    "(input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, return_counts: "
    "Literal[False] = False, dim: int | None = None) -> Tensor",
    "(input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: "
    "Literal[False] = False, dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, *, "
    "return_counts: Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: "
    "Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = "
    "False, dim: int | None = None) -> Any",
)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...] | Tensor:
    """The different values in order, or the different slices along a dimension.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    found = RECORDED._unique2(input) if dim is None else RECORDED._unique_dim(input, dim)
    return _chosen(found, return_inverse, return_counts)


@composite(samples=_unique_samples)
@forms(
    "(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = "
    "False, dim: int | None = None) -> Tensor",
    "(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = False, "
    "dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, return_inverse: Literal[False] = False, *, return_counts: Literal[True], "
    "dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: int | "
    "None = None) -> tuple[Tensor, Tensor, Tensor]",
    "(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None "
    "= None) -> Any",
)
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...] | Tensor:
    """The values (or slices along `dim`) without immediate repetitions.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = RECORDED._unique_consecutive(input, dim)
    return _chosen(found, return_inverse, return_counts)


# ----------------------------------------------------------------------- places among boundaries


@op(fast=False, promote=True, aten="searchsorted")
def _searchsorted(
    xp: Namespace, boundaries: Array, values: Array, right: bool, integer: DType
) -> Array:
    side = "right" if right else "left"
    if boundaries.ndim == 1:
        return xp.searchsorted(boundaries, values, side).astype(integer)
    result = xp.empty(values.shape, integer)
    for place in itertools.product(*map(range, boundaries.shape[:-1])):
        result[place] = xp.searchsorted(boundaries[place], values[place], side)
    return result


def _sorted_boundaries(boundaries: Tensor, sorter: Tensor | None) -> Tensor:
    if sorter is None:
        return boundaries
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{sorter.dtype.type_name}"
        )
    if sorter.shape != boundaries.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(boundaries.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    places = sorter._elements()
    if places.size and (places.min() < 0 or places.max() >= boundaries.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
    return RECORDED.gather(boundaries, -1, sorter)


def _search_samples() -> list[Sample]:
    line, table = T(values=[1.0, 3.0, 3.0, 7.0]), T(values=[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
    more: dict[str, Any] = {"grad": False}
    found = [
        Sample(line, T(values=[0.0, 1.0, 3.0, 7.0, 9.0, nan]), right=r, **more) for r in (0, 1)
    ]
    found = [Sample(*s.args, right=bool(s.kwargs["right"]), **more) for s in found]
    found += [Sample(line, T(2, 3, low=0, high=9), side="right", **more), Sample(line, 3.0, **more)]
    found += [Sample(line, 4, out_int32=True, **more), Sample(table, T(2, 3, high=7), **more)]
    found += [Sample(line, T(3, dtype="int64"), **more), Sample(table, T(2), **more)]
    found += [Sample(table, 3.0, **more), Sample(line, T(), **more), Sample(T(), T(2), **more)]
    found += [
        Sample(line, T(2), side="what", **more),
        Sample(line, T(2), side="left", right=True, **more),
    ]
    unsorted, order = T(values=[7.0, 1.0, 5.0]), T(values=[1, 2, 0], dtype="int64")
    found += [Sample(unsorted, T(3, high=8), sorter=order, **more), Sample(T(0), T(2), **more)]
    found += [Sample(line, T(2), sorter=order, **more), Sample(unsorted, T(2), sorter=T(3), **more)]
    return found


@function_only(samples=_search_samples)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | complex,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each value would be inserted to keep the last dimension of the sequence sorted.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 9]))
    tensor([0, 1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    values = input if isinstance(input, Tensor) else sorted_sequence.new_tensor(input)
    lead, dims = list(sorted_sequence.shape), sorted_sequence.ndim
    if not dims:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
            "dimension"
        )
    if not values.ndim and dims != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({dims}) and input value's "
            "dim(0) numel(1)"
        )
    if dims != 1 and lead[:-1] != list(values.shape)[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {lead} and input value tensor {list(values.shape)}"
        )
    boundaries = _sorted_boundaries(sorted_sequence, sorter)
    integer = (dtypes.int32 if out_int32 else dtypes.int64).numpy
    found: Tensor = RECORDED._searchsorted(boundaries, values, right or side == "right", integer)
    return found if out is None else out.resize_(found.shape).copy_(found)


@function_only(
    samples=lambda: [
        *(Sample(T(2, 3, high=8), T(values=[1.0, 3.0, 7.0]), right=r) for r in (False, True)),
        *(Sample(3.0, T(values=[1.0, 3.0]), out_int32=True), Sample(T(2), T(2, 2))),
        Sample(T(3, dtype="int64"), T(values=[0.0, 1.5])),
    ]
)
def bucketize(
    input: Tensor | complex,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The number of the bucket, between sorted boundaries, that each value falls into."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# ------------------------------------------------------------------------ counts and histograms


def _undifferentiated(name: str) -> Callable[[Table, Tensor], Tensor]:
    def rule(m: Table, g: Tensor) -> Tensor:
        raise errors.no_derivative(f"aten::{name}")

    return rule


@op(
    weights=_undifferentiated("bincount"),
    node_name="NotImplemented",
    fast=False,
    half="move",
    samples=lambda: [
        *(Sample(T(values=[1, 2, 2, 5], dtype=d)) for d in ("int64", "uint8", "int32")),
        *(Sample(T(values=[1, 2, 2], dtype="int64"), w, grad=False) for w in (T(3), T(2), None)),
        *(Sample(T(values=[1, 2], dtype="int64"), T(2, dtype=d)) for d in ("bool", "float16")),
        *(Sample(T(values=[0, 1], dtype="int64"), minlength=n) for n in (0, 5, -1)),
        *(Sample(T(values=[1, -2], dtype="int64")), Sample(T(2)), Sample(T(2, dtype="bool"))),
        *(Sample(T(0, dtype="int64")), Sample(T(0, dtype="int64"), minlength=2)),
        Sample(T(2, 2, dtype="uint8")),
    ],
)
def bincount(
    xp: Namespace, input: Array, weights: Array | None = None, minlength: int = 0
) -> Array:
    """How often each non-negative integer occurs, or the sum of the weights at its places."""
    if input.dtype.kind not in "iu":
        raise errors.not_implemented_for("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return xp.bincount(input, minlength=minlength).astype(dtypes.I64)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = xp.bincount(input, weights.astype(dtypes.F64), minlength)
    return sums.astype(dtypes.F32 if weights.dtype is dtypes.F32 else dtypes.F64)


def _check_bins(bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


@op(
    fast=False,
    out=True,
    samples=lambda: [
        *(
            Sample(T(20), *f, grad=False, dtypes=("float32", "float64", "float16"))
            for f in ((5,), (4, -1, 1))
        ),
        *(Sample(T(values=[1.0, 1.0]), 4, grad=False), Sample(T(0), 3, grad=False)),
        *(Sample(T(values=[1.0, nan]), 4, 0, 2, grad=False), Sample(T(values=[1.0, nan]), 4)),
        *(Sample(T(3), 0), Sample(T(3), 4, 2, 1), Sample(T(values=[1.0, inf]), 3)),
        *(Sample(T(3, dtype="int64")), Sample(T(2, 5), bins=3, min=0.5, max=2, grad=False)),
    ],
)
def histc(xp: Namespace, input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Counts of the elements in equal bins between `min` and `max` (the data's, if equal)."""
    if input.dtype.kind != "f":
        raise errors.not_implemented_for("histogram_cpu", input.dtype)
    low, high, bins = float(min), float(max), int(bins)  # bins: a tensor with one integer, too
    if low == high and input.size:
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    _check_bins(bins)
    inside = input[(input >= low) & (input <= high)]
    places = ((inside - low) * (bins / (high - low))).astype(dtypes.I64)
    return xp.bincount(xp.minimum(places, bins - 1), minlength=bins).astype(input.dtype)


def bins_of(xp: Namespace, edges: Array, values: Array) -> Array:
    """The bin of each value; by halves as PyTorch looks, which shows where edges do not rise."""
    first = xp.zeros(values.shape, dtypes.I64)
    count = xp.full(values.shape, len(edges), dtypes.I64)
    while count.any():
        half = count // 2
        above = (values < edges[xp.minimum(first + half, len(edges) - 1)]) | (count == 0)
        first = xp.where(above, first, first + half + 1)
        count = xp.where(above, half, count - half - 1)
    return xp.clip(first - 1, 0, len(edges) - 2)


@op(
    input=_undifferentiated("histogram"),
    edges=_undifferentiated("histogram"),
    weight=_undifferentiated("histogram"),
    node_name="NotImplemented",
    fast=False,
    outputs=2,
    returns=return_types.histogram,
    aten="histogram.bins_tensor",
)
def _histogram(
    xp: Namespace, input: Array, edges: Array, weight: Array | None, density: bool
) -> tuple[Array, Array]:
    values = input.reshape(-1)
    inside = (values >= edges[0]) & (values <= edges[-1])
    places = bins_of(xp, edges, values[inside])
    weights = None if weight is None else weight.reshape(-1)[inside].astype(dtypes.F64)
    counts = xp.bincount(places, weights, len(edges) - 1).astype(input.dtype)
    if density:
        counts = (counts / (counts.sum() * xp.diff(edges))).astype(input.dtype)
    return counts, edges.copy()


def _histogram_samples() -> list[Sample]:
    edges = T(values=[-1.0, 0.0, 0.5, 2.0], grad=False)
    more: dict[str, Any] = {"grad": False}
    found = [Sample(T(20), 5, **more), Sample(T(20), bins=4, range=(-1.0, 1.5), **more)]
    found += [Sample(T(20), edges, density=d, **more) for d in (False, True)]
    found += [Sample(T(6), 3, weight=T(6, low=0), density=True, **more), Sample(T(2, 3), 3, **more)]
    found += [
        Sample(T(values=[1.0, 1.0]), 3, **more),
        Sample(T(0), 3, **more),
        Sample(T(3), 0, **more),
    ]
    found += [Sample(T(3, dtype="int64"), 3, **more), Sample(T(3), 3, weight=T(2), **more)]
    found += [Sample(T(3), 3, range=(2.0, 1.0), **more), Sample(T(values=[1.0, nan]), 3, **more)]
    return found


@composite(samples=_histogram_samples)
@by_example
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogram:
    """Counts (or weights) of the elements in bins, and the edges of the bins.

    >>> torch.histogram(torch.tensor([0.0, 0.5, 1.0]), bins=2).hist
    tensor([1., 2.])
    """
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.not_implemented_for("histogramdd", input._array.dtype)
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise errors.runtime_error(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                "should have the same dtype",
                code="RG301",
            )
        if weight.shape != input.shape:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                "the input tensor excluding its innermost dimension, but got input with shape "
                f"{[input._array.size, 1]} and weight with shape {list(weight.shape)}"
            )
    if isinstance(bins, Tensor):
        edges = bins
        _check_bins(edges._array.size - 1)
    else:
        _check_bins(bins)
        low, high = _histogram_range(input, range)
        xp = backend_of(input._array).xp
        edges = wrap(xp.linspace(low, high, bins + 1).astype(input._array.dtype))
    return RECORDED._histogram(input, edges, weight, density)


def _histogram_range(input: Tensor, wanted: tuple[float, float] | None) -> tuple[float, float]:
    array = input._array
    if wanted is not None:
        low, high = float(wanted[0]), float(wanted[1])
    elif array.size:
        low, high = float(array.min()), float(array.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            "dimension 0"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)
