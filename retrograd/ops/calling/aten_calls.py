"""Calls of ``torch.ops.aten`` whose arguments are not those of the public function of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.ops.neural.windows import spread
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return RECORDED.softmax(input, dim)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return RECORDED.log_softmax(input, dim)


def _to_copy(input: Tensor, *, dtype: Any = None, **layout: Any) -> Any:
    return input.clone() if dtype is None else input.to(dtype, copy=True)


def _unsafe_view(input: Tensor, size: Sequence[int]) -> Tensor:
    return RECORDED._unsafe_view(input, tuple(input.view(*size).shape))


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    before = (slice(None),) * (dim % max(input.ndim, 1))
    return input[(*before, slice(start, end, step))]


def _index(input: Tensor, indices: Sequence[Tensor]) -> Tensor:
    return input[tuple([slice(None) if index is None else index for index in indices])]


def _alias(input: Tensor) -> Tensor:
    return RECORDED._alias(input)


def _convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sequence[int] | None,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    places = input.ndim - 2
    steps, pads, gaps = (spread(tuple(sizes), places) for sizes in (stride, padding, dilation))
    options = (steps, pads, gaps, groups)
    grads: list[Tensor | None] = [None, None, None]
    if output_mask[0]:
        shape = input._array.shape
        if transposed:
            grads[0] = RECORDED._convolution_at(grad_output, weight, shape[2:], *options)
        else:
            grads[0] = RECORDED._convolution_input_gradient(grad_output, weight, shape, *options)
    if output_mask[1]:
        small, large = (input, grad_output) if transposed else (grad_output, input)
        shape = weight._array.shape
        grads[1] = RECORDED._convolution_weight_gradient(small, large, shape, *options)
    if output_mask[2]:
        grads[2] = grad_output.sum((0, *range(2, 2 + places)))
    return grads[0], grads[1], grads[2]


CALLS: dict[str, Callable[..., Any]] = {
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "_to_copy": _to_copy,
    "_unsafe_view": _unsafe_view,
    "alias": _alias,
    "convolution_backward": _convolution_backward,
    "index": _index,
    "slice": _slice,
}

# public functions with other parameters than the op: calling the op is refused
OTHER_ORDER = frozenset(
    """
    binary_cross_entropy block_diag broadcast_tensors cartesian_prod chain_matmul elu elu_
    embedding_bag fractional_max_pool2d fractional_max_pool3d l1_loss max_unpool2d max_unpool3d
    mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss smooth_l1_loss soft_margin_loss tensordot
    """.split()
)
