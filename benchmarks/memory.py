"""What a workload holds at its peak: bytes of arrays, and resident pages of the process.

Resident pages say what the system lends to a process. They hide what a step needs as soon as freed
blocks are kept for the next one, and they count code and caches; so arrays are counted as well:
what is allocated and not yet freed, at the highest moment of a step, above what was there when the
step began. PyTorch's own profiler tells its allocations; NumPy calls the functions that a program
gives it (NEP 49).
"""

import ctypes
import gc
import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.workloads import EVERY

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")
"""Where Linux tells a process its memory, and where it forgets the peak so far."""

STEPS = 5
"""How many steps run: enough for what one step leaves to be there in the next."""


class Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class CountedArrays:
    """Counts the bytes of NumPy's arrays that are made from now on, in this thread's context."""

    SET_HANDLER = 304  # its place in the table of NumPy's C API, which never changes

    def __init__(self) -> None:
        self.live = self.peak = 0
        library = ctypes.CDLL(None)
        for name in ("malloc", "calloc", "realloc", "free"):
            getattr(library, name).restype = ctypes.c_void_p
        allocate: dict[str, Callable[..., int | None]] = {
            name: getattr(library, name) for name in ("malloc", "calloc", "realloc")
        }
        size, pointer = ctypes.c_size_t, ctypes.c_void_p

        def malloc(_context: int, count: int) -> int | None:
            self.add(count)
            return allocate["malloc"](size(count or 1))

        def calloc(_context: int, count: int, each: int) -> int | None:
            self.add(count * each)
            return allocate["calloc"](size(count or 1), size(each or 1))

        def realloc(_context: int, block: int, count: int) -> int | None:
            # the old size is not told; arrays are hardly ever resized, and it counts against us
            self.add(count)
            return allocate["realloc"](pointer(block), size(count or 1))

        def free(_context: int, block: int, count: int) -> None:
            self.live -= count
            library.free(pointer(block))

        self.functions = (
            ctypes.PYFUNCTYPE(pointer, pointer, size)(malloc),
            ctypes.PYFUNCTYPE(pointer, pointer, size, size)(calloc),
            ctypes.PYFUNCTYPE(pointer, pointer, pointer, size)(realloc),
            ctypes.PYFUNCTYPE(None, pointer, pointer, size)(free),
        )
        addresses = [ctypes.cast(function, pointer).value for function in self.functions]
        self.handler = Handler(b"counted", 1, None, *addresses)

    def add(self, count: int) -> None:
        self.live += count
        self.peak = max(self.peak, self.live)

    def start(self) -> None:
        """Put the counting functions in NumPy's place; the process should end with them there."""
        api = ctypes.pythonapi
        api.PyCapsule_New.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
        numpy = importlib.import_module("numpy._core._multiarray_umath")
        table = api.PyCapsule_GetPointer(numpy._ARRAY_API, None)
        functions = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(
            functions[self.SET_HANDLER]
        )
        set_handler(api.PyCapsule_New(ctypes.addressof(self.handler), b"mem_handler", None))


def arrays_of_numpy(torch: Any, name: str) -> int:
    counted = CountedArrays()
    counted.start()
    step = prepared_step(torch, name)
    before = counted.peak = counted.live
    step()
    return counted.peak - before


def arrays_of_torch(torch: Any, name: str) -> int:
    """From the profiler's record of every allocation, in the order of time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it announces itself
    with torch.profiler.profile(profile_memory=True) as profile:
        step = prepared_step(torch, name)
        with torch.profiler.record_function("the step"):
            step()
    events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    live = before = peak = 0
    for event in events:
        if event.name() == "the step":
            before = peak = live
        elif event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak - before


def prepared_step(torch: Any, name: str) -> Callable[[], Any]:
    step = EVERY[name].prepare(torch).step
    for _ in range(STEPS):
        step()
    gc.collect()
    return step


def array_bytes(torch: Any, name: str) -> int:
    """How many bytes of arrays a step holds at its highest moment, above those at its begin."""
    return (arrays_of_torch if torch.__name__ == "torch" else arrays_of_numpy)(torch, name)


def resident(fact: str) -> int:
    """Bytes of this process: "VmRSS" now, "VmHWM" at the peak."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(fact + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {fact} in {STATUS}")


def resident_bytes(torch: Any, name: str) -> int:
    """How far a workload drives the memory of this process above what it had before.

    The first run is not counted: it imports what the library loads only when it is needed. What
    it leaves in the allocator is given back, or the second run would use it unseen.
    """
    EVERY[name].prepare(torch).step()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    PEAK.write_text("5")
    step = EVERY[name].prepare(torch).step
    for _ in range(STEPS):
        step()
    return resident("VmHWM") - before


def in_child(measure: Callable[[Any, str], int], torch: Any, name: str) -> int:
    """What `measure` finds in a fork of this process, which leaves its own heap as it was.

    Memory that an earlier workload freed would be used again and not be seen: so nothing else
    may have run in this process before.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            reply: dict[str, Any] = {"bytes": measure(torch, name)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        os.write(writing, json.dumps(reply).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    reply = json.loads(text) if text else {"error": "the measuring process died"}
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return int(reply["bytes"])


def peaks(torch: Any, name: str) -> dict[str, int]:
    """Both peaks of a workload: of the arrays of a step, and of the process's resident pages."""
    return {
        "arrays": in_child(array_bytes, torch, name),
        "resident": in_child(resident_bytes, torch, name),
    }
