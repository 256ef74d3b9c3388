"""Gradients of convolutions, as functions of their own: PyTorch's ``torch.nn.grad``.

>>> import retrograd as torch
>>> grad_output = torch.ones(1, 1, 2)
>>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), grad_output)
tensor([[[1., 2., 1.]]])
>>> torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), grad_output)
tensor([[[2., 2.]]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrograd.nn.tuples import _ntuple
from retrograd.ops.calling.aten_calls import CALLS
from retrograd.ops.kinds import Ints
from retrograd.tensor import Tensor


def _gradient(
    rank: int,
    which: int,
    input: Tensor,
    weight: Tensor,
    grad_output: Tensor,
    options: tuple[object, ...],
) -> Tensor:
    each = _ntuple(rank)
    stride, padding, dilation, groups = options
    places = (each(stride), each(padding), each(dilation), False, [0], groups)
    wanted = (which == 0, which == 1, False)
    found = CALLS["convolution_backward"](grad_output, input, weight, None, *places, wanted)
    result: Tensor = found[which]
    return result


def _by_input(rank: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        input = grad_output.new_empty(1).expand(input_size)  # only its shape matters
        options = (stride, padding, dilation, groups)
        return _gradient(rank, 0, input, weight, grad_output, options)

    gradient.__name__ = gradient.__qualname__ = f"conv{rank}d_input"
    gradient.__doc__ = f"The gradient of `conv{rank}d` with respect to an input of this size."
    return gradient


def _by_weight(rank: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = grad_output.new_empty(1).expand(weight_size)  # only its shape matters
        options = (stride, padding, dilation, groups)
        return _gradient(rank, 1, input, weight, grad_output, options)

    gradient.__name__ = gradient.__qualname__ = f"conv{rank}d_weight"
    gradient.__doc__ = f"The gradient of `conv{rank}d` with respect to a weight of this size."
    return gradient


conv1d_input, conv2d_input, conv3d_input = (_by_input(rank) for rank in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_by_weight(rank) for rank in (1, 2, 3))
