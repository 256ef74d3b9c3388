"""Switches that are functions in PyTorch: what they are told is remembered, and changes nothing."""

from __future__ import annotations

import os
import re
from typing import Any

from retrograd.backend.cpu_rows import rows

_told: dict[str, Any] = {"frozen": False, "fastpath": True, "compiler": "inductor", "hub": None}


HASH_REGEX: re.Pattern[str] = re.compile(r"-([a-f0-9]*)\.")
"""Where the name of a downloaded file has the start of its hash."""


_CAPABILITIES = {"avx512": "AVX512", "avx2": "AVX2"}


def get_cpu_capability() -> str:
    """The instructions of the compiled kernels: "AVX512", "AVX2", or "DEFAULT", also without any.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    return "DEFAULT" if rows is None else _CAPABILITIES.get(rows.builds()[0], "DEFAULT")


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return bool(_told["frozen"])


def disable_global_flags() -> None:
    """Note that switches are changed by contexts only."""
    _told["frozen"] = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was last told."""
    return bool(_told["fastpath"])


def set_fastpath_enabled(value: bool) -> None:
    """Note whether attention may take another way in inference."""
    _told["fastpath"] = value


def get_default_backend() -> str:
    """What `set_default_backend` was last told."""
    return str(_told["compiler"])


def set_default_backend(backend: str) -> None:
    """Note which compiler to use."""
    _told["compiler"] = backend


def _get_torch_home() -> str:
    """The folder where PyTorch keeps what it downloads."""
    cache = os.getenv("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder where PyTorch keeps downloaded models."""
    if _told["hub"] is not None:
        return str(_told["hub"])
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder that `get_dir` names."""
    _told["hub"] = os.path.expanduser(os.fspath(d))
