"""The switches of autocast that `torch` itself shows: ``torch.is_autocast_enabled("cpu")`` ...

All of them belong to a thread. Every kind of device that PyTorch knows has its switch and its
dtype here; the CPU's does something, and CUDA's where there is a device.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.backend.cuda import cuda_backend
from retrograd.engine.state import STATE, set_autocast, set_autocast_device
from retrograd.lifecycle.site import user_level
from retrograd.ops.calling.autocasting import WEIGHTS, install
from retrograd.tensor.size import device

_DEFAULTS = {
    "cpu": dtypes.bfloat16,
    "cuda": dtypes.float16,
    "hip": dtypes.float16,
    "hpu": dtypes.bfloat16,
    "ipu": dtypes.float16,
    "maia": dtypes.bfloat16,
    "mps": dtypes.float16,
    "mtia": dtypes.float16,
    "privateuseone": dtypes.float16,
    "xla": dtypes.bfloat16,
    "xpu": dtypes.float16,
}
AVAILABLE = frozenset(_DEFAULTS) - {"hip"}


class _Switches(threading.local):
    """One thread's settings, beside those that ops read (`STATE.autocast`)."""

    def __init__(self) -> None:
        self.enabled: set[str] = set()  # kinds of devices other than the CPU
        self.dtypes = dict(_DEFAULTS)
        self.nesting = 0


_SWITCHES = _Switches()


def device_kind(device_type: str, function: str) -> str:
    """The kind of device that a string names."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not "
            f"{type(device_type).__name__}"
        )
    return device(device_type).type


def _with_switch(device_type: str, function: str) -> str:
    kind = device_kind(device_type, function)
    if kind not in AVAILABLE:
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return kind


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a kind of device, in this thread.

    >>> with torch.autocast("cpu"):
    ...     print(torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled())
    True False
    """
    kind = _with_switch(device_type, "is_autocast_enabled")
    return STATE.autocast is not None if kind == "cpu" else kind in _SWITCHES.enabled


def set_autocast_enabled(*args: Any, **options: object) -> None:
    """Turn autocast on or off: ``set_autocast_enabled("cpu", True)``; `autocast` does it in pairs.

    >>> torch.set_autocast_enabled("cpu", False)
    """
    given = [*args]
    for name in ("device_type", "enabled"):
        if name in options:
            given.append(options[name])
    if len(given) == 1:
        given.insert(0, "cuda")
    if len(given) != 2:
        raise TypeError("set_autocast_enabled() takes a device type and whether it is enabled")
    device_type, enabled = given
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {max(len(args), 1)}) must be "
            f"bool, not {type(enabled).__name__}"
        )
    kind = _with_switch(device_type, "set_autocast_enabled")
    if kind == "cpu":
        if enabled:
            install()
        set_autocast(_SWITCHES.dtypes["cpu"].numpy if enabled else None)
        return
    if enabled:
        _SWITCHES.enabled.add(kind)
    else:
        _SWITCHES.enabled.discard(kind)
    if kind == "cuda" and cuda_backend() is not None:
        if enabled:
            install()
        set_autocast_device(_SWITCHES.dtypes[kind].numpy if enabled else None)


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The lower precision of autocast for a kind of device.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    found = _SWITCHES.dtypes.get(device_kind(device_type, "get_autocast_dtype"))
    if found is None:
        raise RuntimeError("unsupported scalarType")
    return found


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the lower precision of autocast for a kind of device, in this thread.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    kind = device_kind(device_type, "set_autocast_dtype")
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype).__name__}"
        )
    _SWITCHES.dtypes[kind] = dtype
    if kind == "cpu" and STATE.autocast is not None:
        set_autocast(dtype.numpy)
    if kind == "cuda" and STATE.autocast_device is not None:
        set_autocast_device(dtype.numpy)


# ------------------------------------------------------------------------------ cache, nesting


def is_autocast_cache_enabled() -> bool:
    """Whether autocast keeps its casts of weights until a region ends, in this thread."""
    return STATE.autocast_cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast keeps its casts of weights."""
    STATE.autocast_cache = _as_bool(enabled)


def _as_bool(value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"enabled must be a bool (got {type(value).__name__})")
    return value


def clear_autocast_cache() -> None:
    """Let go of the casts of weights, those of all threads."""
    WEIGHTS.casts.clear()


def autocast_increment_nesting() -> int:
    """One more region of autocast around what runs now; returns how many there are."""
    _SWITCHES.nesting += 1
    return _SWITCHES.nesting


def autocast_decrement_nesting() -> int:
    """One region of autocast less; returns how many there are left."""
    _SWITCHES.nesting -= 1
    return _SWITCHES.nesting


# -------------------------------------------------------------------------------- older names


def _deprecate(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=user_level(),
    )


def _older(name: str, kind: str) -> dict[str, Callable[..., object]]:
    """The functions for one kind of device, from before the device was an argument."""

    def is_enabled() -> bool:
        _deprecate(f"is_autocast_{name}_enabled()", f"is_autocast_enabled('{kind}')")
        return is_autocast_enabled(kind)

    def set_enabled(enabled: bool) -> None:
        switch = _as_bool(enabled)
        _deprecate(
            f"set_autocast_{name}_enabled(enabled)", f"set_autocast_enabled('{kind}', enabled)"
        )
        set_autocast_enabled(kind, switch)

    def get_dtype() -> dtypes.dtype:
        _deprecate(f"get_autocast_{name}_dtype()", f"get_autocast_dtype('{kind}')")
        return get_autocast_dtype(kind)

    def set_dtype(dtype: dtypes.dtype) -> None:
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
        _deprecate(f"set_autocast_{name}_dtype(dtype)", f"set_autocast_dtype('{kind}', dtype)")
        set_autocast_dtype(kind, dtype)

    found: dict[str, Callable[..., object]] = {
        f"is_autocast_{name}_enabled": is_enabled,
        f"set_autocast_{name}_enabled": set_enabled,
        f"get_autocast_{name}_dtype": get_dtype,
        f"set_autocast_{name}_dtype": set_dtype,
    }
    if name == "gpu":  # it was what the functions without a device meant
        del found["is_autocast_gpu_enabled"], found["set_autocast_gpu_enabled"]
    for own_name, function in found.items():
        function.__name__ = function.__qualname__ = own_name
        function.__doc__ = f"Deprecated: the function without `{name}` takes the kind of device."
    return found


# what `torch` shows of this module
PUBLIC: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        *(is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype),
        *(is_autocast_cache_enabled, set_autocast_cache_enabled, clear_autocast_cache),
        *(autocast_increment_nesting, autocast_decrement_nesting),
    )
}
for _name, _kind in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    PUBLIC |= _older(_name, _kind)
