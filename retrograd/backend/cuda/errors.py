"""What CUDA's failures are called in PyTorch."""

from __future__ import annotations

from typing import Any

from retrograd.above import above


class AcceleratorError(RuntimeError):
    """An accelerator reported an error."""

    def __init__(self, *args: object, error_code: int | None = None) -> None:
        super().__init__(*args)
        self.error_code = error_code


class OutOfMemoryError(RuntimeError):
    """An accelerator has no memory left."""


for _kind in (OutOfMemoryError, AcceleratorError):
    _kind.__module__ = "torch"

_HINTS = {"cudaErrorInvalidDevice": "GPU device may be out of range, do you have enough GPUs?"}
_SEARCH = (
    "Search for `{}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html "
    "for more information."
)


def cuda_error(name: str, text: str, code: int) -> AcceleratorError:
    """An answer of CUDA's runtime in PyTorch's words."""
    return AcceleratorError(
        f"CUDA error: {text}\n{_HINTS.get(name) or _SEARCH.format(name)}\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
        error_code=code,
    )


@above
def exhausted(text: str) -> Exception:
    """The error of a device without memory, with a report of the lines that hold the most."""
    raise NotImplementedError


def watched(cupy: Any) -> Any:
    """An allocator that says in PyTorch's words that there is no memory left."""
    pool = cupy.get_default_memory_pool()
    lacking = cupy.cuda.memory.OutOfMemoryError

    def malloc(size: int) -> Any:
        try:
            return pool.malloc(size)
        except lacking:
            raise exhausted(_out_of_memory(cupy, pool, size)) from None

    return malloc


def _out_of_memory(cupy: Any, pool: Any, size: int) -> str:
    free, total = cupy.cuda.runtime.memGetInfo()
    used, held = pool.used_bytes(), pool.total_bytes()
    return (
        f"CUDA out of memory. Tried to allocate {in_units(size)}. GPU "
        f"{cupy.cuda.runtime.getDevice()} has a total capacity of {in_units(total)} of which "
        f"{in_units(free)} is free. Of the allocated memory {in_units(used)} is allocated by "
        f"retrograd, and {in_units(held - used)} is reserved by retrograd but unallocated."
    )


def in_units(count: float) -> str:
    """A number of bytes in the units of PyTorch's message."""
    if count <= 1024:
        return f"{count:.0f} bytes"
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if count <= size * 1024:
            return f"{count / size:.2f} {unit}"
    return f"{count / (1 << 30):.2f} GiB"


def invalid_device() -> AcceleratorError:
    """The error of a number that no device has."""
    return cuda_error("cudaErrorInvalidDevice", "invalid device ordinal", 101)
