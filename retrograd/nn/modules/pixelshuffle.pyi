"""What PyTorch has in ``torch.nn.modules.pixelshuffle``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.pixelshuffle import PixelShuffle as PixelShuffle
from retrograd.nn.pixelshuffle import PixelUnshuffle as PixelUnshuffle
