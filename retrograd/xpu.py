"""Intel's accelerators, as seen from a program that runs on the CPU: absent.

>>> import retrograd as torch
>>> torch.xpu.is_available(), torch.xpu.device_count()
(False, 0)
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from retrograd.compat.marks import refuses
from retrograd.namespaces import missing
from retrograd.notices import explained

_WHY = "there is no XPU device; ask torch.xpu.is_available() first"

default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """Whether an XPU device can be used: no."""
    return False


def is_initialized() -> bool:
    """Whether XPU was started: no."""
    return False


def device_count() -> int:
    """The number of XPU devices: 0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device computes in bfloat16: no."""
    return False


def is_tf32_supported() -> bool:
    """Whether a device computes in TensorFloat-32: no."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the generator of the device; without one there is nothing to do."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; without one there is nothing to do."""


def _answer(name: str, kind: Any, doc: str) -> Any:
    def answer(*args: Any, **options: Any) -> Any:
        return kind()

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = doc
    return answer


for _name in (
    *("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"),
):
    globals()[_name] = _answer(_name, int, "Bytes of device memory: 0.")
for _name in ("seed", "seed_all", "empty_cache"):
    globals()[_name] = _answer(_name, lambda: None, "Without a device there is nothing to do.")
for _name in ("get_arch_list", "get_rng_state_all", "memory_snapshot"):
    globals()[_name] = _answer(_name, list, "Of each device: there is none.")
memory_stats = _answer("memory_stats", OrderedDict, "Counters of the allocator: none.")
memory_stats_as_nested_dict = _answer("memory_stats_as_nested_dict", dict, "The same: none.")
get_gencode_flags = _answer("get_gencode_flags", str, "Flags of the compiler: none.")


def _absent(name: str, error: Exception) -> Any:
    @refuses(_WHY)
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise explained(type(error)(*error.args))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: there is no XPU device."
    return refuse


for _name in (
    *("can_device_access_peer", "current_device", "current_stream", "get_device_capability"),
    *("get_device_name", "get_device_properties", "get_per_process_memory_fraction"),
    *("get_rng_state", "get_stream_from_external", "init", "initial_seed", "mem_get_info"),
    *("reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device", "set_stream"),
    *("set_per_process_memory_fraction", "set_rng_state", "synchronize"),
):
    globals()[_name] = _absent(_name, AssertionError("Torch not compiled with XPU enabled"))
for _name in ("Event", "MemPool", "Stream", "XPUGraph", "XPUPluggableAllocator"):
    _error = RuntimeError(f"Tried to instantiate dummy base class {_name}")
    _facts = {"__new__": _absent(_name, _error), "__module__": "torch.xpu"}
    globals()[_name] = refuses(_WHY)(type(_name, (), _facts))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
