"""Normalization across neighbouring channels, as an older layer of PyTorch computes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.function import Function, once_differentiable
from retrograd.nn.module import Module
from retrograd.notices import runtime_error
from retrograd.tensor import Array, Tensor, wrap


def _windows(channels: int, size: int) -> Array:
    """Which channels (columns) enter the norm of each channel (rows).

    PyTorch moves the window along by adding the channel that enters and taking off the one that
    leaves, and never takes off the first one: it stays in every window.
    """
    half = int((size - 1) / 2 + 1)
    rows, columns = np.ogrid[:channels, :channels]
    inside = (columns < rows + half) & ((columns > rows - half) | (columns == 0))
    early = rows <= half  # nothing has been taken off yet
    found: Array = inside | (early & (columns < rows + half))
    return found


class _CrossMapLRN(Function):
    """The layer's function with PyTorch's own gradient, whose windows differ from those above."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        windows = wrap(_windows(input.size(1), size).astype(input._array.dtype))
        squares = input.pow(2)
        scale = (windows @ squares.flatten(2)).reshape(input.shape) * (alpha / size) + k
        output: Tensor = scale.pow(-beta) * input
        ctx.save_for_backward(input, output, scale)
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None, None, None]:
        input, output, scale = ctx.saved_tensors
        size, channels = ctx.size, input.size(1)
        if size == 1:  # PyTorch has no gradient for it
            raise runtime_error(
                f"start (1) + length ({channels}) exceeds dimension size ({channels}).",
                code="RG204",
            )
        before = int(size - (size - 1) / 2)
        rows, columns = np.ogrid[:channels, :channels]
        reach = (columns >= rows - before) & (columns < rows - before + size)
        windows = wrap(reach.astype(input._array.dtype))
        ratio = grad_output * output / scale
        total = (windows @ ratio.flatten(2)).reshape(input.shape)
        factor = 2 * ctx.alpha * ctx.beta / size
        gradient = scale.pow(-ctx.beta) * grad_output - factor * (input * total)
        return gradient, None, None, None, None


class CrossMapLRN2d(Module):
    """Divide each channel by a norm over its neighbours; `LocalResponseNorm` is the newer form.

    >>> torch.nn.CrossMapLRN2d(3)(torch.ones(1, 2, 1, 1)).flatten()
    tensor([0.9999, 0.9999])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = _CrossMapLRN.apply(input, self.size, self.alpha, self.beta, self.k)
        return result

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
