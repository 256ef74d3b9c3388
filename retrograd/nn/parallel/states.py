"""Parameters and buffers that must be alike in all processes: checked, and copied from one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.objects import all_gather_object
from retrograd.distributed.transports.interface import Flat, Transport
from retrograd.engine.grad_mode import no_grad
from retrograd.tensor import Tensor, wrap

__all__ = ["broadcast_tensors", "check_alike"]

# Tensors up to this many bytes travel in one exchange.
_SMALL = 1 << 16


def check_alike(group: ProcessGroup, parameters: Sequence[Tensor], names: Sequence[str]) -> None:
    """An error, in every process, if the parameters have not the same shapes in all."""
    rank, size = group.rank(), group.size()
    mine = [(list(each.shape), str(each.dtype)) for each in parameters]
    every: list[Any] = [None] * size
    all_gather_object(every, (mine, list(names)), group)
    for other, (theirs, _) in enumerate(every):
        if len(theirs) != len(mine):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(mine)} "
                f"params, while rank {other} has inconsistent {len(theirs)} params."
            )
    # The first that differs from this one: every process finds one, and none goes on alone.
    for other in range(size):
        theirs, their_names = every[other]
        for number, (here, there) in enumerate(zip(mine, theirs, strict=True)):
            if here == there:
                continue
            what = "sizes" if here[0] != there[0] else "dtype"
            index = 0 if what == "sizes" else 1
            error = RuntimeError(
                f"[{rank}]: params[{number}] in this process with {what} {here[index]} appears "
                f"not to match {what} of the same param in process {other}."
            )
            error.add_note(
                f"it is {names[number]} in rank {rank}, {here[index]}, and "
                f"{their_names[number]} in rank {other}, {there[index]}"
            )
            raise error


def broadcast_tensors(group: ProcessGroup, tensors: Iterable[Tensor], root: int, what: str) -> None:
    """Copy tensors from one process to all; their versions stay as they were."""
    given = [tensor for tensor in tensors if tensor.numel()]
    if group.size() == 1 or not given:
        return
    hosts = [_bytes_of(tensor) for tensor in given]
    small = [host for host in hosts if host.nbytes <= _SMALL]
    large = [host for host in hosts if host.nbytes > _SMALL]
    packed = np.concatenate(small) if small else np.empty(0, np.uint8)

    def run(transport: Transport, tag: int) -> None:
        for flat in (packed, *large):
            if flat.size:
                transport.broadcast(flat, root, tag)

    total = sum(host.nbytes for host in hosts)
    group.begin("DistributedDataParallel", f"{what} of rank {root}", f"{root} {total}", run).wait()
    if group.rank() == root:
        return
    at = 0
    for tensor, host in zip(given, hosts, strict=True):
        if host.nbytes <= _SMALL:
            host[...] = packed[at : at + host.nbytes]
            at += host.nbytes
        _write_back(tensor, host)


def _bytes_of(tensor: Tensor) -> Flat:
    """The memory of a tensor as bytes; a copy where its elements do not lie one after the other."""
    array: Any = tensor._array
    if type(array) is not np.ndarray:
        array = np.array(tensor.detach().cpu()._array)
    flat: Flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat


def _write_back(tensor: Tensor, host: Flat) -> None:
    array: Any = tensor._array
    if type(array) is not np.ndarray:
        own: Any = tensor.detach().cpu()._array
        with no_grad():
            made = wrap(host.view(own.dtype).reshape(own.shape))
            tensor.detach().copy_(made.to(tensor.device))
    elif not np.may_share_memory(array, host):
        array[...] = host.view(array.dtype).reshape(array.shape)
