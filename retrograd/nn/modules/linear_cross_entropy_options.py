"""What PyTorch has in ``torch.nn.modules.linear_cross_entropy_options``."""

from retrograd.nn.linear_cross_entropy import (
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
