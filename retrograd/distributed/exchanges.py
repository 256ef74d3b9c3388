"""The exchanges as methods of a group, which is how other libraries call them.

They begin an exchange and return it; lists of tensors have one element, as PyTorch's Gloo takes
them. The functions of `collectives` are the same with the group as an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from retrograd.distributed.names import ReduceOp, default_pg_timeout

if TYPE_CHECKING:
    from retrograd.distributed.group import ProcessGroup
    from retrograd.distributed.work import Work
    from retrograd.tensor import Tensor

__all__ = [
    *("AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions"),
    *("BarrierOptions", "BroadcastOptions", "GatherOptions", "ReduceOptions"),
    *("ReduceScatterOptions", "ScatterOptions"),
]


@dataclass
class _Options:
    timeout: timedelta = default_pg_timeout
    asyncOp: bool = True


@dataclass
class AllreduceOptions(_Options):
    """How tensors are reduced."""

    reduceOp: ReduceOp = ReduceOp.SUM


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """How several tensors are reduced."""


@dataclass
class ReduceScatterOptions(AllreduceOptions):
    """How tensors are reduced, of which each process gets a part."""


@dataclass
class ReduceOptions(AllreduceOptions):
    """How tensors are reduced, and who gets the result."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class BroadcastOptions(_Options):
    """Who gives."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class GatherOptions(_Options):
    """Who gets."""

    rootRank: int = 0


@dataclass
class ScatterOptions(_Options):
    """Who gives."""

    rootRank: int = 0


@dataclass
class AllgatherOptions(_Options):
    """Options of a gathering."""


@dataclass
class AllToAllOptions(_Options):
    """Options of an exchange of parts."""


@dataclass
class BarrierOptions(_Options):
    """Options of a barrier."""

    device_ids: list[int] = field(default_factory=list)


def _one(tensors: Any, name: str) -> Tensor:
    if isinstance(tensors, list | tuple):
        if len(tensors) != 1:
            raise ValueError(f"ProcessGroupGloo::{name}: requires a single-element tensor list")
        return cast("Tensor", tensors[0])
    return cast("Tensor", tensors)


def _op(options: Any) -> ReduceOp:
    return cast(ReduceOp, getattr(options, "reduceOp", options))


def _root(options: Any) -> int:
    return cast(int, getattr(options, "rootRank", options))


class Exchanges:
    """The exchanges of a group; each returns the work that was begun."""

    def _exchange(self, name: str, *args: Any, **options: Any) -> Work:
        from retrograd.distributed import collectives

        made = getattr(collectives, name)(*args, group=self, async_op=True, **options)
        return cast("Work", made)

    def allreduce(self, tensors: Any, opts: Any = ReduceOp.SUM) -> Work:
        """The tensors of all processes become one, in place."""
        return self._exchange("all_reduce", _one(tensors, "allreduce"), _op(opts))

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = ReduceOp.SUM) -> Work:
        """The same for several tensors."""
        from retrograd.distributed.collectives import all_reduce_several

        group = cast("ProcessGroup", self)
        return all_reduce_several(group, tensors, _op(opts), "all_reduce_coalesced")

    def reduce(self, tensors: Any, root: Any = 0, op: ReduceOp = ReduceOp.SUM) -> Work:
        """The tensor of one process becomes the sum of all."""
        how = root.reduceOp if isinstance(root, ReduceOptions) else op
        return self._exchange("reduce", _one(tensors, "reduce"), op=how, group_dst=_root(root))

    def broadcast(self, tensors: Any, root: Any = 0) -> Work:
        """All processes get the tensor of one."""
        return self._exchange("broadcast", _one(tensors, "broadcast"), group_src=_root(root))

    def allgather(self, outputs: Any, inputs: Any, opts: object = None) -> Work:
        """All processes get the tensors of all."""
        outs = outputs[0] if isinstance(outputs[0], list) else outputs
        return self._exchange("all_gather", outs, _one(inputs, "allgather"))

    def _allgather_base(self, output: Tensor, input: Tensor, opts: object = None) -> Work:
        return self._exchange("all_gather_single", output, input)

    def gather(self, outputs: Any, inputs: Any, root: Any = 0) -> Work:
        """One process gets the tensors of all."""
        outs = outputs[0] if outputs and isinstance(outputs[0], list) else outputs
        return self._exchange("gather", _one(inputs, "gather"), outs or None, group_dst=_root(root))

    def scatter(self, outputs: Any, inputs: Any, root: Any = 0) -> Work:
        """Each process gets one of the tensors of a list."""
        given = inputs[0] if inputs and isinstance(inputs[0], list) else inputs
        output = _one(outputs, "scatter")
        return self._exchange("scatter", output, given or None, group_src=_root(root))

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Each process gets the sum of one place of the lists of all."""
        given = inputs[0] if isinstance(inputs[0], list) else inputs
        return self._exchange("reduce_scatter", _one(outputs, "reduce_scatter"), given, _op(opts))

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = ReduceOp.SUM) -> Work:
        return self._exchange("reduce_scatter_single", output, input, _op(opts))

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: object = None) -> Work:
        """Each process gives one tensor of a list to each other."""
        return self._exchange("all_to_all", outputs, inputs)

    def alltoall_base(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: Sequence[int] = (),
        input_split_sizes: Sequence[int] = (),
        opts: object = None,
    ) -> Work:
        """Each process gives a part of a tensor to each other."""
        sizes = list(output_split_sizes), list(input_split_sizes)
        return self._exchange("all_to_all_single", output, input, *sizes)

    def barrier(self, opts: object = None, timeout: timedelta | None = None) -> Work:
        """Wait for all processes."""
        return self._exchange("barrier")

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """Wait for all processes; an error names those that do not come."""
        from retrograd.distributed.collectives import monitored_barrier

        monitored_barrier(cast("ProcessGroup", self), timeout, wait_all_ranks)

    def send(self, tensors: Any, dstRank: int, tag: int = 0) -> Work:
        """Begin to send a tensor to another process."""
        from retrograd.distributed.point_to_point import isend

        group = cast("ProcessGroup", self)
        made = isend(_one(tensors, "send"), None, group, tag, group_dst=dstRank)
        return cast("Work", made)

    def recv(self, tensors: Any, srcRank: int, tag: int = 0) -> Work:
        """Begin to receive a tensor from another process."""
        from retrograd.distributed.point_to_point import irecv

        group = cast("ProcessGroup", self)
        made = irecv(_one(tensors, "recv"), None, group, tag, group_src=srcRank)
        return cast("Work", made)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Begin to receive a tensor from any process."""
        from retrograd.distributed.point_to_point import irecv

        group = cast("ProcessGroup", self)
        return cast("Work", irecv(_one(tensors, "recvAnysource"), None, group, tag))
