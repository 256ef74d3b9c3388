"""What processes do together, in a group of one: each returns what it is given.

>>> import retrograd as torch
>>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
>>> gathered = [torch.zeros(2)]
>>> torch.distributed.all_gather(gathered, torch.tensor([1.0, 2.0]))
>>> gathered
[tensor([1., 2.])]
>>> torch.distributed.destroy_process_group()
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar

from retrograd.distributed.group import Group, ReduceOp, require
from retrograd.engine.grad_mode import no_grad
from retrograd.futures import Future
from retrograd.tensor import Tensor

__all__ = [
    *("Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object"),
    *("all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier"),
    *("broadcast", "broadcast_object_list", "gather", "gather_object", "irecv", "isend"),
    *("monitored_barrier", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor"),
    *("scatter", "scatter_object_list", "send"),
]


_T = TypeVar("_T")


class Work:
    """An exchange that was begun with ``async_op=True``: it is done."""

    def __init__(self, result: list[Tensor]) -> None:
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the exchange, which is done."""
        return True

    def is_completed(self) -> bool:
        """Whether the exchange is done: yes."""
        return True

    def is_success(self) -> bool:
        """Whether the exchange succeeded: yes."""
        return True

    def result(self) -> list[Tensor]:
        """The tensors that were exchanged."""
        return self._result

    def get_future(self) -> Future[list[Tensor]]:
        """A future with the tensors that were exchanged."""
        return _future(self._result)


def _future(result: _T) -> Future[_T]:
    found: Future[_T] = Future()
    found.set_result(result)
    return found


def _done(async_op: bool, result: list[Tensor]) -> Work | None:
    return Work(result) if async_op else None


def _tensor(value: object, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor"
        )


def _tensors(values: object, name: str) -> None:
    if not isinstance(values, list) or not all(isinstance(each, Tensor) for each in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]"
        )


def _root(rank: int | None, name: str, kind: str) -> None:
    if rank not in (None, 0):
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid {kind} rank: {rank}")


def _alone(values: Sequence[object], name: str, which: str) -> None:
    if len(values) != 1:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid {which} tensor list at index 0 "
            f"(expected length 1, got {len(values)})"
        )


def _copied(target: Tensor, source: Tensor, name: str) -> None:
    if target.shape != source.shape and target.numel() != source.numel():
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid tensor size at index 0 "
            f"(expected {list(source.shape)}, got {list(target.shape)})"
        )
    if target.dtype is not source.dtype:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid tensor type at index 0 "
            f"(expected {source.dtype}, got {target.dtype})"
        )
    with no_grad():
        target.copy_(source.reshape(target.shape))


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes become their sum, in place: it stays as it is."""
    _tensor(tensor, "tensor")
    require(group)
    return _done(async_op, [tensor])


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Future[list[Tensor]] | None:
    """The same for several tensors."""
    _tensors(tensors, "tensor")
    require(group)
    return _future(tensors) if async_op else None


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensor of one process becomes the sum of all, in place."""
    _tensor(tensor, "tensor")
    require(group)
    _root(dst, "reduce", "root")
    return _done(async_op, [tensor])


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """All processes get the tensor of one, in place."""
    _tensor(tensor, "tensor")
    require(group)
    _root(src, "broadcast", "root")
    return _done(async_op, [tensor])


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """All processes get the tensors of all, in the tensors of a list."""
    _tensors(tensor_list, "tensor_list")
    _tensor(tensor, "tensor")
    require(group)
    _alone(tensor_list, "allgather", "output")
    _copied(tensor_list[0], tensor, "allgather")
    return _done(async_op, tensor_list)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Future[list[list[Tensor]]] | None:
    """The same for several tensors."""
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        all_gather(outputs, tensor, group)
    return _future(output_tensor_lists) if async_op else None


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """All processes get the tensors of all, one after the other in one tensor."""
    _tensor(input_tensor, "input_tensor")
    _tensor(output_tensor, "output_tensor")
    require(group)
    _copied(output_tensor, input_tensor, "allgather")
    return _done(async_op, [output_tensor])


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """One process gets the tensors of all, in the tensors of a list."""
    _tensor(tensor, "tensor")
    require(group)
    _root(dst, "gather", "root")
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _alone(gather_list, "gather", "output")
    _copied(gather_list[0], tensor, "gather")
    return _done(async_op, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Each process gets one of the tensors of a list."""
    _tensor(tensor, "tensor")
    require(group)
    _root(src, "scatter", "root")
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _alone(scatter_list, "scatter", "input")
    _copied(tensor, scatter_list[0], "scatter")
    return _done(async_op, [tensor])


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gets the sum of one place of the lists of all."""
    _tensor(output, "output")
    _tensors(input_list, "input_list")
    require(group)
    _alone(input_list, "reduce_scatter", "input")
    _copied(output, input_list[0], "reduce_scatter")
    return _done(async_op, [output])


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gets its part of the sum of all tensors."""
    return reduce_scatter(output, [input], op, group, async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gives one tensor of a list to each other."""
    _tensors(output_tensor_list, "output_tensor_list")
    _tensors(input_tensor_list, "input_tensor_list")
    require(group)
    _alone(output_tensor_list, "alltoall", "output")
    _alone(input_tensor_list, "alltoall", "input")
    _copied(output_tensor_list[0], input_tensor_list[0], "alltoall")
    return _done(async_op, output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: object = None,
    input_split_sizes: object = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gives a part of a tensor to each other."""
    return all_to_all([output], [input], group, async_op)


def barrier(group: Group = None, async_op: bool = False, device_ids: object = None) -> Work | None:
    """Wait for all processes: they are here."""
    require(group)
    return _done(async_op, [])


def monitored_barrier(
    group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all processes: they are here."""
    require(group)


# --------------------------------------------------------------------------- objects


def all_gather_object(object_list: list[object], obj: object, group: Group = None) -> None:
    """All processes get the objects of all, in a list."""
    require(group)
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: object,
    object_gather_list: list[object] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """One process gets the objects of all, in a list."""
    require(group)
    if object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list[object], *args: object, group: Group = None, **rest: object
) -> None:
    """All processes get the objects of one: they are in the list."""
    require(group)


def scatter_object_list(
    scatter_object_output_list: list[object],
    scatter_object_input_list: list[object] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Each process gets one of the objects of a list."""
    require(group)
    if not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


# --------------------------------------------------------------------------- one to one


def send(
    tensor: Tensor, dst: int | None = None, group: Group = None, *args: object, **rest: object
) -> None:
    """Give a tensor to another process: there is none."""
    _tensor(tensor, "tensor")
    require(group)
    raise ValueError(
        "Invalid destination rank: destination rank should not be the same as the rank of the "
        "current process."
    )


def recv(
    tensor: Tensor, src: int | None = None, group: Group = None, *args: object, **rest: object
) -> int:
    """Get a tensor from another process: there is none."""
    _tensor(tensor, "tensor")
    require(group)
    raise ValueError(
        "Invalid source rank: source rank should not be the same as the rank of the current "
        "process."
    )


def isend(tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0) -> Work | None:
    """Begin to give a tensor to another process: there is none."""
    send(tensor, dst, group, tag)
    return None


def irecv(tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0) -> Work | None:
    """Begin to get a tensor from another process: there is none."""
    recv(tensor, src, group, tag)
    return None
