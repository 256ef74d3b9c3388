"""What one process sends to another.

Messages between two processes under one tag arrive in the order in which they were sent. What one
sends must have as many bytes as what the other waits for: another size is another message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.distributed.arrays import carried, here, one, told
from retrograd.distributed.group import Group, GroupMember, ProcessGroup, require
from retrograd.distributed.work import Work
from retrograd.tensor import Tensor

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _other(found: ProcessGroup, rank: int | None, group_rank: int | None, way: str) -> int | None:
    """The number in the group of the other process, told in either way."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None and rank is not None:
        if found is GroupMember.WORLD:
            group_rank = rank
        elif rank in found._ranks:
            group_rank = found._ranks.index(rank)
        else:
            raise ValueError(f"Global rank {rank} is not part of group {found}")
    if group_rank is not None and group_rank == found.rank():
        raise ValueError(
            f"Invalid {way} rank: {way} rank should not be the same as the rank of the current "
            "process."
        )
    if group_rank is not None and not 0 <= group_rank < found.size():
        raise RuntimeError(f"Invalid {way} rank: {group_rank}, of {found.size()} processes")
    return group_rank


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to another process."""
    one(tensor, "tensor")
    found = here(group, "isend")
    if found is None:
        return None
    to = _other(found, dst, group_dst, "destination")
    if to is None:
        raise ValueError("Must specify global_rank or group_rank")
    _contiguous(tensor)
    return found.begin_send(
        carried(found, tensor, "send", as_bytes=True).flat, to, tag, told(tensor)
    )


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor from another process, or from any."""
    one(tensor, "tensor")
    found = here(group, "irecv")
    if found is None:
        return None
    source = _other(found, src, group_src, "source")
    _contiguous(tensor)
    each = carried(found, tensor, "recv", as_bytes=True)
    return found.begin_recv(each.flat, source, tag, told(tensor), each.back)


def _contiguous(tensor: Tensor) -> None:
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")  # so of one that is received, too


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to another process."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from another process, or from any; the number of the other."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return require(group)._ranks[work.source_rank()]


class P2POp:
    """A message of `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        one(tensor, "tensor")
        self.op = op
        self.tensor = tensor
        self.group = require(group)
        way = "destination" if op is isend else "source"
        other = _other(self.group, peer, group_peer, way)
        if other is None:
            raise ValueError("Must specify global_rank or group_rank")
        self.group_peer = other
        self.peer = self.group._ranks[other]
        self.tag = tag

    def __repr__(self) -> str:
        me = self.group.rank()
        mine, theirs = self.group._ranks[me], self.peer
        from_, to = (mine, theirs) if self.op is isend else (theirs, mine)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src="
            f"{self.group._ranks.index(from_)}, group_dst={self.group._ranks.index(to)},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin several messages."""
    if not isinstance(p2p_op_list, list) or not all(
        isinstance(each, P2POp) for each in p2p_op_list
    ):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise ValueError("Invalid ``p2p_op_list``. The list is empty.")
    begun = [
        each.op(each.tensor, None, each.group, each.tag, each.group_peer) for each in p2p_op_list
    ]
    return [work for work in begun if work is not None]
