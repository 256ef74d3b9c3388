"""A layer that mixes groups of channels."""

from __future__ import annotations

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.tensor import Tensor


class ChannelShuffle(Module):
    """Interleave `groups` groups of channels.

    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
