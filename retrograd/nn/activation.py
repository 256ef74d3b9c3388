"""Activation layers."""

from __future__ import annotations

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.tensor import Tensor


class ReLU(Module):
    """``max(input, 0)``, elementwise.

    >>> import retrograd as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = functional.relu(input, inplace=self.inplace)
        return result

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""
