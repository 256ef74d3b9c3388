"""Dropout layers: in training they zero a random part of the input and scale up the rest."""

from __future__ import annotations

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.tensor import Tensor


class _DropoutNd(Module):
    """What all dropout layers share: the probability and whether the input is overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability `p`.

    >>> torch.nn.Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of a sequence, (N, C, L) or (C, L).

    >>> torch.nn.Dropout1d(1.0)(torch.ones(1, 2, 3)).sum()
    tensor(0.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of an image, (N, C, H, W).

    >>> torch.nn.Dropout2d(1.0)(torch.ones(1, 2, 3, 3)).sum()
    tensor(0.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of a volume, (N, C, D, H, W).

    >>> torch.nn.Dropout3d(1.0)(torch.ones(1, 2, 3, 3, 3)).sum()
    tensor(0.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1: the companion of SELU.

    >>> torch.nn.AlphaDropout(0.2).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        # PyTorch ignores `inplace` here; so do we.
        return functional.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> torch.nn.FeatureAlphaDropout(0.2).eval()(torch.ones(1, 2, 1)).tolist()
    [[[1.0], [1.0]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        # PyTorch ignores `inplace` here; so do we.
        return functional.feature_alpha_dropout(input, self.p, self.training)
