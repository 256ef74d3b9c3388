"""The older forms of `torch.autocast("cuda")` and of the decorators of custom Functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.amp import autocast_mode
from retrograd.amp.older import deprecated_form

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """Deprecated: ``torch.autocast("cuda", ...)``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        deprecated_form("cuda.amp.autocast(args...)", "amp.autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def _cast(value: Any, dtype: dtypes.dtype) -> Any:
    """Deprecated: the function of this name in ``torch.amp.autocast_mode``."""
    deprecated_form(
        "cuda.amp.autocast_mode._cast(value, dtype)",
        "amp.autocast_mode._cast(value, 'cuda', dtype)",
    )
    return autocast_mode._cast(value, "cuda", dtype)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """Deprecated: ``torch.amp.custom_fwd(..., device_type="cuda")``."""
    deprecated_form("cuda.amp.custom_fwd(args...)", "amp.custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """Deprecated: ``torch.amp.custom_bwd(..., device_type="cuda")``."""
    deprecated_form("cuda.amp.custom_bwd(args...)", "amp.custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
