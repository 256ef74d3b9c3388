"""The older forms of mixed precision, ``torch.cuda.amp`` and ``torch.cpu.amp``: they warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.amp import autocast_mode, grad_scaler
from retrograd.lifecycle.site import user_level


def deprecated_form(old: str, new: str) -> None:
    """Say that a form is deprecated."""
    text = f"`torch.{old}` is deprecated. Please use `torch.{new}` instead."
    warnings.warn(text, FutureWarning, stacklevel=user_level())


class cuda_autocast(autocast_mode.autocast):
    """Deprecated: ``torch.autocast("cuda", ...)``."""

    def __init__(
        self, enabled: bool = True, dtype: dtypes.dtype = dtypes.float16, cache_enabled: bool = True
    ) -> None:
        deprecated_form("cuda.amp.autocast(args...)", "amp.autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class cpu_autocast(autocast_mode.autocast):
    """Deprecated: ``torch.autocast("cpu", ...)``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        deprecated_form("cpu.amp.autocast(args...)", "amp.autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class _Scaler(grad_scaler.GradScaler):
    """Deprecated: ``torch.amp.GradScaler`` with the name of the device."""

    _place: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        place = self._place
        deprecated_form(f"{place}.amp.GradScaler(args...)", f"amp.GradScaler('{place}', args...)")
        numbers = (init_scale, growth_factor, backoff_factor, growth_interval)
        super().__init__(place, *numbers, enabled)


class cpu_scaler(_Scaler):
    __doc__, _place = _Scaler.__doc__, "cpu"


class cuda_scaler(_Scaler):
    __doc__, _place = _Scaler.__doc__, "cuda"


# where programs and pickles find them
for _kind, _name, _device in (
    (cpu_autocast, "autocast", "cpu"),
    (cuda_autocast, "autocast", "cuda"),
    (cpu_scaler, "GradScaler", "cpu"),
    (cuda_scaler, "GradScaler", "cuda"),
):
    _kind.__name__ = _kind.__qualname__ = _name
    _kind.__module__ = f"retrograd.{_device}.amp"


def _cast(value: object, dtype: dtypes.dtype) -> Any:
    """Deprecated: the function of this name in ``torch.amp.autocast_mode``."""
    deprecated_form(
        "cuda.amp.autocast_mode._cast(value, dtype)",
        "amp.autocast_mode._cast(value, 'cuda', dtype)",
    )
    return autocast_mode._cast(value, "cuda", dtype)


def custom_fwd(
    fwd: Callable[..., object] | None = None, *, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """Deprecated: ``torch.amp.custom_fwd(..., device_type="cuda")``."""
    deprecated_form("cuda.amp.custom_fwd(args...)", "amp.custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., object]) -> Any:
    """Deprecated: ``torch.amp.custom_bwd(..., device_type="cuda")``."""
    deprecated_form("cuda.amp.custom_bwd(args...)", "amp.custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
