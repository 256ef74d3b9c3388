"""Normalization of each example by itself: over features, groups of channels or neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from retrograd.dtypes import dtype
from retrograd.nn import functional, init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.making.creation import empty
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class LocalResponseNorm(Module):
    """Divide every value by a power of the squares in `size` neighbouring channels.

    >>> torch.nn.LocalResponseNorm(2)(torch.ones(1, 3, 2)).shape
    torch.Size([1, 3, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Scaled(Module):
    """A normalization whose result may be scaled and shifted by parameters."""

    weight: Parameter | None
    bias: Parameter | None

    def _make(
        self, shape: object, weight: bool, bias: bool, device: Device, dtype: dtype | None
    ) -> None:
        for name, wanted in (("weight", weight), ("bias", weight and bias)):
            made = Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)

    def reset_parameters(self) -> None:
        """Scale by one and shift by nothing."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Scaled):
    """Give the last dimensions, those of `normalized_shape`, mean zero and variance one.

    elementwise_affine   scale and shift the result by parameters of that shape

    >>> torch.nn.LayerNorm(2)(torch.tensor([1.0, 3.0])).detach()
    tensor([-1.0000,  1.0000])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


def _as_shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, Integral) else tuple(shape)  # type: ignore[return-value]


class GroupNorm(_Scaled):
    """Give each of `num_groups` groups of channels mean zero and variance one.

    >>> torch.nn.GroupNorm(2, 6)(torch.zeros(1, 6, 5)).shape
    torch.Size([1, 6, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide the last dimensions, those of `normalized_shape`, by their root mean square.

    eps   added to the mean square; the dtype's own epsilon when not given

    >>> torch.nn.RMSNorm(2, eps=0.0)(torch.tensor([1.0, 7.0])).detach()
    tensor([0.2000, 1.4000])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale by one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
