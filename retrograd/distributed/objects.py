"""What processes give each other that is no tensor: anything that can be pickled.

Unpickling runs what the pickle says. The processes of a group trust each other, as in PyTorch.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from retrograd.distributed.arrays import here
from retrograd.distributed.collectives import (
    all_gather,
    broadcast,
    gather,
    root_of,
    scatter,
)
from retrograd.distributed.group import Group, require
from retrograd.distributed.point_to_point import recv, send
from retrograd.tensor import Tensor, wrap

__all__ = [
    *("all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list"),
    *("scatter_object_list", "send_object_list"),
]


def _pickled(value: object) -> Tensor:
    return wrap(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8))


def _unpickled(tensor: Tensor, size: int) -> Any:
    data: Any = tensor._array
    return pickle.Unpickler(io.BytesIO(data[:size].tobytes())).load()


def _empty(size: int) -> Tensor:
    return wrap(np.zeros(size, np.uint8))


def _number(value: int) -> Tensor:
    return wrap(np.array([value], np.int64))


def _padded(tensor: Tensor, size: int) -> Tensor:
    made: Any = _empty(size)
    made._array[: tensor.numel()] = tensor._array
    found: Tensor = made
    return found


def _sizes(data: Tensor, group: Group) -> list[int]:
    """How many bytes the objects of all processes have."""
    found = [_number(0) for _ in range(require(group).size())]
    all_gather(found, _number(data.numel()), group)
    return [int(size.item()) for size in found]


def all_gather_object(object_list: list[Any], obj: object, group: Group = None) -> None:
    """All processes get the objects of all, in a list."""
    found = here(group, "all_gather_object")
    if found is None:
        return
    data = _pickled(obj)
    sizes = _sizes(data, group)
    outputs = [_empty(max(sizes)) for _ in sizes]
    all_gather(outputs, _padded(data, max(sizes)), group)
    for rank, (output, size) in enumerate(zip(outputs, sizes, strict=True)):
        object_list[rank] = _unpickled(output, size)


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """One process gets the objects of all, in a list."""
    found = here(group, "gather_object")
    if found is None:
        return
    root = root_of(found, dst, group_dst, "gather", 0)
    mine = found.rank() == root
    if mine and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not mine and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = _pickled(obj)
    sizes = _sizes(data, group)
    outputs = [_empty(max(sizes)) for _ in sizes] if mine else None
    gather(_padded(data, max(sizes)), outputs, group=group, group_dst=root)
    if outputs is not None and object_gather_list is not None:
        for rank, (output, size) in enumerate(zip(outputs, sizes, strict=True)):
            object_gather_list[rank] = _unpickled(output, size)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: object = None,
    group_src: int | None = None,
) -> None:
    """All processes get the objects of one, in the places of a list."""
    found = here(group, "broadcast_object_list")
    if found is None:
        return
    default = None if group_src is not None else 0
    root = root_of(found, src, group_src, "broadcast", default)
    data = [_pickled(each) for each in object_list] if found.rank() == root else []
    numbers = [each.numel() for each in data] or [0] * len(object_list)
    sizes = wrap(np.array(numbers, np.int64))
    broadcast(sizes, group=group, group_src=root)
    lengths = [int(size) for size in sizes.tolist()]
    joined = wrap(
        np.concatenate(
            [np.asarray(each._array) for each in data] or [np.zeros(sum(lengths), np.uint8)]
        )
    )
    broadcast(joined, group=group, group_src=root)
    if found.rank() != root:
        _separate(joined, lengths, object_list)


def _separate(joined: Tensor, lengths: list[int], object_list: list[Any]) -> None:
    at = 0
    for index, length in enumerate(lengths):
        object_list[index] = _unpickled(joined[at : at + length], length)
        at += length


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Each process gets one of the objects of a list."""
    found = here(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    root = root_of(found, src, group_src, "scatter", 0)
    data: list[Tensor] = []
    if found.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        data = [_pickled(each) for each in scatter_object_input_list]
    longest = _number(max((each.numel() for each in data), default=0))
    broadcast(longest, group=group, group_src=root)
    length = int(longest.item())
    output, size = _empty(length), _number(0)
    padded = [_padded(each, length) for each in data] or None
    scatter(output, padded, group=group, group_src=root)
    sizes = [_number(each.numel()) for each in data] or None
    scatter(size, sizes, group=group, group_src=root)
    scatter_object_output_list[0] = _unpickled(output, int(size.item()))


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: object = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to another process."""
    if here(group, "send_object_list") is None:
        return
    data = [_pickled(each) for each in object_list]
    sizes = np.array([each.numel() for each in data], np.int64)
    send(wrap(sizes), dst, group, group_dst=group_dst)
    joined = np.concatenate([np.asarray(each._array) for each in data])
    send(wrap(joined), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: object = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects from another process, in the places of a list; the number of the other."""
    if here(group, "recv_object_list") is None:
        return -1
    sizes = wrap(np.zeros(len(object_list), np.int64))
    source = recv(sizes, src, group, group_src=group_src)
    lengths = [int(size) for size in sizes.tolist()]
    joined = _empty(sum(lengths))
    if src is None and group_src is None:  # the rest comes from the same process
        recv(joined, source, group)
    else:
        recv(joined, src, group, group_src=group_src)
    _separate(joined, lengths, object_list)
    return source
