"""What PyTorch has in ``torch.nn.modules.pixelshuffle``."""

from retrograd.nn.pixelshuffle import PixelShuffle as PixelShuffle
from retrograd.nn.pixelshuffle import PixelUnshuffle as PixelUnshuffle
