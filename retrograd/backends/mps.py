"""Metal of Apple's computers: absent."""

from __future__ import annotations

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing("torch.backends.mps", "there is no Metal device", "get_core_count get_name")
)


def is_available() -> bool:
    """Whether a Metal device can be used: no."""
    return False


def is_built() -> bool:
    """Whether support for Metal was compiled in: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Ask for the version of macOS: PyTorch refuses without Metal, and so does this."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Ask for macOS 13: PyTorch refuses without Metal, and so does this."""
    return is_macos_or_newer(13, minor)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
