"""Switches of PyTorch's computing libraries. They can be set and read, and change nothing here."""

from __future__ import annotations

from typing import Any


class _Backend:
    """One library: absent, with settings that are remembered."""

    def __init__(self, available: bool = False, **settings: Any) -> None:
        self._available = available
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        """Whether this library is used."""
        return self._available

    def is_built(self) -> bool:
        """Whether support for this library was compiled in."""
        return self._available


class _CuDNN(_Backend):
    def version(self) -> None:
        """The version of cuDNN: None."""
        return None


cudnn = _CuDNN(
    enabled=True, deterministic=False, benchmark=False, benchmark_limit=10, allow_tf32=True
)
cuda = _Backend(matmul=_Backend(allow_tf32=False, allow_fp16_reduced_precision_reduction=True))
mps = _Backend()
mkl = _Backend()
mkldnn = _Backend(enabled=True)
openmp = _Backend()
