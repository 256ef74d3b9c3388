"""What a program said of cuDNN: read when something is computed, not before."""

from __future__ import annotations

import sys
from typing import Any


def _module(name: str) -> Any:
    """A module of settings, if the program has used it; else its settings are the usual ones."""
    return sys.modules.get(f"retrograd.{name}")


def tf32_in_convolutions() -> bool:
    """Whether convolutions of float32 may round their operands to TF32; usually they may."""
    cudnn = _module("backends.cudnn")
    return True if cudnn is None else bool(cudnn.allow_tf32)


def cudnn_is_on() -> bool:
    """Whether convolutions may be cuDNN's."""
    cudnn = _module("backends.cudnn")
    return True if cudnn is None else bool(cudnn.enabled)
