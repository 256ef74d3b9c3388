"""CuPy's arrays as tensors' arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from retrograd.backend.arrays import Array
from retrograd.backend.bases import tell_owners
from retrograd.backend.cuda.errors import invalid_device, watched
from retrograd.backend.cuda.library import functions
from retrograd.backend.device import Backend


class CudaBackend(Backend):
    """The arrays of NVIDIA's devices.

    cupy   the array library's module
    count  how many devices there are
    """

    blas: Any = None  # what makes products, where cuBLAS is called directly

    def __init__(self, cupy: Any, count: int) -> None:
        self.cupy = cupy
        self.count = count
        # called with a number of bytes in use that will be freed without a word to memory hooks
        self.unseen: list[Callable[[int], None]] = []
        cupy.cuda.set_allocator(watched(cupy))
        super().__init__("cuda", cupy.ndarray, cupy, functions(cupy))

    # ------------------------------------------------------------------------------- devices

    @property
    def current(self) -> int:
        """The number of the device in use."""
        found: int = self.cupy.cuda.runtime.getDevice()
        return found

    @cached_property
    def counts_bases(self) -> bool:
        """Tried with arrays of CuPy, when the first view becomes a gradient.

        Not before: memory makes a context there, and a look whether there is a device does not.
        """
        return tell_owners(lambda: self.cupy.empty((4, 3), "float32"))

    def check_index(self, index: int | None) -> None:
        """Raise where a number is no device's, or another's than the one in use."""
        if index is None:
            return
        if not 0 <= index < self.count:
            raise invalid_device()
        if index != self.current:
            raise NotImplementedError(
                f"retrograd computes on one CUDA device at a time, and cuda:{self.current} is the "
                f"current one: call torch.cuda.set_device({index}) before anything is put on "
                f"cuda:{index}"
            )

    def address(self, array: Any) -> int:
        found: int = array.data.ptr
        return found

    def index(self, array: Any) -> int:
        found: int = array.data.device_id
        return found

    def grid(self, index: int) -> tuple[int, int]:
        facts = self.cupy.cuda.runtime.getDeviceProperties(index)
        return facts["multiProcessorCount"], facts["maxThreadsPerMultiProcessor"]

    # ----------------------------------------------------------------------------- transfers

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        if not self.is_pinned(array) or not (array.flags.c_contiguous and array.size):
            found: Array = self.cupy.asarray(array)  # copied before it returns, so it may change
            return found
        there = self.cupy.empty(array.shape, array.dtype)
        stream = self.cupy.cuda.get_current_stream()
        there.set(array, stream=stream)
        if not non_blocking:
            stream.synchronize()
        result: Array = there
        return result

    def to_numpy(self, array: Any, *, non_blocking: bool = False) -> Array:
        if not non_blocking:
            found = self._taken(array)
            for check in self.faults:
                check()
            return found
        dense = self.cupy.ascontiguousarray(array) if array.ndim else array
        target = self.pinned(array.shape, array.dtype)
        dense.get(out=target, blocking=False)
        return target

    def _taken(self, array: Any) -> Array:
        """A copy on the host, whose dimensions lie in the order that they have on the device."""
        found: Array
        if not array.flags.c_contiguous:
            axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
            turned = array.transpose(axes)
            if turned.flags.c_contiguous:
                found = self.cupy.asnumpy(turned).transpose(np.argsort(axes))
                return found
        found = self.cupy.asnumpy(array)
        return found

    # ------------------------------------------------------------------------- pinned memory

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """New memory of the host that the device reads and writes by itself."""
        size = np.dtype(dtype).itemsize
        for length in shape:
            size *= length
        memory = self.cupy.cuda.alloc_pinned_memory(max(size, 1))
        # as bytes first, because not every dtype is known to the buffer protocol
        found: Array = np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)
        return found

    def is_pinned(self, array: Any) -> bool:
        """Whether an array of the CPU lies in such memory."""
        kind = self.cupy.cuda.PinnedMemoryPointer
        while array is not None:
            if isinstance(array, kind):
                return True
            array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
        return False
