"""The module of PyTorch's where the classes of this package are written."""

from typing import Any

from retrograd.distributed import fsdp as _fsdp


def __getattr__(name: str) -> Any:
    return getattr(_fsdp, name)
