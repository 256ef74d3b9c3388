"""Marks for NVIDIA's profiler: PyTorch without CUDA refuses them, and so does this."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from retrograd.compat.marks import refuses
from retrograd.notices import explained

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_WHY = "there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler"


def _absent(name: str) -> Any:
    @refuses(_WHY)
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise explained(
            RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: there is no CUDA device."
    return refuse


mark = _absent("mark")
range_end = _absent("range_end")
range_pop = _absent("range_pop")
range_push = _absent("range_push")
range_start = _absent("range_start")


@refuses(_WHY)
@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """The context that is marked: entering it raises, there is no CUDA device."""
    range_push(msg)
    yield
