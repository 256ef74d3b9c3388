"""The modules `cupy` and `cupyx`."""

from __future__ import annotations

import contextlib
import time
import types
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from tests.cuda.fake import machine
from tests.cuda.fake.device_arrays import Capsule, Device, Pointer
from tests.strict import arrays
from tests.strict.arrays import Library, StrictArray


class CUDARuntimeError(RuntimeError):
    """`cupy.cuda.runtime.CUDARuntimeError`."""

    status = 101


# ------------------------------------------------------------------------- streams and events


class Stream:
    """A row of work: everything in it has been done when it was put there."""

    _numbers = iter(range(1 << 20, 1 << 30, 16))
    current: ClassVar[list[Stream]] = []

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.ptr = 0 if null else next(Stream._numbers)
        self.device_id = -1 if null else machine.current()
        self.is_non_blocking, self.priority, self.ptds = non_blocking, priority or 0, ptds
        self.waited: list[object] = []
        self._before: list[Stream] = []

    @classmethod
    def from_external(cls, stream):
        _version, pointer = stream.__cuda_stream__()
        made = cls()
        made.ptr = pointer
        return made

    def __enter__(self):
        self._before.append(get_current_stream())
        return self.use()

    def __exit__(self, *exception):
        self._before.pop().use()

    def use(self):
        Stream.current[:] = [self]
        return self

    def synchronize(self):
        machine.waits.append(f"stream {self.ptr}")

    @property
    def done(self):
        return True

    def record(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        self.waited.append(event)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self):
        return hash(self.ptr)


Stream.null = Stream(null=True)


class ExternalStream(Stream):
    def __init__(self, ptr, device_id=-1):
        super().__init__()
        self.ptr, self.device_id = ptr, device_id


def get_current_stream(device_id=None):
    return Stream.current[0] if Stream.current else Stream.null


class Event:
    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.ptr = id(self)
        self.disable_timing = disable_timing
        self.at = None

    def record(self, stream=None):
        self.at = time.perf_counter()

    @property
    def done(self):
        return True

    def synchronize(self):
        machine.waits.append("event")


def get_elapsed_time(start, end):
    if start.at is None or end.at is None:
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (end.at - start.at) * 1e3


# ------------------------------------------------------------------------------------- memory


def set_allocator(function=None):
    machine.allocator = machine.room_for if function is None else function


def empty(shape, dtype=float, order="C"):
    """Refused before NumPy looks for as much memory."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if size > machine.MEMORY:
        machine.allocator(size)
    return arrays.made(np.empty(shape, dtype, order))


class MemoryPool:
    """The pool; a second one is that of a graph, which counts what `held` says."""

    held = 0

    def malloc(self, size):
        machine.room_for(size)

    def used_bytes(self):
        return machine.used[machine.current()] if self is _pool else self.held

    def total_bytes(self):
        return machine.held[machine.current()]

    def free_bytes(self):
        return self.total_bytes() - self.used_bytes()

    def n_free_blocks(self):
        return int(self.free_bytes() > 0)

    def free_all_blocks(self, stream=None):
        machine.held[machine.current()] = machine.used[machine.current()]

    def set_limit(self, size=None, fraction=None):
        machine.limit = size

    def get_limit(self):
        return 0


class Pinned(bytearray):
    """Memory of the host that the device reads."""

    ptr = 0


def _properties(index):
    return {
        "name": b"Posing GPU",
        "major": 9,
        "minor": 0,
        "totalGlobalMem": machine.MEMORY,
        "multiProcessorCount": 4,
        "warpSize": 32,
        "maxThreadsPerMultiProcessor": 2048,
        "maxThreadsPerBlock": 1024,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlock": 49152,
        "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472,
        "l2CacheSize": 1 << 20,
        "memoryClockRate": 1000,
        "memoryBusWidth": 512,
        "clockRate": 1000,
        "pciBusID": index,
        "pciDeviceID": 0,
        "pciDomainID": 0,
        "uuid": bytes(range(16)),
        "integrated": 0,
        "isMultiGpuBoard": 0,
    }


class RawModule:
    """Sources are not compiled here, and nothing can be launched."""

    def __init__(self, *args, **options):
        pass

    def get_function(self, name):
        def launch(*args, **options):
            raise RuntimeError(f"the fake device launches no kernels: {name}")

        return launch


class MemoryHook:
    """`cupy.cuda.MemoryHook`: told of what the pool gives and takes."""

    def __enter__(self):
        machine.hooks.append(self)
        return self

    def __exit__(self, *exception):
        machine.hooks.remove(self)


_pool, _pinned_pool = MemoryPool(), MemoryPool()

runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: machine.count,
    getDevice=machine.current,
    setDevice=machine.use,
    getDeviceProperties=_properties,
    memGetInfo=lambda: Device().mem_info,
    deviceSynchronize=lambda: machine.waits.append(f"device {machine.current()}"),
    deviceCanAccessPeer=lambda one, other: int(one != other),
    driverGetVersion=lambda: 13000,
    runtimeGetVersion=lambda: 13000,
    is_hip=False,
)
cuda = SimpleNamespace(
    Device=Device,
    Event=Event,
    ExternalStream=ExternalStream,
    MemoryHook=MemoryHook,
    MemoryPool=MemoryPool,
    MemoryPointer=Pointer,
    PinnedMemoryPointer=Pinned,
    Stream=Stream,
    alloc_pinned_memory=Pinned,
    set_allocator=set_allocator,
    get_current_stream=get_current_stream,
    get_elapsed_time=get_elapsed_time,
    memory=SimpleNamespace(OutOfMemoryError=machine.OutOfMemoryError),
    runtime=runtime,
)


# -------------------------------------------------------------------------------- the modules


def asarray(a, dtype=None, order=None, **options):
    """The way in: the one function of the namespace that takes NumPy's arrays."""
    if type(a) is StrictArray:
        return arrays.dressed(np.asarray(a._held, dtype, order=order))
    if isinstance(a, np.ndarray):
        return arrays.made(np.array(a, dtype, order=order or "K"))
    return arrays.dressed(np.asarray(arrays.bare(a), dtype, order=order))


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    if type(a) is not StrictArray:
        return np.asarray(a, order=order)
    if order not in ("C", "F", "A"):
        raise ValueError(f"unsupported order: {order}")
    return a.get(stream, order, out, blocking)


def from_dlpack(array, **options):
    capsule = array.__dlpack__()
    if not isinstance(capsule, Capsule):
        return arrays.made(np.from_dlpack(array).copy())
    return arrays.dressed(capsule.array._held.view())


cupy = Library("cupy", np)
vars(cupy).update(
    __version__="14.2.0",
    ndarray=StrictArray,
    cuda=cuda,
    asarray=asarray,
    empty=empty,
    asnumpy=asnumpy,
    from_dlpack=from_dlpack,
    get_default_memory_pool=lambda: _pool,
    get_default_pinned_memory_pool=lambda: _pinned_pool,
    RawModule=RawModule,
)
cupyx = types.ModuleType("cupyx")


@contextlib.contextmanager
def _errstate(**options):
    yield


cupyx.errstate = _errstate
