"""Warnings of the older forms of `autocast` and `GradScaler`, with the device in their names."""

from __future__ import annotations

import warnings


def deprecated_form(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that a form is deprecated; by default to the caller of the one that calls this."""
    text = f"`torch.{old}` is deprecated. Please use `torch.{new}` instead."
    warnings.warn(text, FutureWarning, stacklevel=stacklevel)
