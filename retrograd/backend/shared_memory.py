"""Arrays of the CPU in memory that processes share.

The memory has no name: a forked process inherits it, others get its descriptor, and it is gone with
the last array on it, however the processes end.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

import numpy as np

from retrograd.backend.arrays import Array, DType

SHARES: bool = hasattr(os, "fork")  # elsewhere a descriptor means nothing to another process


class SharedMemory(mmap.mmap):
    """Mapped memory that knows its descriptor and its address."""

    descriptor: int
    address: int


def opened(descriptor: int, size: int) -> SharedMemory:
    """The memory behind a descriptor, which belongs to it from now on."""
    try:
        memory = SharedMemory(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    memory.descriptor = descriptor
    memory.address = np.frombuffer(memory, np.uint8).ctypes.data
    weakref.finalize(memory, os.close, descriptor)
    return memory


def allocated(size: int) -> SharedMemory:
    """Memory of so many bytes, all zero."""
    size = max(size, 1)  # none cannot be mapped
    descriptor = _without_name()
    try:
        if hasattr(os, "posix_fallocate"):  # where memory is short, a write would end the process
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    return opened(descriptor, size)


def _without_name() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("retrograd shared")
    import tempfile  # many modules, for systems without the function above

    with tempfile.TemporaryFile(prefix="retrograd-") as file:
        return os.dup(file.fileno())


def placed(
    memory: SharedMemory,
    offset: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Array:
    """An array that lies in this memory, from so many bytes on."""
    return np.ndarray(shape, dtype, memory, offset, strides)


def copied(array: Array) -> Array:
    """The same elements, in the same order, in memory that processes share."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    rows = np.ndarray([array.shape[axis] for axis in axes], array.dtype, allocated(array.nbytes))
    made = rows.transpose(np.argsort(axes)) if axes else rows
    made[...] = array
    return made


def memory_of(array: Array) -> SharedMemory | None:
    """The shared memory that an array lies in, if it does."""
    base: Any = array
    while base is not None and not isinstance(base, SharedMemory):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base
