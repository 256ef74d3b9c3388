"""Batch normalization: channels made comparable by the statistics of the batch."""

from __future__ import annotations

from typing import Any

from retrograd.dtypes import dtype, int64
from retrograd.nn import functional, init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.making.construction import tensor
from retrograd.ops.making.creation import empty, ones, zeros
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class _NormBase(Module):
    """What batch and instance normalization hold: a scale, a shift and running statistics."""

    _version = 2
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        mean = variance = count = None
        if track_running_stats:
            mean = zeros(num_features, device=device, dtype=dtype)
            variance = ones(num_features, device=device, dtype=dtype)
            count = tensor(0, device=device, dtype=int64)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget every batch seen so far."""
        if self.track_running_stats:
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the batches, scale by one and shift by nothing."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _check_input_dim")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = f"{prefix}num_batches_tracked"
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats:
            # states written before batches were counted, or by hand, keep the count there is
            counted = self.num_batches_tracked
            state_dict.setdefault(key, tensor(0, dtype=int64) if counted is None else counted)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """The computation that all batch normalizations share."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        training = self.training
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean over all batches
                share = 1.0 / float(self.num_batches_tracked)
        use_running = not training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            training or (self.running_mean is None and self.running_var is None),
            share,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Give every feature mean zero and variance one over the batch.

    momentum              how much a new batch counts in the running statistics that evaluation
                          uses; None takes the plain mean over all batches
    affine                scale and shift the result by parameters
    track_running_stats   without them, evaluation too uses the batch's own statistics

    >>> layer = torch.nn.BatchNorm1d(1)
    >>> layer(torch.tensor([[1.0], [3.0]])).detach()
    tensor([[-1.0000],
            [ 1.0000]])
    >>> layer.running_mean
    tensor([0.2000])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Give every channel of a batch of images mean zero and variance one.

    >>> sorted(torch.nn.BatchNorm2d(3).state_dict())
    ['bias', 'num_batches_tracked', 'running_mean', 'running_var', 'weight']
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Give every channel of a batch of volumes mean zero and variance one.

    >>> torch.nn.BatchNorm3d(2)(torch.zeros(3, 2, 4, 4, 4)).shape
    torch.Size([3, 2, 4, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")
