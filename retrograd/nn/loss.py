"""Loss layers."""

from __future__ import annotations

from typing import Any

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.tensor import Tensor


class MSELoss(Module):
    """Mean squared difference of input and target.

    >>> import retrograd as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = functional.legacy_reduction(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        result: Tensor = functional.mse_loss(input, target, reduction=self.reduction)
        return result
