"""Device memory: what is in use, what the pool holds, and the most there was.

The pool is CuPy's, which counts what is in use now and what it holds. The most that was in use is
counted from the first call of `reset_peak_memory_stats` or of one of the functions that tell a peak
on, because each count costs a call for every array; before that it is what the pool held.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from retrograd.accelerators.devices import backend, index_of
from retrograd.tensor.size import Device


class _Peaks:
    """The most that was in use, while somebody wants to know."""

    def __init__(self) -> None:
        self.hook: Any = None
        self.allocated = self.reserved = 0
        self.lock = threading.Lock()

    def count(self) -> None:
        """Count from here on."""
        if self.hook is None:
            pool = backend().cupy.get_default_memory_pool()
            self.allocated, self.reserved = pool.used_bytes(), pool.total_bytes()
            self.hook = _hook(self, pool)
            self.hook.__enter__()
            backend().unseen.append(self.forget)

    def forget(self, size: int) -> None:
        """Take away what is in use, but will be freed unseen."""
        self.hook.used -= size


def _hook(peaks: _Peaks, pool: Any) -> Any:
    base: Any = backend().cupy.cuda.MemoryHook

    class Hook(base):  # type: ignore[misc]
        name = "retrograd"
        used = pool.used_bytes()

        def malloc_postprocess(self, **facts: Any) -> None:
            self.used += facts["mem_size"]
            peaks.allocated = max(peaks.allocated, self.used)

        def free_postprocess(self, **facts: Any) -> None:
            self.used -= facts["mem_size"]

    return Hook()


_PEAKS = _Peaks()


def _pool(device: Device) -> Any:
    here = backend()
    here.check_index(index_of(device))
    return here.cupy.get_default_memory_pool()


def memory_allocated(device: Device = None) -> int:
    """Bytes of device memory that arrays hold."""
    found: int = _pool(device).used_bytes()
    return found


def memory_reserved(device: Device = None) -> int:
    """Bytes of device memory that the pool holds, in use or not."""
    found: int = _pool(device).total_bytes()
    return found


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes that arrays held; see the module for what is counted from when on."""
    pool = _pool(device)
    if _PEAKS.hook is None:
        held: int = pool.total_bytes()
        _PEAKS.count()
        return held
    used: int = pool.used_bytes()
    return max(_PEAKS.allocated, used)


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes that the pool held."""
    _PEAKS.reserved = max(_PEAKS.reserved, _pool(device).total_bytes())
    return _PEAKS.reserved


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Device = None) -> None:
    """Count the most from here on."""
    pool = _pool(device)
    _PEAKS.count()
    _PEAKS.allocated, _PEAKS.reserved = pool.used_bytes(), pool.total_bytes()


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def empty_cache() -> None:
    """Give back the memory that the pool holds and no array uses."""
    here = backend()
    _PEAKS.reserved = max(_PEAKS.reserved, here.cupy.get_default_memory_pool().total_bytes())
    here.cupy.get_default_memory_pool().free_all_blocks()
    here.cupy.get_default_pinned_memory_pool().free_all_blocks()


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Free and total bytes of a device's memory, as CUDA counts them."""
    free, total = backend().cupy.cuda.Device(index_of(device)).mem_info
    return int(free), int(total)


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Let the pool hold no more than a part of the device's memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _pool(device).set_limit(fraction=fraction)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The part of the device's memory that the pool may hold."""
    limit: int = _pool(device).get_limit()
    return limit / mem_get_info(device)[1] if limit else 1.0


def memory_stats(device: Device = None) -> OrderedDict[str, int]:
    """The counters that there are, by PyTorch's names; the pool does not have the others."""
    pool = _pool(device)
    used, held = pool.used_bytes(), pool.total_bytes()
    return OrderedDict(
        {
            "active_bytes.all.current": used,
            "active_bytes.all.peak": max_memory_allocated(device),
            "allocated_bytes.all.current": used,
            "allocated_bytes.all.peak": max_memory_allocated(device),
            "inactive_split_bytes.all.current": held - used,
            "reserved_bytes.all.current": held,
            "reserved_bytes.all.peak": max_memory_reserved(device),
        }
    )


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """What is in use, in a table."""
    stats = memory_stats(device)
    rows = [
        ("Allocated memory", "allocated_bytes.all"),
        ("Active memory", "active_bytes.all"),
        ("GPU reserved memory", "reserved_bytes.all"),
    ]
    lines = [
        "|" + "=" * 75 + "|",
        f"|{f'retrograd CUDA memory summary, device ID {index_of(device)}':^75}|",
        "|" + "-" * 75 + "|",
        f"|{'Metric':^25}|{'Cur Usage':^24}|{'Peak Usage':^24}|",
        "|" + "-" * 75 + "|",
    ]
    for label, name in rows:
        now, most = (_size(stats[f"{name}.{part}"]) for part in ("current", "peak"))
        lines.append(f"| {label:<24}|{now:>22}  |{most:>22}  |")
    return "\n".join([*lines, "|" + "=" * 75 + "|"]) + "\n"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 10240 or unit == "GiB":
            return f"{count:.0f} {unit}"
        count /= 1024
    raise AssertionError
