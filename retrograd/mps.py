"""Metal of Apple's computers, as seen from a program that runs on the CPU: absent.

>>> import retrograd as torch
>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any, NoReturn

from retrograd.compat.marks import refuses
from retrograd.namespaces import missing
from retrograd.notices import explained

_WHY = "there is no Metal device; ask torch.mps.is_available() first"
# PyTorch's errors name a function inside it.
_INNER = {
    "Event": "acquireEvent",
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "set_rng_state": "getDefaultGenerator",
    "synchronize": "deviceSynchronize",
}


def is_available() -> bool:
    """Whether a Metal device can be used: no."""
    return False


def device_count() -> int:
    """The number of Metal devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the device; without one there is nothing to do."""


def _absent(name: str, text: str) -> Any:
    @refuses(_WHY)
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise explained(RuntimeError(text))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: there is no Metal device."
    return refuse


for _name, _inner in _INNER.items():
    globals()[_name] = _absent(_name, f"Cannot execute {_inner}() without MPS backend.")
for _name in ("compile_shader", "load_metallib"):
    globals()[_name] = _absent(_name, "MPS is not available")


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
