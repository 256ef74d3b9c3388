"""What the library was built with, for `torch.__config__`, and how modules convert."""

from __future__ import annotations

import sys


def show() -> str:
    """What this library computes with, in lines.

    >>> torch.__config__.show().splitlines()[0]
    'retrograd built with:'
    """
    from importlib.metadata import version

    from retrograd.torch_version import TORCH_VERSION

    return (
        "retrograd built with:\n"
        f"  - Python {sys.version.split()[0]}\n"
        f"  - NumPy {version('numpy')}\n"
        f"  - the interface of PyTorch {TORCH_VERSION}\n"
        "  - no CUDA, no MKL, no oneDNN\n"
    )


def _stays(value: bool, name: str) -> None:
    if value:
        raise NotImplementedError(
            f"torch.__future__.{name}(True) is not supported: conversions change the data of a "
            "module's parameters, which stay the same objects; assign new parameters yourself"
        )


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose that conversions make new parameters: refused, they change the data."""
    _stays(value, "set_overwrite_module_params_on_conversion")


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose that conversions swap parameters with new ones: refused, they change the data."""
    _stays(value, "set_swap_module_params_on_conversion")
