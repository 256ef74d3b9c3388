"""Functions of PyTorch's first years that old programs apply by name: `Type` and `Resize`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from retrograd.autograd.function import Function, FunctionCtx
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor


class Type(Function):
    """A tensor in another dtype (deprecated: use ``tensor.to(dtype=dtype)``)."""

    @staticmethod
    def forward(ctx: FunctionCtx, i: Tensor, dest_type: Any) -> Tensor:
        """The tensor with `dest_type`, a dtype or the name of one."""
        warnings.warn(
            "`torch.autograd._functions.Type` is deprecated as of PyTorch 2.1, please use "
            "`torch.tensor.to(dtype=dtype)` instead.",
            FutureWarning,
            stacklevel=user_level(),
        )
        ctx.input_dtype = i.dtype
        made: Tensor = i.type(dest_type)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient in the dtype of the input."""
        return grad_output.to(ctx.input_dtype), None


class Resize(Function):
    """A tensor's elements in another shape of the same size.

    >>> from retrograd.autograd._functions import Resize
    >>> Resize.apply(torch.ones(4, requires_grad=True), (2, 2))
    tensor([[1., 1.],
            [1., 1.]], grad_fn=<ResizeBackward>)
    """

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """The elements, shared if they lie in order."""
        if math.prod(sizes) != tensor.numel():
            wanted, given = ("x".join(map(str, shape)) for shape in (sizes, tensor.size()))
            raise RuntimeError(
                f"requested resize to {wanted} ({math.prod(sizes)} elements in total), but the "
                f"given tensor has a size of {given} ({tensor.numel()} elements). autograd's "
                "resize can only change the shape of a given tensor, while preserving the number "
                "of elements. "
            )
        ctx.input_sizes = tensor.size()
        return tensor.detach().contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient in the shape of the input."""
        return grad_output.contiguous().view(ctx.input_sizes), None
