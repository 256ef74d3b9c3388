"""What all processes of a group do together with their tensors.

>>> import retrograd as torch
>>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
>>> gathered = [torch.zeros(2)]
>>> torch.distributed.all_gather(gathered, torch.tensor([1.0, 2.0]))
>>> gathered
[tensor([1., 2.])]
>>> torch.distributed.destroy_process_group()
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from retrograd.distributed.arrays import (
    Carried,
    carried,
    here,
    kind,
    one,
    reducible,
    same_dtype,
    several,
    told,
)
from retrograd.distributed.group import Group, ProcessGroup
from retrograd.distributed.names import ReduceOp, supports_complex
from retrograd.distributed.transports.interface import Flat, Transport
from retrograd.distributed.watched_barrier import watched_barrier
from retrograd.distributed.work import Work
from retrograd.futures import Future
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor

__all__ = [
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single"),
    *("all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier"),
    *("broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter"),
    *("reduce_scatter_single", "reduce_scatter_tensor", "scatter"),
]


def _begun(
    found: ProcessGroup,
    async_op: bool,
    name: str,
    detail: str,
    agreed: object,
    run: Callable[[Transport, int], None],
    result: Any = None,
) -> Work | None:
    work = found.begin(name, detail, agreed, run, result)
    return _waited(work, async_op)


def root_of(
    found: ProcessGroup, rank: int | None, group_rank: int | None, name: str, default: int | None
) -> int:
    """The number in the group of the process that gives or gets, told in either way."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        rank = default
    if group_rank is None:
        from retrograd.distributed.group import GroupMember

        if found is not GroupMember.WORLD and rank not in found._ranks:
            raise ValueError(f"Global rank {rank} is not part of group {found}")
        assert rank is not None
        group_rank = rank if found is GroupMember.WORLD else found._ranks.index(rank)
    if not 0 <= group_rank < found.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {group_rank}")
    return group_rank


