"""Switches of PyTorch's computing libraries. They can be set and read, and change nothing here.

>>> import retrograd as torch
>>> with torch.backends.cudnn.flags(deterministic=True):
...     torch.backends.cudnn.deterministic
True
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

from retrograd.backends.remembered import switches as _switches
from retrograd.namespaces import missing

_LAZY = frozenset(
    """
    cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum quantized
    xnnpack
    """.split()
)
_frozen = [False]

fp32_precision = "none"
set_flags, flags = _switches(globals(), fp32_precision="none")


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return _frozen[0]


def disable_global_flags() -> None:
    """Note that switches are changed by contexts only."""
    _frozen[0] = True


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return _import_module(f"retrograd.backends.{name}")
    raise missing(__name__, name, globals())
