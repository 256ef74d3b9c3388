"""The memory order of convolutions' weights."""

from __future__ import annotations

from typing import Any, TypeVar

from retrograd.nn.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module
from retrograd.tensor.size import memory_format

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: memory_format) -> M:
    """Put the weights of all `Conv2d` and `ConvTranspose2d` in a module in a memory order.

    >>> layer = torch.nn.utils.convert_conv2d_weight_memory_format(
    ...     torch.nn.Conv2d(2, 3, 4), torch.channels_last)
    >>> layer.weight.stride()
    (32, 1, 8, 2)
    """
    _convert(module, (Conv2d, ConvTranspose2d), memory_format)
    return module


def convert_conv3d_weight_memory_format(module: M, memory_format: memory_format) -> M:
    """Put the weights of all `Conv3d` and `ConvTranspose3d` in a module in a memory order.

    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(
    ...     torch.nn.Conv3d(2, 3, 4), torch.channels_last_3d)
    >>> layer.weight.stride()
    (128, 1, 32, 8, 2)
    """
    _convert(module, (Conv3d, ConvTranspose3d), memory_format)
    return module


def _convert(module: Module, kinds: tuple[type[Module], ...], memory_format: memory_format) -> None:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