def _divided(flat: Flat, op: ReduceOp, size: int) -> None:
    if op is ReduceOp.AVG:
        np.divide(flat, flat.dtype.type(size), out=flat)


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes become their sum, or what else `op` says, in place."""
    one(tensor, "tensor")
    found = here(group, "all_reduce")
    if found is None:
        return None
    work = all_reduce_several(found, [tensor], op, "all_reduce")
    return _waited(work, async_op)


def _waited(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


def all_reduce_several(found: ProcessGroup, tensors: list[Tensor], op: ReduceOp, name: str) -> Work:
    """Begin to reduce tensors, all in one exchange."""
    for tensor in tensors:
        if tensor.dtype.is_complex and not supports_complex(op):
            raise ValueError(f"{name} does not support {op} on complex tensors")
        reducible(found, op, tensor.dtype, name)
    taken = [carried(found, tensor, name) for tensor in tensors]

    def run(transport: Transport, tag: int) -> None:
        for each in taken:
            transport.allreduce(each.flat, op, tag)
            _divided(each.flat, op, transport.size)
            each.back()

    detail = f"{', '.join(map(told, tensors))}, {op.name}"
    agreed = (op.value, *map(kind, tensors))
    return found.begin(name, detail, agreed, run, tensors)


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Future[list[Tensor]] | None:
    """The same for several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    several(tensors, "tensor")
    same_dtype(tensors)
    found = here(group, "all_reduce_coalesced")
    if found is None:
        return None
    work = all_reduce_several(found, tensors, op, "all_reduce_coalesced")
    return work.get_future() if _waited(work, async_op) else None


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensor of one process becomes the sum of all, in place."""
    one(tensor, "tensor")
    found = here(group, "reduce", rooted=True)
    if found is None:
        return None
    root = root_of(found, dst, group_dst, "reduce", None)
    reducible(found, op, tensor.dtype, "reduce")
    each = carried(found, tensor, "reduce")

    def run(transport: Transport, tag: int) -> None:
        transport.reduce(each.flat, op, root, tag)
        if transport.rank == root:
            _divided(each.flat, op, transport.size)
            each.back()

    detail, agreed = f"{told(tensor)}, {op.name}, dst={root}", (kind(tensor), op.value, root)
    return _begun(found, async_op, "reduce", detail, agreed, run, [tensor])


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """All processes get the tensor of one, in place."""
    one(tensor, "tensor")
    found = here(group, "broadcast", rooted=True)
    if found is None:
        return None
    root = root_of(found, src, group_src, "broadcast", None)
    each = carried(found, tensor, "broadcast")

    def run(transport: Transport, tag: int) -> None:
        transport.broadcast(each.flat, root, tag)
        if transport.rank != root:
            each.back()

    detail, agreed = f"{told(tensor)}, src={root}", (kind(tensor), root)
    return _begun(found, async_op, "broadcast", detail, agreed, run, [tensor])


def _lengths(
    found: ProcessGroup, values: Sequence[Tensor], like: Tensor, name: str, what: str
) -> list[Carried]:
    size = found.size()
    if len(values) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid {what} tensor list at index 0 "
            f"(expected length {size}, got {len(values)})"
        )
    for index, value in enumerate(values):
        if value.dtype is not like.dtype:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor type at index {index} "
                f"(expected {like.dtype}, got {value.dtype})"
            )
        if value.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {index} "
                f"(expected {_size(like.shape)}, got {_size(value.shape)})"
            )
    return [carried(found, value, name) for value in values]


def _size(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """All processes get the tensors of all, in the tensors of a list."""
    several(tensor_list, "tensor_list")
    one(tensor, "tensor")
    same_dtype(tensor_list, tensor)
    found = here(group, "all_gather")
    if found is None:
        return None
    outputs = _lengths(found, tensor_list, tensor, "allgather", "output")
    return _gathered(found, outputs, tensor, async_op, "all_gather", tensor_list)


def _gathered(
    found: ProcessGroup,
    outputs: list[Carried],
    tensor: Tensor,
    async_op: bool,
    name: str,
    result: Any,
) -> Work | None:
    each = carried(found, tensor, name)

    def run(transport: Transport, tag: int) -> None:
        transport.allgather([output.flat for output in outputs], each.flat, tag)
        for output in outputs:
            output.back()

    return _begun(found, async_op, name, told(tensor), kind(tensor), run, result)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Future[list[list[Tensor]]] | None:
    """The same for several tensors."""
    found = here(group, "all_gather_coalesced")
    if found is None:
        return None
    several(input_tensor_list, "tensor_list")
    same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        several(outputs, "output_tensor_lists")
        same_dtype(outputs)
    work: Work | None = None
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        flats = _lengths(found, outputs, tensor, "allgather_coalesced", "output")
        work = _gathered(found, flats, tensor, True, "all_gather_coalesced", output_tensor_lists)
    if work is None:
        return None
    if async_op:  # exchanges end in the order in which they begin: the last stands for all
        return work.get_future()
    work.wait()
    return None


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """All processes get the tensors of all, one after the other in one tensor."""
    one(input_tensor, "input_tensor")
    one(output_tensor, "output_tensor")
    found = here(group, "all_gather_single")
    if found is None:
        return None
    size = found.size()
    parts = output_tensor.detach().chunk(size) if output_tensor.ndim else (output_tensor,)
    _lengths(found, list(parts), input_tensor, "allgather", "output")
    whole, each = (
        carried(found, output_tensor, "allgather"),
        carried(found, input_tensor, "allgather"),
    )
    flats = np.split(whole.flat, size)

    def run(transport: Transport, tag: int) -> None:
        transport.allgather(flats, each.flat, tag)
        whole.back()

    detail, agreed = told(input_tensor), kind(input_tensor)
    name = "all_gather_single"
    return _begun(found, async_op, name, detail, agreed, run, [output_tensor])


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """The older name of `all_gather_single`."""
    _renamed("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def _renamed(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.distributed.{old}` is deprecated. Please use `torch.distributed.{new}` instead.",
        FutureWarning,
        stacklevel=user_level(),
    )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """One process gets the tensors of all, in the tensors of a list."""
    one(tensor, "tensor")
    if gather_list:
        several(gather_list, "gather_list")
    else:
        gather_list = []
    same_dtype(tensor, gather_list)
    found = here(group, "gather", rooted=True)
    if found is None:
        return None
    root = root_of(found, dst, group_dst, "gather", 0)
    outputs: list[Carried] | None = None
    if found.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        outputs = _lengths(found, gather_list, tensor, "gather", "output")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    each = carried(found, tensor, "gather")

    def run(transport: Transport, tag: int) -> None:
        flats = None if outputs is None else [output.flat for output in outputs]
        transport.gather(flats, each.flat, root, tag)
        for output in outputs or ():
            output.back()

    detail, agreed = f"{told(tensor)}, dst={root}", (kind(tensor), root)
    return _begun(found, async_op, "gather", detail, agreed, run, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Each process gets one of the tensors of a list."""
    one(tensor, "tensor")
    if scatter_list:
        several(scatter_list, "scatter_list")
    else:
        scatter_list = []
    same_dtype(tensor, scatter_list)
    found = here(group, "scatter", rooted=True)
    if found is None:
        return None
    root = root_of(found, src, group_src, "scatter", 0)
    inputs: list[Carried] | None = None
    if found.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        inputs = _lengths(found, scatter_list, tensor, "scatter", "input")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    each = carried(found, tensor, "scatter")

    def run(transport: Transport, tag: int) -> None:
        flats = None if inputs is None else [given.flat for given in inputs]
        transport.scatter(each.flat, flats, root, tag)
        each.back()

    detail, agreed = f"{told(tensor)}, src={root}", (kind(tensor), root)
    return _begun(found, async_op, "scatter", detail, agreed, run, [tensor])


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gets the sum of one place of the lists of all."""
    one(output, "output")
    several(input_list, "input_list")
    same_dtype(output, input_list)
    found = here(group, "reduce_scatter")
    if found is None:
        return None
    if len(input_list) != found.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    for given in input_list:
        if given.shape != output.shape:
            raise RuntimeError(
                "Check failed: outputs[0].sizes().vec() == inputs[0][i].sizes().vec() "
                f"({' '.join(map(str, output.shape))} vs. {' '.join(map(str, given.shape))}). "
            )
    flats = [carried(found, given, "reduce_scatter").flat for given in input_list]
    return _reduced(found, output, flats, op, async_op, "reduce_scatter")


def _reduced(
    found: ProcessGroup,
    output: Tensor,
    flats: Sequence[Flat],
    op: ReduceOp,
    async_op: bool,
    name: str,
) -> Work | None:
    reducible(found, op, output.dtype, name)
    each = carried(found, output, name)

    def run(transport: Transport, tag: int) -> None:
        copies = [flat.copy() for flat in flats]  # the engine adds in them
        transport.reduce_scatter(each.flat, copies, op, tag)
        _divided(each.flat, op, transport.size)
        each.back()

    detail, agreed = f"{told(output)}, {op.name}", (kind(output), op.value)
    return _begun(found, async_op, name, detail, agreed, run, [output])


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gets its part of the sum of all tensors."""
    one(output, "output")
    one(input, "input")
    found = here(group, "reduce_scatter_single")
    if found is None:
        return None
    same_dtype(output, input)
    size = found.size()
    if output.numel() * size != input.numel():
        have = output.shape[0] * size if output.ndim else size
        raise RuntimeError(
            "Check failed: outputShape[0] * worldSize == inputShape[0] "
            f"({have} vs. {input.shape[0] if input.ndim else 1}). "
        )
    flats = np.split(carried(found, input, "reduce_scatter_single").flat, size)
    return _reduced(found, output, flats, op, async_op, "reduce_scatter_single")


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """The older name of `reduce_scatter_single`."""
    _renamed("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gives one tensor of a list to each other."""
    several(output_tensor_list, "output_tensor_list")
    several(input_tensor_list, "input_tensor_list")
    same_dtype(output_tensor_list, input_tensor_list)
    found = here(group, "all_to_all")
    if found is None:
        return None
    for values, which in ((output_tensor_list, "output"), (input_tensor_list, "input")):
        if len(values) != found.size():
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {which} tensor list size {len(values)} does not "
                f"match world size {found.size()}"
            )
    outputs = [carried(found, value, "all_to_all") for value in output_tensor_list]
    inputs = [carried(found, value, "all_to_all").flat for value in input_tensor_list]
    me = found.rank()
    if outputs[me].flat.size != inputs[me].size:
        raise RuntimeError(
            f"ProcessGroupGloo::alltoall: invalid tensor size at index {me} (expected "
            f"{_size(input_tensor_list[me].shape)}, got {_size(output_tensor_list[me].shape)})"
        )
    dtype = output_tensor_list[0].dtype

    def run(transport: Transport, tag: int) -> None:
        transport.alltoall([output.flat for output in outputs], inputs, tag)
        for output in outputs:
            output.back()

    detail = ", ".join(map(told, input_tensor_list))
    return _begun(found, async_op, "all_to_all", detail, dtype, run, output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Each process gives a part of a tensor to each other."""
    one(output, "output")
    one(input, "input")
    same_dtype(output, input)
    found = here(group, "all_to_all_single")
    if found is None:
        return None
    if not (output.is_contiguous() and input.is_contiguous()):
        raise ValueError("Tensors must be contiguous")
    me = found.rank()
    whole = carried(found, output, "all_to_all_single")
    outputs = _split(whole.flat, output, output_split_sizes, found.size())
    inputs = _split(
        carried(found, input, "all_to_all_single").flat, input, input_split_sizes, found.size()
    )
    if outputs[me].size != inputs[me].size:
        raise RuntimeError(
            f"ProcessGroupGloo::alltoall_base: this process gives itself {inputs[me].size} "
            f"elements, and takes {outputs[me].size}"
        )

    def run(transport: Transport, tag: int) -> None:
        transport.alltoall(outputs, inputs, tag)
        whole.back()

    name, detail = "all_to_all_single", told(input)
    return _begun(found, async_op, name, detail, input.dtype, run, [output])


def _split(flat: Flat, tensor: Tensor, sizes: list[int] | None, count: int) -> list[Flat]:
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return np.split(flat, count)
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = flat.size // length if length else 0
    return np.split(flat, np.cumsum(sizes)[:-1] * row)


def barrier(
    group: Group = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait for all processes."""
    found = here(group, "barrier")
    if found is None:
        return None

    def run(transport: Transport, tag: int) -> None:
        transport.barrier(tag)

    return _begun(found, async_op, "barrier", "", None, run, [])


def monitored_barrier(
    group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all processes; an error names the first that does not come, or all such.

    The processes meet by keys of the store, so it finds out about those that are in no exchange.
    """
    found = here(group, "monitored_barrier")
    if found is None:
        return
    if not isinstance(timeout, timedelta | None):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if found.size() > 1:
        watched_barrier(found, timeout, wait_all_ranks)
