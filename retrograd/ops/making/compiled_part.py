"""Questions that packages ask PyTorch's compiled part, and helpers that they take from it."""

from __future__ import annotations

from typing import Any

from retrograd.engine.state import STATE
from retrograd.ops.making.construction import tensor
from retrograd.tensor import Tensor
from retrograd.tensor.size import device


def _are_functorch_transforms_active() -> bool:
    """Whether a call of `vmap`, `grad` or another transform of `torch.func` is running."""
    return STATE.transforms > 0


def _get_accelerator() -> device:
    """The device that computes where none is asked for: the CPU."""
    return device("cpu")


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor.

    >>> torch._shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(self.shape)


def _reshape_from_tensor(self: Any, shape: Tensor) -> Any:
    """A tensor in a shape that is given as a tensor."""
    return self.reshape(shape.tolist())
