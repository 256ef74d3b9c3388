"""The module of PyTorch's compiler whose class tells compiled models from others."""

from typing import Any

from retrograd._dynamo.optimized import OptimizedModule as OptimizedModule
from retrograd.namespaces import missing


def is_dynamo_supported() -> bool:
    """Whether models can be compiled here: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
