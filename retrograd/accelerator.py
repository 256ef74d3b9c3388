"""Accelerators, as seen from a program that runs on the CPU: there are none."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is an accelerator: no."""
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The kind of accelerator: None."""
    return None


def synchronize(device: Any = None) -> None:
    """Raise: there is nothing to wait for."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
