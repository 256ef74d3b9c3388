"""Accelerators, as seen from a program that runs on the CPU: there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from retrograd.compat.marks import refuses
from retrograd.namespaces import missing

_WHY = "there is no accelerator; ask torch.accelerator.is_available() first"


def is_available() -> bool:
    """Whether there is an accelerator: no."""
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The kind of accelerator: None."""
    return None


def _absent(name: str) -> Any:
    @refuses(_WHY)
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError("Cannot access accelerator device when none is available.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: there is no accelerator."
    return refuse


for _name in (
    *("Graph", "current_device_idx", "current_device_index", "current_stream", "empty_cache"),
    *("empty_host_cache", "get_device_capability", "get_memory_info", "max_memory_allocated"),
    *("max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats"),
    *("reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx"),
    *("set_device_index", "set_stream", "synchronize"),
):
    globals()[_name] = _absent(_name)


class device_index:
    """The context in which the accelerator of a number is used; None stands for none."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError("Cannot access accelerator device when none is available.")

    def __exit__(self, *exception: object) -> None:
        return None


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
