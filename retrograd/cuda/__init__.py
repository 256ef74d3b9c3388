"""CUDA, as seen from a program that runs on the CPU: absent, and saying so."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.cuda import names as _names
from retrograd.namespaces import missing
from retrograd.notices import explained


def is_available() -> bool:
    """Whether a CUDA device can be used: no."""
    return False


def is_initialized() -> bool:
    """Whether CUDA was started: no."""
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device computes in bfloat16: no."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the CUDA generator; without a device there is nothing to do."""


def manual_seed_all(seed: int) -> None:
    """Seed the CUDA generators of all devices; without one there is nothing to do."""


def empty_cache() -> None:
    """Give cached device memory back; without a device there is none."""


class _AbsentType:
    """The place of `cuda.FloatTensor` and its relatives: can be named, not called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise explained(
            TypeError(f"type {self.name} not available. Torch not compiled with CUDA enabled.")
        )


globals().update(_names.PUBLIC)


def __getattr__(name: str) -> Any:
    # seldom needed: imported when asked for
    if name in ("amp", "graphs", "memory", "nvtx", "random", "streams"):
        return import_module(f"retrograd.cuda.{name}")
    if name.endswith("Tensor"):
        # programs choose `cuda.FloatTensor if cuda.is_available() else FloatTensor`
        return _AbsentType(f"torch.cuda.{name}")
    raise missing(__name__, name, globals())
