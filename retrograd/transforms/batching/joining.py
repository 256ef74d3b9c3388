"""Batching rules of ops that put tensors together: cat, stack, repeat."""

from __future__ import annotations

from retrograd.ops.kinds import wrap_dim
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batching.rules import BatchedCall, batching, loop


@batching("cat")
def _cat(call: BatchedCall) -> list[Tensor]:
    ranks = {item._array.ndim for item in call["tensors"]}
    if len(ranks) > 1 or not min(ranks) or all(i._array.shape == (0,) for i in call["tensors"]):
        return loop(call)  # empty tensors of one dimension fit any others
    place = wrap_dim(call["dim"], ranks.pop()) + 1
    return call.run(tensors=[call.with_batch(item) for item in call["tensors"]], dim=place)


@batching("stack")
def _stack(call: BatchedCall) -> list[Tensor]:
    place = wrap_dim(call["dim"], call["tensors"][0]._array.ndim + 1) + 1
    return call.run(tensors=[call.with_batch(item) for item in call["tensors"]], dim=place)


@batching("repeat")
def _repeat(call: BatchedCall) -> list[Tensor]:
    x, repeats, shape = call.front("input"), tuple(call["repeats"]), call.shape("input")
    if len(repeats) < len(shape):
        return loop(call)  # raises
    if len(repeats) > len(shape):
        x = RECORDED.view(x, (call.size, *(1,) * (len(repeats) - len(shape)), *shape))
    return call.run(input=x, repeats=(1, *repeats))
