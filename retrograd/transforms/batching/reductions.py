"""Batching rules of reductions, scans and sorts: whatever goes along dimensions of an example."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.ops.kinds import wrap_dim, wrap_dims
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batching.rules import BatchedCall, Rule, batching, loop


def flat_batch(call: BatchedCall, results: Sequence[Tensor]) -> list[Tensor]:
    """Results of examples without dimensions that were given one for the op's sake."""
    return [RECORDED.reshape(result, (call.size,)) for result in results]


def along(*names: str, dim: str = "dim") -> Rule:
    """The rule of an op along one dimension, which all its tensors have."""

    def rule(call: BatchedCall) -> list[Tensor]:
        ranks = {call.rank(name) for name in names}
        if len(ranks) > 1:
            return loop(call)
        rank = ranks.pop()
        place = wrap_dim(call[dim], rank) + 1
        tensors = {name: call.expanded(name) for name in names}
        if rank:
            return call.run(**tensors, **{dim: place})
        raised = {name: RECORDED.unsqueeze(value, 1) for name, value in tensors.items()}
        return flat_batch(call, call.run(**raised, **{dim: 1}))

    return rule


batching(
    *("prod", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cumsum", "cumprod"),
    *("logcumsumexp", "cummax", "cummin", "sort", "_stable_sort", "argsort"),
    *("softmax", "log_softmax"),
)(along("input"))


@batching("topk")
def _topk(call: BatchedCall) -> list[Tensor]:
    if not call.rank("input") and not call["k"]:
        return loop(call)  # a result with a dimension, of size 0
    return along("input")(call)


batching("_softmax_gradient", "_log_softmax_gradient")(along("grad", "output"))
batching("_collect")(along("input", "index"))


@batching("glu")
def _glu(call: BatchedCall) -> list[Tensor]:
    if not call.rank("input"):
        return loop(call)  # raises
    return call.run(input=call.front("input"), dim=wrap_dim(call["dim"], call.rank("input")) + 1)


@batching(
    *("sum", "nansum", "mean", "logsumexp", "count_nonzero", "linalg_vector_norm"),
    *("amax", "amin", "var", "std", "var_mean", "std_mean"),
)
def _over_dims(call: BatchedCall) -> list[Tensor]:
    x, dim, rank = call.front("input"), call["dim"], call.rank("input")
    dims = tuple([place + 1 for place in wrap_dims(dim, rank)])
    if "correction" in call.places and len(dims) == rank:
        if math.prod(call.shape("input")) <= call["correction"]:
            return loop(call)  # without a degree of freedom, the whole has a rule of its own
    if rank:
        return call.run(input=x, dim=dims)
    return flat_batch(call, call.run(input=RECORDED.unsqueeze(x, 1), dim=(1,)))


@batching("all", "any")
def _truth(call: BatchedCall) -> list[Tensor]:
    if isinstance(call["dim"], (tuple, list)) and not call["dim"]:
        return loop(call)  # here, no dimension does not mean all of them
    return _over_dims(call)


def _flat(call: BatchedCall) -> Tensor:
    """The elements of every example in a row."""
    count = math.prod(call.shape("input"))
    return RECORDED.reshape(call.front("input"), (call.size, count))


def _all_with_dtype(by_row: Callable[..., Tensor]) -> Rule:
    return lambda call: [by_row(_flat(call), 1, False, dtype=call["dtype"])]


batching("_sum_all")(_all_with_dtype(RECORDED.sum))
batching("_mean_all")(_all_with_dtype(RECORDED.mean))
batching("_prod_all")(_all_with_dtype(RECORDED.prod))


def _extreme(by_row: Callable[..., Tensor]) -> Rule:
    def rule(call: BatchedCall) -> list[Tensor]:
        values = call["input"]._elements()
        if values.dtype.kind not in "biu" and np.isnan(values).any():
            return loop(call)  # the gradient of a nan goes to all nans there
        return [by_row(_flat(call), (1,), False)]

    return rule


batching("_max_all")(_extreme(RECORDED.amax))
batching("_min_all")(_extreme(RECORDED.amin))


@batching("argmax", "argmin", "aminmax")
def _maybe_over_all(call: BatchedCall) -> list[Tensor]:
    if call["dim"] is not None:
        return along("input")(call)
    results = call.run(input=_flat(call), dim=1, keepdim=False)
    shape = (call.size, *(1,) * (call.rank("input") if call["keepdim"] else 0))
    return [RECORDED.reshape(result, shape) for result in results]


@batching("sum_to_size")
def _sum_to_size(call: BatchedCall) -> list[Tensor]:
    size, rank = tuple(call["size"]), call.rank("input")
    padded = (call.size, *(1,) * (rank - len(size)), *size)
    result = call.run(input=call.front("input"), size=padded)[0]
    return [RECORDED.reshape(result, (call.size, *size))]


@batching("_count_true")
def _count_true(call: BatchedCall) -> list[Tensor]:
    mask, rank = call.expanded("mask"), call.rank("mask")
    like = call.front("like")
    if not rank:
        return flat_batch(call, call.run(mask=RECORDED.unsqueeze(mask, 1), like=like, dim=(1,)))
    dims = tuple([place + 1 for place in wrap_dims(call["dim"], rank)])
    return call.run(mask=mask, like=like, dim=dims)


@batching("_scatter_values")
def _scatter_values(call: BatchedCall) -> list[Tensor]:
    shape = tuple(call["shape"])
    if not shape or call["input"] is not None:
        return loop(call)
    place = wrap_dim(call["dim"], len(shape)) + 1
    src, index = call.expanded("src"), call.expanded("index")
    return call.run(src=src, index=index, dim=place, shape=(call.size, *shape))


@batching("_norm_of_last", "_safe_softmax")
def _last(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"))


# ------------------------------------------------------------------------------- rearranging


@batching("flip")
def _flip(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        return loop(call)
    dims = tuple([wrap_dim(dim, rank) + 1 for dim in call["dims"]])
    return call.run(input=call.front("input"), dims=dims)


@batching("roll")
def _roll(call: BatchedCall) -> list[Tensor]:
    rank, dims = call.rank("input"), call["dims"]
    if not rank or isinstance(dims, int) or not dims:
        return loop(call)
    moved = tuple([wrap_dim(dim, rank) + 1 for dim in dims])
    return call.run(input=call.front("input"), dims=moved)


@batching("rot90")
def _rot90(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if rank < 2:
        return loop(call)  # raises
    dims = tuple([wrap_dim(dim, rank) + 1 for dim in call["dims"]])
    return call.run(input=call.front("input"), dims=dims)


@batching("tril", "triu")
def _triangle(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input")) if call.rank("input") > 1 else loop(call)


@batching("trace")
def _trace(call: BatchedCall) -> list[Tensor]:
    if call.rank("input") != 2 or call["input"]._array.dtype.kind == "b":
        return loop(call)  # raises
    return [RECORDED.sum(RECORDED.diagonal(call.front("input"), 0, 1, 2), 1, False)]


@batching("diag_embed")
def _diag_embed(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input") + 1
    first, second = wrap_dim(call["dim1"], rank) + 1, wrap_dim(call["dim2"], rank) + 1
    if rank < 2:
        return loop(call)  # raises
    return call.run(input=call.front("input"), dim1=first, dim2=second)


@batching("linalg_cross")
def _cross(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if rank != call.rank("other") or not rank:
        return loop(call)
    place = wrap_dim(call["dim"], rank) + 1
    return call.run(input=call.expanded("input"), other=call.expanded("other"), dim=place)


# ------------------------------------------------------------------- gradients of regions


def _shifted_region(call: BatchedCall, *dims: str) -> list[Tensor]:
    shape: Any = tuple(call["shape"])
    places = {dim: wrap_dim(call[dim], len(shape)) + 1 for dim in dims}
    return call.run(gradient=call.front("gradient"), shape=(call.size, *shape), **places)


@batching("_select_gradient", "_slice_gradient")
def _region_gradient(call: BatchedCall) -> list[Tensor]:
    return _shifted_region(call, "dim")


@batching("_diagonal_gradient")
def _diagonal_gradient(call: BatchedCall) -> list[Tensor]:
    return _shifted_region(call, "dim1", "dim2")


@batching("_unfold_gradient")
def _unfold_gradient(call: BatchedCall) -> list[Tensor]:
    return _shifted_region(call, "dimension") if call["shape"] else loop(call)


@batching("select_scatter", "slice_scatter")
def _region_scatter(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        return loop(call)
    place = wrap_dim(call["dim"], rank) + 1
    return call.run(input=call.expanded("input"), src=call.expanded("src"), dim=place)


@batching("diagonal_scatter")
def _diagonal_scatter(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if rank < 2:
        return loop(call)
    first, second = wrap_dim(call["dim1"], rank) + 1, wrap_dim(call["dim2"], rank) + 1
    tensors = {"input": call.expanded("input"), "src": call.expanded("src")}
    return call.run(**tensors, dim1=first, dim2=second)
