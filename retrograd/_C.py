"""The few names that programs take from PyTorch's compiled part."""

from retrograd.ops.linalg_shared import LinAlgError as _LinAlgError
from retrograd.random import Generator as Generator
from retrograd.size import Size as Size
from retrograd.size import device as device

__all__ = ["Generator", "Size", "_LinAlgError", "device"]
