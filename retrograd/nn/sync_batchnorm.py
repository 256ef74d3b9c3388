"""Batch normalization by the statistics of the batches of all processes."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.autograd.function import Function
from retrograd.distributed.collectives import all_gather, all_reduce
from retrograd.distributed.group import Group, ProcessGroup, is_initialized, require
from retrograd.dtypes import dtype
from retrograd.engine.grad_mode import no_grad
from retrograd.nn.batchnorm import _BatchNorm
from retrograd.nn.module import Module
from retrograd.ops.making.creation import empty_like
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

__all__ = ["SyncBatchNorm"]


class _Rows(Function):
    """The tensors of all processes, one below the other. Backward is `_Sum`, and its is this."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        found = [empty_like(tensor) for _ in range(group.size())]
        all_gather(found, tensor.contiguous(), group)
        return RECORDED.stack(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Sum.apply(gradients[0], ctx.group), None


class _Sum(Function):
    """The row with a process's number, summed over the tables of all processes."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        summed = table.detach().clone()
        all_reduce(summed, group=group)
        return summed[group.rank()]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Rows.apply(gradients[0], ctx.group), None


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes together, while it trains.

    process_group  the processes; all of them if it is not given

    In evaluation, and in one process, it does what `BatchNorm1d` does. PyTorch has it on
    accelerators only.

    >>> layer = torch.nn.SyncBatchNorm(1)
    >>> layer(torch.tensor([[1.0], [3.0]])).detach()
    tensor([[-1.0000],
            [ 1.0000]])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Group = None,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """The normalized batch; all processes have to call it."""
        if not self.training or not is_initialized():
            return super().forward(input)
        group = require(self.process_group)
        if group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked)
        return self._normalized(input, share, group)

    def _normalized(self, input: Tensor, share: float, group: ProcessGroup) -> Tensor:
        small = input.dtype in (dtypes.float16, dtypes.bfloat16)
        values = input.float() if small else input
        channels = input.size(1)
        count = input.numel() // channels
        others = [dimension for dimension in range(input.dim()) if dimension != 1]
        line = [1, channels] + [1] * (input.dim() - 2)
        own_mean = values.sum(others) / max(count, 1)
        own_squares = (values - own_mean.view(line)).square().sum(others)
        own_count = own_mean.new_full((1,), float(count))
        told = _Rows.apply(RECORDED.cat([own_mean, own_squares, own_count]), group)
        means, squares, counts = told.split([channels, channels, 1], 1)
        total = counts.sum()
        mean = (means * counts).sum(0) / total
        # Deviations from each process's own mean, and of those means: no large squares cancel.
        squares_of_all = squares.sum(0) + (counts * (means - mean).square()).sum(0)
        variance = squares_of_all / total
        self._remember(mean, squares_of_all / (total - 1), share)
        normalized = (values - mean.view(line)) * (variance + self.eps).rsqrt().view(line)
        if self.weight is not None:
            normalized = normalized * self.weight.view(line)
        if self.bias is not None:
            normalized = normalized + self.bias.view(line)
        result: Tensor = normalized.to(input.dtype) if small else normalized
        return result

    def _remember(self, mean: Tensor, variance: Tensor, share: float) -> None:
        if self.track_running_stats and self.running_mean is not None:
            assert self.running_var is not None
            with no_grad():
                for held, new in ((self.running_mean, mean), (self.running_var, variance)):
                    held.mul_(1 - share).add_(new.detach().to(held.dtype), alpha=share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Group = None) -> Module:
        """The module with every `BatchNorm` layer in it replaced by one for all processes.

        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
        SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
