"""Instance normalization: every channel of every example by itself."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from retrograd.dtypes import dtype
from retrograd.lifecycle.site import user_level
from retrograd.nn import functional
from retrograd.nn.batchnorm import _NormBase
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class _InstanceNorm(_NormBase):
    """The computation that all instance normalizations share."""

    _rank: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        low, high = self._rank + 1, self._rank + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, object],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = (f"{prefix}running_mean", f"{prefix}running_var")
            found = [key for key in keys if state_dict.pop(key, None) is not None]
            if found:
                error_msgs.append(_untracked(type(self).__name__, found))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._rank + 1
        axis = 0 if alone else 1
        if input.size(axis) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features "
                    f"({self.num_features}), but got: {input.size(axis)}."
                )
            warnings.warn(
                f"input's size at dim={axis} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=user_level(),
            )
        if alone:
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        return functional.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


def _untracked(kind: str, keys: list[str]) -> str:
    names = " and ".join(f'"{key}"' for key in keys)
    return (
        f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. "
        "If state_dict is a checkpoint saved before 0.4.0, this may be expected because "
        f"{kind} does not track running stats by default since 0.4.0. Please remove these keys "
        "from state_dict. If the running stats are actually needed, instead set "
        f"track_running_stats=True in {kind} to enable them. See the documentation of {kind} for "
        "details."
    )


class InstanceNorm1d(_InstanceNorm):
    """Give every channel of every sequence mean zero and variance one.

    affine                scale and shift the result by parameters
    track_running_stats   normalize by running statistics in evaluation

    >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _rank = 1


class InstanceNorm2d(_InstanceNorm):
    """Give every channel of every image mean zero and variance one.

    >>> torch.nn.InstanceNorm2d(3)(torch.zeros(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _rank = 2


class InstanceNorm3d(_InstanceNorm):
    """Give every channel of every volume mean zero and variance one.

    >>> torch.nn.InstanceNorm3d(3)(torch.zeros(3, 4, 4, 4)).shape
    torch.Size([3, 4, 4, 4])
    """

    _rank = 3
