"""Batching rules of gathering, scattering and indexing with tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.ops.calling.aten_names import event_name
from retrograd.ops.errors import explained, runtime_error
from retrograd.ops.indexing.gathering import first_outside
from retrograd.ops.kinds import wrap_dim
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, wrap
from retrograd.transforms.batching.elementwise import line_up_one
from retrograd.transforms.batching.reductions import along
from retrograd.transforms.batching.rules import BatchedCall, batching, loop

batching("gather", "_scatter_value")(along("input", "index"))
batching("scatter", "scatter_add", "scatter_reduce")(along("input", "index", "src"))


def _with_shape(call: BatchedCall, **tensors: object) -> list[Tensor]:
    """Call an op that is told a dimension and the shape of its result."""
    shape = tuple(call["shape"])
    place = wrap_dim(call["dim"], len(shape)) + 1
    return call.run(**tensors, shape=(call.size, *shape), dim=place)


@batching("_gather_gradient")
def _gather_gradient(call: BatchedCall) -> list[Tensor]:
    if not call["shape"] or {call.rank("g"), call.rank("index")} != {len(call["shape"])}:
        return loop(call)
    return _with_shape(call, g=call.expanded("g"), index=call.expanded("index"))


# ------------------------------------------------------------------- one index per dimension


def _own_rows(call: BatchedCall, place: int, rank: int) -> Tensor:
    """An index vector of each example beside all the other dimensions, still of size one."""
    index: Tensor = call.expanded("index")
    count = index._array.size // max(call.size, 1) if call.size else 0
    shape = [call.size] + [1] * rank
    shape[place] = count
    return RECORDED.reshape(index, tuple(shape))


@batching("index_select")
def _index_select(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank or call.rank("index") > 1:
        return loop(call)
    place = wrap_dim(call["dim"], rank) + 1
    if not call.is_batched("index"):
        return call.run(input=call.front("input"), dim=place)
    x = call.expanded("input")
    if first_outside(call["index"]._elements(), x._array.shape[place]) is not None:
        return loop(call)  # raises
    index = _own_rows(call, place, rank)
    shape = [*x._array.shape]
    shape[place] = index._array.shape[place]
    return [RECORDED.gather(x, place, RECORDED.expand(index, tuple(shape)))]


@batching("_index_select_gradient")
def _index_select_gradient(call: BatchedCall) -> list[Tensor]:
    if not call["shape"] or call.is_batched("index"):
        return loop(call)
    return _with_shape(call, g=call.front("g"))


@batching("index_add", "index_copy", "index_fill")
def _index_write(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank or call.is_batched("index"):
        return loop(call)
    changed: dict[str, object] = {"input": call.expanded("input")}
    if "source" in call.places:
        if call.rank("source") != rank:
            return loop(call)
        changed["source"] = call.expanded("source")
    return call.run(**changed, dim=wrap_dim(call["dim"], rank) + 1)


# ---------------------------------------------------------------------------------- embedding


@batching("embedding")
def _embedding(call: BatchedCall) -> list[Tensor]:
    if not call.is_batched("weight"):
        return call.run(indices=call.front("indices"))
    if call["padding_idx"] >= 0 or call["scale_grad_by_freq"]:
        return loop(call)  # the gradient of each table has rules of its own
    weight = call.front("weight")
    size, rows, columns = weight._array.shape
    if first_outside(call["indices"]._elements(), rows) is not None:
        raise explained(IndexError("index out of range in self"), code="RG204")
    table = RECORDED.reshape(weight, (size * rows, columns))
    return call.run(weight=table, indices=_own_tables(call, rows))


@batching("_embedding_gradient")
def _embedding_gradient(call: BatchedCall) -> list[Tensor]:
    if call["padding_idx"] >= 0 or call["scale_grad_by_freq"]:
        return loop(call)
    rows = call["num_weights"]
    grad = call.expanded("grad")
    total = call.run(grad=grad, indices=_own_tables(call, rows), num_weights=call.size * rows)[0]
    return [RECORDED.view(total, (call.size, rows, grad._array.shape[-1]))]


def _own_tables(call: BatchedCall, rows: int) -> Tensor:
    """The indices of every example in a table that is made of all examples' tables."""
    indices = call.expanded("indices")
    rank = call.rank("indices")
    start = wrap(np.arange(call.size).reshape(-1, *(1,) * rank) * rows)
    return RECORDED.add(RECORDED._to_dtype(indices, dtypes.I64, None), start)


# ------------------------------------------------------------------------- square brackets

_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask."
)
_PLACES = ("first", "second", "third", "fourth")


