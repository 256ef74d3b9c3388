"""Folding a batch normalization in evaluation mode into the layer before it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

from retrograd.nn.batchnorm import _BatchNorm
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.making.creation import ones_like, zeros_like
from retrograd.tensor import Tensor

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

M = TypeVar("M", bound=Module)


def _check_modes(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: _BatchNorm) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A convolution that computes what `conv` and then `bn` compute.

    transpose  whether `conv` is a transposed convolution

    >>> conv, bn = torch.nn.Conv1d(1, 2, 3).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, bn), torch.randn(1, 1, 5)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check_modes(conv, bn)
    fused: Any = deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused  # type: ignore[no-any-return]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with a batch normalization folded in.

    >>> one = torch.ones(1)
    >>> torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, one, one, 0.0, one * 3, one)
    (Parameter containing:
    tensor([[[3.]]]), Parameter containing:
    tensor([-2.]))
    """
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = ones_like(bn_rm) if bn_w is None else bn_w
    shift = zeros_like(bn_rm) if bn_b is None else bn_b
    inverse = (bn_rv + bn_eps).rsqrt()
    ones = [1] * (conv_w.ndim - 2)
    channels = [1, -1, *ones] if transpose else [-1, 1, *ones]
    weight = (conv_w * (scale * inverse).reshape(channels)).to(dtype=conv_w.dtype)
    offset = ((bias - bn_rm) * inverse * scale + shift).to(dtype=bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(offset, bias.requires_grad)


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A linear layer that computes what `linear` and then `bn` compute.

    >>> linear, bn = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> fused, x = torch.nn.utils.fuse_linear_bn_eval(linear, bn), torch.randn(4, 3)
    >>> torch.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True
    """
    _check_modes(linear, bn)
    fused: Any = deepcopy(linear)
    # one channel means that the normalization sees the features elsewhere: scaled all alike
    if fused.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={fused.out_features} and bn.num_features={bn.num_features}"
        )
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused  # type: ignore[no-any-return]


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with a batch normalization folded in.

    >>> one = torch.ones(1)
    >>> torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), one, one, one, 0.0, one * 3, one)
    (Parameter containing:
    tensor([[3.]]), Parameter containing:
    tensor([1.]))
    """
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    offset = ((bias - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(offset, bias.requires_grad)
