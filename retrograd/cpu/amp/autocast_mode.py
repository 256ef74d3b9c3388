"""The older form of `torch.autocast("cpu")`."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.amp import autocast_mode
from retrograd.amp.older import deprecated_form

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """Deprecated: ``torch.autocast("cpu", ...)``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        deprecated_form("cpu.amp.autocast(args...)", "amp.autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)