class _Indices:
    """The index tensors of a call, and where the dimensions that they give stand in the result."""

    def __init__(self, call: BatchedCall, shape: tuple[int, ...]) -> None:
        self.call = call
        self.dims = tuple(call["dims"])
        self.names = [name for name in _PLACES if isinstance(call[name], Tensor)]
        self.is_batched = any(call.is_batched(name) for name in self.names)
        tensors = [call[name] for name in self.names]
        masks = [tensor._array.dtype is dtypes.B8 for tensor in tensors]
        if self.is_batched:
            for mask, name in zip(masks, self.names, strict=True):
                if mask and call.is_batched(name):
                    raise runtime_error(_MASK, code="RG601")
        self.has_masks = any(masks)
        # more than four are stacked into one; what a mask covers is no single dimension
        self.is_plain = len(self.dims) == len(self.names)
        covered: list[int] = []
        for dim, tensor, mask in zip(self.dims, tensors, masks, strict=False):
            covered += range(dim, dim + (tensor._array.ndim if mask else 1))
        adjacent = covered == list(range(covered[0], covered[0] + len(covered)))
        self.start = covered[0] if adjacent else 0
        self.adjacent = adjacent
        self.rank = max(
            [1 if mask else tensor._array.ndim for tensor, mask in zip(tensors, masks, strict=True)]
        )
        self.result_rank = len(shape) - len(covered) + self.rank

    def shifted(self) -> tuple[int, ...]:
        """The dimensions of the physical tensor that the indices are for."""
        return tuple([dim + 1 for dim in self.dims])

    def own(self) -> dict[str, object]:
        """Index tensors that also name the example: one more of them, for the batch."""
        call = self.call
        found: list[Any] = [wrap(np.arange(call.size).reshape(-1, *(1,) * self.rank))]
        found += [line_up_one(call, name, self.rank) for name in self.names]
        names = dict(zip(_PLACES, found, strict=False))
        return {**names, "dims": (0, *self.shifted())}

    def to_result(self, tensor: Tensor) -> Tensor:
        """From (batch, what indices give, the rest) to a batch of results."""
        order = list(range(1, self.result_rank + 1))
        given, rest = order[: self.rank], order[self.rank :]
        wanted = [0, *rest[: self.start], *given, *rest[self.start :]]
        return RECORDED.permute(tensor, tuple(wanted))

    def from_result(self, tensor: Tensor) -> Tensor:
        """The other way round."""
        order = list(range(1, self.result_rank + 1))
        given = order[self.start : self.start + self.rank]
        rest = order[: self.start] + order[self.start + self.rank :]
        return RECORDED.permute(tensor, (0, *given, *rest))

    def reach_outside(self, shape: tuple[int, ...]) -> bool:
        """Whether an index names a place that an example has not: of the next one, perhaps."""
        for dim, name in zip(self.dims, self.names, strict=True):
            values, size = self.call[name]._elements(), shape[dim]
            if values.size and not -size <= values.min() <= values.max() < size:
                return True
        return False

    @property
    def fits(self) -> bool:
        """Whether the batch can be one more index."""
        return self.is_plain and not self.has_masks and len(self.names) < len(_PLACES)


@batching("index")
def _index(call: BatchedCall) -> list[Tensor]:
    indices = _Indices(call, call.shape("input"))
    if not indices.is_plain or (not indices.is_batched and not indices.adjacent):
        return loop(call)
    if not indices.is_batched:
        return call.run(input=call.front("input"), dims=indices.shifted())
    if not indices.fits:
        return loop(call)
    if indices.reach_outside(call.shape("input")):
        return loop(call)  # raises
    found = call.run(input=call.expanded("input"), **indices.own())[0]
    return [indices.to_result(found)]


@batching("_index_gradient")
def _index_gradient(call: BatchedCall) -> list[Tensor]:
    shape = tuple(call["shape"])
    indices = _Indices(call, shape)
    if not indices.is_plain or (not indices.is_batched and not indices.adjacent):
        return loop(call)
    whole = (call.size, *shape)
    if not indices.is_batched:
        return call.run(g=call.front("g"), shape=whole, dims=indices.shifted())
    if not indices.fits or call.rank("g") != indices.result_rank:
        return loop(call)
    g = indices.from_result(call.expanded("g"))
    return call.run(g=g, shape=whole, **indices.own())


@batching("_index_zero")
def _index_zero(call: BatchedCall) -> list[Tensor]:
    indices = _Indices(call, call.shape("input"))
    if not indices.is_plain or (indices.is_batched and not indices.fits):
        return loop(call)
    if not indices.is_batched:
        return call.run(input=call.front("input"), dims=indices.shifted())
    return call.run(input=call.expanded("input"), **indices.own())


@batching("index_put")
def _index_put(call: BatchedCall) -> list[Tensor]:
    indices = _Indices(call, call.shape("input"))
    if not indices.is_plain or indices.has_masks or not indices.adjacent:
        return loop(call)
    if call.rank("values") > indices.result_rank:
        return loop(call)
    x = call.expanded("input")
    values = line_up_one(call, "values", indices.result_rank)
    if not indices.is_batched:
        return call.run(input=x, values=values, dims=indices.shifted())
    if not indices.fits:
        return loop(call)
    if indices.reach_outside(call.shape("input")):
        return loop(call)  # raises
    if not call.is_batched("values"):
        own = tuple(values._array.shape)
        values = RECORDED.reshape(values, (1, *(1,) * (indices.result_rank - len(own)), *own))
    return call.run(input=x, values=indices.from_result(values), **indices.own())


# ----------------------------------------------------------------------------- refused by shape


def _dynamic(name: str) -> str:
    return (
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to "
        f"vmap over {name}. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    )


@batching("nonzero", "_unique2", "_unique_dim", "_unique_consecutive")
def _refuse(call: BatchedCall) -> list[Tensor]:
    raise runtime_error(_dynamic(event_name(call.op)), code="RG601")


@batching("masked_select")
def _masked_select(call: BatchedCall) -> list[Tensor]:
    if call.is_batched("mask"):
        raise runtime_error(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for each batch this would return a differently shaped "
            "Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
            "need this feature.",
            code="RG601",
        )
    return loop(call)
