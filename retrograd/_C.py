"""The few names that programs take from PyTorch's compiled part."""

from retrograd.ops.linalg.shared import LinAlgError as _LinAlgError
from retrograd.random import Generator as Generator
from retrograd.tensors.size import Size as Size
from retrograd.tensors.size import device as device


def _log_api_usage_once(event: str) -> None:
    """Count that a part of the library is used: nothing is counted."""


def _get_tracing_state() -> None:
    """What a trace has recorded: nothing is traced, so None."""
    return None


__all__ = ["Generator", "Size", "_LinAlgError", "device"]
