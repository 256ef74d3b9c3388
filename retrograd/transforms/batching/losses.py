"""Batching rules of losses: without reduction all examples at once, then each is put together."""

from __future__ import annotations

import math

from retrograd.backend.arrays import DType
from retrograd.ops.neural.loss_reduction import MEAN, NONE, SUM
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batching.elementwise import line_up
from retrograd.transforms.batching.neural import joined, parted
from retrograd.transforms.batching.rules import BatchedCall, batching, loop


def _together(call: BatchedCall, losses: Tensor) -> Tensor:
    """The mean or sum of the losses of every example."""
    reduction = call["reduction"]
    shape = losses._array.shape
    flat = RECORDED.reshape(losses, (call.size, math.prod(shape[1:])))
    if reduction == NONE:
        result: Tensor = losses
    elif reduction == SUM:
        result = RECORDED.sum(flat, 1, False)
    else:
        result = RECORDED.mean(flat, 1, False)
    return result


@batching(
    *("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
def _elementwise_loss(call: BatchedCall) -> list[Tensor]:
    names = [name for name in call.op.plan.tensor_names if call[name] is not None]
    if not call.size:
        return loop(call)
    losses = call.run(**line_up(call, names), reduction=NONE)[0]
    return [_together(call, losses)]


@batching(
    *("_mse_loss_gradient", "_smooth_l1_loss_gradient", "_huber_loss_gradient"),
    *("_binary_cross_entropy_gradient",),
)
def _elementwise_gradient(call: BatchedCall) -> list[Tensor]:
    names = [name for name in call.op.plan.tensor_names if call[name] is not None]
    if len({call.shape(name) for name in ("input", "target")}) > 1 or not call.size:
        return loop(call)
    found = line_up(call, names)
    if call["reduction"] == MEAN:
        found["grad"] = RECORDED.div(found["grad"], max(math.prod(call.shape("input")), 1))
    return call.run(**found, reduction=NONE)


# ------------------------------------------------------------------------------- classification


def _rows(call: BatchedCall, tensor: Tensor, kept: int) -> Tensor:
    """All examples' rows under each other: (batch * rows, ...) with `kept` dimensions left."""
    shape = tensor._array.shape
    last = shape[len(shape) - kept :]
    return RECORDED.reshape(tensor, (math.prod(shape[: len(shape) - kept]), *last))


def _weights(call: BatchedCall, target: Tensor, kind: DType) -> Tensor:
    """How much every place of a target counts: nothing where it is to be ignored."""
    counts = RECORDED.ne(target, call["ignore_index"])
    if call["weight"] is None:
        return RECORDED._to_dtype(counts, kind, None)
    safe = RECORDED.masked_fill(target, RECORDED.logical_not(counts), 0)
    flat = RECORDED.index_select(call["weight"], 0, RECORDED.reshape(safe, (safe._array.size,)))
    found = RECORDED.reshape(flat, tuple(safe._array.shape))
    return RECORDED.masked_fill(found, RECORDED.logical_not(counts), 0)


def _is_batch_of_rows(call: BatchedCall) -> bool:
    rank = call.rank("input")
    fits = rank in (1, 2) and call.rank("target") == rank - 1
    fits = fits and call.shape("input")[:-1] == call.shape("target")
    return bool(fits and call.size and not call.is_batched("weight"))


@batching("_nll_loss")
def _nll_loss(call: BatchedCall) -> list[Tensor]:
    if not _is_batch_of_rows(call):
        return loop(call)
    x, target = call.expanded("input"), call.expanded("target")
    flat = call.run(input=_rows(call, x, 1), target=_rows(call, target, 0), reduction=NONE)[0]
    losses = RECORDED.reshape(flat, tuple(target._array.shape))
    return _weighted(call, losses, target, x._array.dtype)


def _weighted(call: BatchedCall, losses: Tensor, target: Tensor, kind: DType) -> list[Tensor]:
    """The losses of every example together; their mean is one of weighted losses."""
    if call["reduction"] != MEAN:
        return [_together(call, losses)]
    many = RECORDED.reshape(losses, (call.size, math.prod(call.shape("target"))))
    counts = RECORDED.reshape(_weights(call, target, kind), tuple(many._array.shape))
    return [RECORDED.div(RECORDED.sum(many, 1, False), RECORDED.sum(counts, 1, False))]


@batching("_nll_loss_gradient")
def _nll_loss_gradient(call: BatchedCall) -> list[Tensor]:
    if not _is_batch_of_rows(call):
        return loop(call)
    x, target = call.expanded("input"), call.expanded("target")
    shape = tuple(target._array.shape)
    found = call.run(
        grad=RECORDED.reshape(_slopes(call, target, x._array.dtype), (math.prod(shape),)),
        input=_rows(call, x, 1),
        target=_rows(call, target, 0),
        reduction=NONE,
    )[0]
    return [RECORDED.reshape(found, tuple(x._array.shape))]


def _slopes(call: BatchedCall, target: Tensor, kind: DType) -> Tensor:
    """The gradient of every single loss, in the shape of the target."""
    shape = tuple(target._array.shape)
    grad: Tensor = call.expanded("grad")
    if call["reduction"] == MEAN:
        counts = _weights(call, target, kind)
        total = RECORDED.sum(
            RECORDED.reshape(counts, (call.size, counts._array.size // call.size)), 1
        )
        grad = RECORDED.div(grad, total)
    if call["reduction"] != NONE:
        lined = RECORDED.reshape(grad, (call.size, *(1,) * (len(shape) - 1)))
        grad = RECORDED.expand(lined, shape)
    return grad


def _is_batch_of_images(call: BatchedCall) -> bool:
    images, *places = call.shape("target")
    return bool(
        call.size
        and not call.is_batched("weight")
        and call.rank("input") > 2
        and (call.shape("input")[0], *call.shape("input")[2:]) == (images, *places)
    )


@batching("_nll_loss2d")
def _nll_loss2d(call: BatchedCall) -> list[Tensor]:
    if not _is_batch_of_images(call):
        return loop(call)
    x, target = call.expanded("input"), call.expanded("target")
    flat = call.run(input=joined(x), target=joined(target), reduction=NONE)[0]
    losses = RECORDED.reshape(flat, tuple(target._array.shape))
    return _weighted(call, losses, target, x._array.dtype)


@batching("_nll_loss2d_gradient")
def _nll_loss2d_gradient(call: BatchedCall) -> list[Tensor]:
    if not _is_batch_of_images(call):
        return loop(call)
    x, target = call.expanded("input"), call.expanded("target")
    grad = joined(_slopes(call, target, x._array.dtype))
    found = call.run(grad=grad, input=joined(x), target=joined(target), reduction=NONE)[0]
    return [parted(call, found)]


@batching("multi_margin_loss", "multilabel_margin_loss")
def _margin_loss(call: BatchedCall) -> list[Tensor]:
    if call.rank("input") != 2 or not call.size or _has_own_weight(call):
        return loop(call)
    x, target = joined(call.expanded("input")), joined(call.expanded("target"))
    losses = call.run(input=x, target=target, reduction=NONE)[0]
    return [_together(call, parted(call, losses))]


def _has_own_weight(call: BatchedCall) -> bool:
    return "weight" in call.places and call.is_batched("weight")
