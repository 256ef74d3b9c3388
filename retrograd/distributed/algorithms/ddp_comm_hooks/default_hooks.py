"""Ways to exchange the gradients of a bucket: as they are, or in fewer bits.

>>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
>>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
>>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
>>> model.register_comm_hook(None, hooks.fp16_compress_hook)
>>> model(torch.ones(1, 1)).sum().backward()
>>> model.module.weight.grad
tensor([[1.]])
>>> torch.distributed.destroy_process_group()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from retrograd import dtypes
from retrograd.distributed.collectives import all_reduce
from retrograd.distributed.group import Group, require
from retrograd.futures import Future
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.nn.parallel.buckets import GradBucket

__all__ = [
    *("allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook"),
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, Any], Future[Tensor]]


def allreduce_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The mean over all processes, as without a hook.

    process_group  the state given with the hook: a group, or None for all processes
    """
    return _mean(process_group, bucket.buffer())


def fp16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The mean, exchanged in float16."""
    return _compressed(dtypes.float16, process_group, bucket)


def bf16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The mean, exchanged in bfloat16."""
    return _compressed(dtypes.bfloat16, process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that does what another does, in float16."""

    def fp16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _wrapped(dtypes.float16, hook, hook_state, bucket)

    return fp16_compress_wrapper_hook


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that does what another does, in bfloat16."""

    def bf16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _wrapped(dtypes.bfloat16, hook, hook_state, bucket)

    return bf16_compress_wrapper_hook


def _mean(process_group: Group, tensor: Tensor) -> Future[Tensor]:
    group = require(process_group)
    tensor.div_(group.size())
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def _compressed(dtype: dtypes.dtype, process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    buffer: Tensor = bucket.buffer()
    compressed = buffer.to(dtype).div_(require(process_group).size())
    work = all_reduce(compressed, group=process_group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: buffer.copy_(done.value()[0]))


def _wrapped(
    dtype: dtypes.dtype, hook: Hook, hook_state: Any, bucket: GradBucket
) -> Future[Tensor]:
    buffer: Tensor = bucket.buffer()
    bucket.set_buffer(buffer.to(dtype))
    return hook(hook_state, bucket).then(lambda done: buffer.copy_(done.value()))
