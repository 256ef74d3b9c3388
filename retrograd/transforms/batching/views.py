"""Batching rules of ops that give views: the batch is one more dimension before all others.

The results must share the memory of the physical tensor, so that writing into a view inside of vmap
reaches its base; none of these ops may fall back to the loop.
"""

from __future__ import annotations

from typing import Any

from retrograd.notices import explained, runtime_error
from retrograd.ops.kinds import wrap_dim
from retrograd.ops.making.memory import address_of
from retrograd.ops.registry import RECORDED
from retrograd.ops.sizes import storage_of
from retrograd.tensor import Tensor
from retrograd.transforms.batching.rules import BatchedCall, batching


def shifted(dim: int, rank: int) -> int:
    """A dimension of an example as one of the physical tensor."""
    return wrap_dim(dim, rank) + 1


@batching("_alias", "alias", "view_as_real")
def _same(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"))


@batching("view_as_complex")
def _as_complex(call: BatchedCall) -> list[Tensor]:
    if not call.rank("input"):
        raise RuntimeError("Input tensor must have one or more dimensions")
    return call.run(input=call.front("input"))


@batching("expand")
def _expand(call: BatchedCall) -> list[Tensor]:
    x, size, shape = call.front("input"), tuple(call["size"]), call.shape("input")
    if len(size) > len(shape):
        x = RECORDED.view(x, (call.size, *(1,) * (len(size) - len(shape)), *shape))
    return call.run(input=x, size=(call.size, *size))


@batching("transpose")
def _transpose(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        wrap_dim(call["dim0"], 0), wrap_dim(call["dim1"], 0)
        return [RECORDED.alias(call.front("input"))]
    first, second = shifted(call["dim0"], rank), shifted(call["dim1"], rank)
    return call.run(input=call.front("input"), dim0=first, dim1=second)


@batching("t")
def _t(call: BatchedCall) -> list[Tensor]:
    x, rank = call.front("input"), call.rank("input")
    if rank > 2:
        raise runtime_error(
            f"t() expects a tensor with <= 2 dimensions, but self is {rank}D", code="RG205"
        )
    return [RECORDED.transpose(x, 1, 2) if rank == 2 else RECORDED.alias(x)]


@batching("permute")
def _permute(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"), dims=(0, *[dim + 1 for dim in call["dims"]]))


@batching("select")
def _select(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        raise explained(IndexError("select() cannot be applied to a 0-dim tensor."), code="RG204")
    return call.run(input=call.front("input"), dim=shifted(call["dim"], rank))


@batching("slice")
def _slice(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"), dim=shifted(call["dim"], call.rank("input")))


@batching("diagonal")
def _diagonal(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    first, second = shifted(call["dim1"], rank), shifted(call["dim2"], rank)
    return call.run(input=call.front("input"), dim1=first, dim2=second)


@batching("unfold")
def _unfold(call: BatchedCall) -> list[Tensor]:
    x, rank = call.front("input"), call.rank("input")
    if rank:
        return call.run(input=x, dimension=shifted(call["dimension"], rank))
    wrap_dim(call["dimension"], 0)
    windows = call.run(input=RECORDED.unsqueeze(x, 1), dimension=1)[0]
    return [RECORDED.select(windows, 1, 0)]


@batching("view", "_reshape_alias", "_unsafe_view")
def _view(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"), size=(call.size, *call["size"]))


@batching("_squeeze_all")
def _squeeze_all(call: BatchedCall) -> list[Tensor]:
    ones = [dim + 1 for dim, size in enumerate(call.shape("input")) if size == 1]
    return [RECORDED._squeeze_dims(call.front("input"), tuple(ones))]


@batching("_squeeze_dim")
def _squeeze_dim(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        wrap_dim(call["dim"], 0)
        return [RECORDED.alias(call.front("input"))]
    return call.run(input=call.front("input"), dim=shifted(call["dim"], rank))


@batching("_squeeze_dims")
def _squeeze_dims(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    dims = tuple([shifted(dim, rank) for dim in call["dims"]]) if rank else ()
    return call.run(input=call.front("input"), dims=dims)


@batching("unsqueeze")
def _unsqueeze(call: BatchedCall) -> list[Tensor]:
    place = wrap_dim(call["dim"], call.rank("input") + 1) + 1
    return call.run(input=call.front("input"), dim=place)


@batching("unbind", "_split", "_split_with_sizes")
def _pieces(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    if not rank:
        raise explained(
            IndexError("Dimension specified as 0 but tensor has no dimensions"), code="RG205"
        )
    return call.run(input=call.front("input"), dim=shifted(call["dim"], rank))


@batching("as_strided")
def _as_strided(call: BatchedCall) -> list[Tensor]:
    x = call.front("input")
    array: Any = x._array
    _check_reach(call)
    step = array.strides[0] // array.itemsize
    size, stride = (call.size, *call["size"]), (step, *call["stride"])
    return call.run(input=x, size=size, stride=stride)


def _check_reach(call: BatchedCall) -> None:
    """A region may not go beyond its example: there another one may begin."""
    array = call["input"]._array
    unit = array.itemsize
    size, stride, shift = tuple(call["size"]), tuple(call["stride"]), call["shift"]
    own = 1 + sum([(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]) // unit
    wanted = 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    if 0 in size or (shift >= 0 and shift + wanted <= own):
        return
    first = (address_of(array) - address_of(storage_of(array))) // unit
    start = first + shift
    raise runtime_error(
        f"result = tensor.as_strided({list(size)}, {list(stride)}, {start}) can access "
        f"memory outside of `tensor`. `result` can access some memory in range [{start}, "
        f"{start + wanted}], but `tensor` can only access some memory in range [{first}, "
        f"{first + own}]. This is not supported inside of vmap, please try to rewrite the "
        "`as_strided` call as a sequence of PyTorch view operations",
        code="RG208",
    )
