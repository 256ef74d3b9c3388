"""Batching rules of elementwise ops: examples of all operands are lined up, then broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend.arrays import DType
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batched import BatchedTensor
from retrograd.transforms.batching.rules import ELEMENTWISE, BatchedCall, batching, call_op, loop


def line_up(call: BatchedCall, names: Sequence[str]) -> dict[str, Any]:
    """Physical operands whose dimensions broadcast as those of the examples do.

    An operand without dimensions takes no part in type promotion when others have some; with the
    batch it has one, so it is converted to the type of the result first.
    """
    rank = max([call.rank(name) for name in names])
    target = _promoted(call, names) if call.op.promote else None
    if target is not None:
        call.check()
        if call.op.float_result and target.kind in "biu":
            target = dtypes.get_default_dtype().numpy
    return {name: line_up_one(call, name, rank, target) for name in names}


def line_up_one(call: BatchedCall, name: str, rank: int, target: DType | None = None) -> Any:
    """One operand with the batch first, then as many dimensions as `rank`; of type `target`."""
    value = call.front(name)
    missing = rank - call.rank(name)
    if missing and call.is_batched(name):
        shape = value._array.shape
        value = RECORDED.view(value, (shape[0], *(1,) * missing, *shape[1:]))
    if target is not None and isinstance(value, Tensor) and value._array.dtype is not target:
        value = RECORDED._to_dtype(value, target, None)
    return value


def _promoted(call: BatchedCall, names: Sequence[str]) -> Any:
    """The NumPy type of operands of different types, as examples; None where they are alike.

    Ops of three operands count a batch of numbers as a tensor with a dimension, as PyTorch does.
    """
    values = [call[name] for name in names]
    if len({value._array.dtype for value in values if isinstance(value, Tensor)}) < 2:
        return None
    if len(call.op.plan.tensor_names) > 2:
        values = [call.front(name) for name in names]
    given = [v._array if isinstance(v, Tensor) else v for v in values if v is not None]
    return dtypes.result_dtype(given).numpy


@batching(ELEMENTWISE)
def elementwise(call: BatchedCall) -> list[Tensor]:
    """Line up the operands and call."""
    values = _in_line(call)
    if values is not None:
        return call_op(call.op, values)
    return call.run(**line_up(call, call.op.plan.tensor_names))


def _in_line(call: BatchedCall) -> list[Any] | None:
    """The arguments with physical tensors in the usual case, all of one type; or None."""
    values = list(call.args)
    level = call.level
    lowest, rank = 99, 0  # of the physical tensors, and what they should have
    dtype: Any = None
    for place in call.op.plan.tensor_places:
        value = values[place]
        if isinstance(value, Tensor):
            if value._level == level:
                assert isinstance(value, BatchedTensor)
                if value._batch_dim:
                    return None
                value = values[place] = value._physical
                array = value._array
                ndim = array.ndim
                if ndim < lowest:
                    lowest = ndim
            else:
                array = value._array
                ndim = array.ndim + 1
            if ndim > rank:
                rank = ndim
            if dtype is not None and array.dtype is not dtype:
                return None
            dtype = array.dtype
    if lowest < rank:
        for place in call.op.plan.tensor_places:
            value = call.args[place]
            if isinstance(value, BatchedTensor) and value._level == level:
                size, *shape = value._physical._array.shape
                wide = (size, *(1,) * (rank - 1 - len(shape)), *shape)
                values[place] = RECORDED.view(value._physical, wide)
    return values


@batching("_choose")
def _choose(call: BatchedCall) -> list[Tensor]:
    target = _promoted(call, ("input", "other"))
    rank = max([call.rank(name) for name in call.op.plan.tensor_names])
    found = {name: line_up_one(call, name, rank, target) for name in ("input", "other")}
    return call.run(condition=line_up_one(call, "condition", rank), **found)


@batching("_clone_as", "_to_dtype")
def _converted(call: BatchedCall) -> list[Tensor]:
    if call["order"] is not None:
        return loop(call)  # an order of the example's dimensions
    return call.run(input=call.front("input"))


@batching("_copy")
def _copy(call: BatchedCall) -> list[Tensor]:
    target = call.expanded("input")
    return call.run(input=target, src=line_up_one(call, "src", call.rank("input")))


@batching("_fill_tensor", "_fill_tensor_in_place")
def _fill(call: BatchedCall) -> list[Tensor]:
    if not call.is_batched("value"):
        return call.run(input=call.front("input"))
    kind, shape = call["input"]._array.dtype, call.shape("input")
    value = line_up_one(call, "value", len(shape), kind)
    return [RECORDED.clone(RECORDED.expand(value, (call.size, *shape)))]


@batching("_masked_fill_tensor")
def _masked_fill_tensor(call: BatchedCall) -> list[Tensor]:
    rank = max(call.rank("input"), call.rank("mask"))
    found = {name: line_up_one(call, name, rank) for name in ("input", "mask")}
    if not call.is_batched("value"):
        return call.run(**found)
    if call["mask"]._array.dtype is not dtypes.B8 or call.rank("value"):
        return loop(call)  # raises
    value = line_up_one(call, "value", rank, call["input"]._array.dtype)
    return [RECORDED._choose(value, found["input"], found["mask"])]
