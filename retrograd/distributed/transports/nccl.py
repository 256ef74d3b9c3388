"""NCCL, by CuPy: between NVIDIA's devices, of which each process has one.

Exchanges go over a stream of their own, so that they run beside a backward, after what the program
had begun before them. The thread of the group waits for their end by looking: a wait ends at its
timeout, which NCCL's own do not. Arrays of NumPy go by way of the device.

NCCL knows no tags, so exchanges that differ between processes may meet: those that then do not end
are found and named as with other engines. A program's messages go over communicators of their own,
one for each pair and direction, made by the first message.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from retrograd.distributed.names import ReduceOp
from retrograd.distributed.store import Store
from retrograd.distributed.transports.interface import Flat, Transport

__all__ = ["Nccl", "is_installed"]

MISSING = (
    "Distributed package doesn't have NCCL built in: it needs CuPy with NCCL. Install them by: "
    'pip install "retrograd[cuda]" nvidia-nccl-cu13'
)
_LONGEST_PAUSE = 0.001  # seconds
_KINDS = {
    **{name: f"NCCL_{name.upper()}" for name in ("int8", "uint8", "int32", "int64", "bfloat16")},
    **{name: f"NCCL_{name.upper()}" for name in ("float16", "float32", "float64")},
    **{"bool": "NCCL_UINT8", "complex64": "NCCL_FLOAT32", "complex128": "NCCL_FLOAT64"},
}
_OPS = {
    **{ReduceOp.SUM: "NCCL_SUM", ReduceOp.AVG: "NCCL_SUM"},  # it is divided where tensors are known
    **{ReduceOp.PRODUCT: "NCCL_PROD", ReduceOp.MIN: "NCCL_MIN", ReduceOp.MAX: "NCCL_MAX"},
}
# Sums and products of numbers that are 0 or 1, as whether any or all are 1.
_OPS_OF_BOOL = {ReduceOp.SUM: "NCCL_MAX", ReduceOp.PRODUCT: "NCCL_MIN"}


def library() -> Any:
    """CuPy's module; an error where it, or NCCL, is not there."""
    try:
        cupy: Any = importlib.import_module("cupy")
        nccl: Any = importlib.import_module("cupy.cuda.nccl")
    except ImportError as error:
        raise RuntimeError(MISSING) from error
    if not nccl.available:
        raise RuntimeError(MISSING)
    return cupy


def is_installed() -> bool:
    """Whether CuPy and NCCL are there."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        library()
    except RuntimeError:
        return False
    return True


class Nccl(Transport):
    """Communicators of NCCL, made on the device that is current when the first exchange begins.

    store  by which the processes tell each other what identifies a communicator
    """

    ops = frozenset(_OPS)
    of_any = False
    tags = False

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._cupy = library()
        self._nccl: Any = self._cupy.cuda.nccl
        self._store = store
        self._seconds = timeout.total_seconds()
        self._closed = False
        self._using = threading.Lock()
        self._here = threading.local()  # the stream of a thread, and the communicator in use
        self._communicators: dict[str, Any] = {}
        self.arrays = (np.ndarray, self._cupy.ndarray)

    # ------------------------------------------------------------------ on the device

    def ready(self) -> tuple[Any, Any]:
        """What the program has begun on its stream, and the device that it uses."""
        device, event = self._cupy.cuda.Device(), self._cupy.cuda.Event(disable_timing=True)
        event.record()
        return device, event

    def perform(self, run: Callable[[], None], ready: Any) -> None:
        """Run an exchange, and what belongs to it, on a stream; it is over on the device, too."""
        device, event = ready
        with device:
            if getattr(self._here, "device", None) != device:
                self._here.device = device
                self._here.stream = self._cupy.cuda.Stream(non_blocking=True)
            self._here.used = None
            with self._here.stream as stream:
                stream.wait_event(event)
                run()
                self._wait()

    def _wait(self) -> None:
        """Until all that this thread has begun is over."""
        communicator, stream = self._here.used, self._here.stream
        until, pause = time.monotonic() + self._seconds, 0.00001
        while not stream.done:
            if communicator is not None:
                communicator.check_async_error()
            late = time.monotonic() > until
            if self._closed or late:
                raise RuntimeError(
                    f"Timed out waiting {round(self._seconds * 1000)}ms for nccl operation to "
                    "complete"
                    if late
                    else "the group was ended"
                )
            time.sleep(pause)
            pause = min(pause * 1.2, _LONGEST_PAUSE)

    def _named(self, name: str, rank: int, size: int) -> tuple[Any, int]:
        """A communicator, and the stream of this thread."""
        with self._using:
            if self._closed:
                raise RuntimeError("the group was ended")
            found = self._communicators.get(name)
        if found is None:
            if rank == 0:
                self._store.set(name, bytes(self._nccl.get_unique_id()))
            found = self._nccl.NcclCommunicator(size, self._store.get(name), rank)
            with self._using:
                self._communicators[name] = found
        self._here.used = found
        return found, self._here.stream.ptr

    def _all(self) -> tuple[Any, int]:
        return self._named("all", self.rank, self.size)

    def _pair(self, from_: int, to: int) -> tuple[Any, int]:
        """The communicator of two processes, in which the one that sends is the first."""
        return self._named(f"from {from_} to {to}", int(self.rank == to), 2)

    @contextlib.contextmanager
    def _at(self, *arrays: Flat, written: Flat | None = None) -> Iterator[list[int]]:
        """Where arrays are on the device: those of NumPy are copied there, one is copied back."""
        there: list[Any] = []
        for array in arrays:
            if not array.size:
                there.append(self._cupy.empty(1, np.uint8))  # an address, of which nothing is used
            elif isinstance(array, self._cupy.ndarray):
                there.append(array)
            else:
                there.append(self._cupy.asarray(array.view(np.uint8)))
        yield [each.data.ptr for each in there]
        for array, each in zip(arrays, there, strict=True):
            if array is written and array.size and each is not array:
                self._wait()
                array.view(np.uint8)[...] = self._cupy.asnumpy(each)

    def _measured(self, array: Flat) -> tuple[int, int]:
        """How many numbers an array has, and of which kind; a complex one is two."""
        kind: int = getattr(self._nccl, _KINDS[array.dtype.name])
        return array.size * (2 if array.dtype.kind == "c" else 1), kind

    def _op(self, op: ReduceOp, array: Flat) -> int:
        names = {**_OPS, **_OPS_OF_BOOL} if array.dtype.kind == "b" else _OPS
        found: int = getattr(self._nccl, names[op])
        return found

    # ------------------------------------------------------------------ messages

    def _send(self, array: Flat, whom: int, way: tuple[Any, int]) -> None:
        communicator, stream = way
        with self._at(array) as (place,):
            communicator.send(place, array.nbytes, self._nccl.NCCL_UINT8, whom, stream)

    def _recv(self, array: Flat, whom: int, way: tuple[Any, int]) -> None:
        communicator, stream = way
        with self._at(array, written=array) as (place,):
            communicator.recv(place, array.nbytes, self._nccl.NCCL_UINT8, whom, stream)

    def post(self, array: Flat, to: int, tag: int) -> None:
        self._send(array, 1, self._pair(self.rank, to))

    def fetch(self, array: Flat, source: int | None, tag: int) -> int:
        assert source is not None
        self._recv(array, 0, self._pair(source, self.rank))
        return source

    def send(self, array: Flat, to: int, tag: int) -> None:
        self._send(array, to, self._all())

    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        assert source is not None
        self._recv(array, source, self._all())
        return source

    def exchange(self, given: Flat, to: int, taken: Flat, source: int, tag: int) -> None:
        communicator, stream = self._all()
        kind = self._nccl.NCCL_UINT8
        with self._at(given, taken, written=taken) as (there, back):
            self._nccl.groupStart()
            communicator.send(there, given.nbytes, kind, to, stream)
            communicator.recv(back, taken.nbytes, kind, source, stream)
            self._nccl.groupEnd()

    def _pairwise(self, given: Flat, to: int, taken: Flat, source: int, tag: int) -> None:
        self.exchange(given, to, taken, source, tag)

    # ------------------------------------------------------------------ exchanges of all

    def allreduce(self, array: Flat, op: ReduceOp, tag: int) -> None:
        how, (communicator, stream) = self._op(op, array), self._all()
        with self._at(array, written=array) as (place,):
            communicator.allReduce(place, place, *self._measured(array), how, stream)

    def reduce(self, array: Flat, op: ReduceOp, root: int, tag: int) -> None:
        how, (communicator, stream) = self._op(op, array), self._all()
        written = array if self.rank == root else None
        with self._at(array, written=written) as (place,):
            communicator.reduce(place, place, *self._measured(array), how, root, stream)

    def broadcast(self, array: Flat, root: int, tag: int) -> None:
        communicator, stream = self._all()
        with self._at(array, written=array) as (place,):
            kind = self._nccl.NCCL_UINT8
            communicator.broadcast(place, place, array.nbytes, kind, root, stream)

    def allgather(self, outputs: Sequence[Flat], array: Flat, tag: int) -> None:
        if any(output.size != array.size for output in outputs):
            return super().allgather(outputs, array, tag)  # its own takes arrays of one size
        communicator, stream = self._all()
        whole = self._empty(array, array.size * self.size)
        with self._at(array, whole, written=whole) as (mine, place):
            communicator.allGather(mine, place, array.nbytes, self._nccl.NCCL_UINT8, stream)
        for output, part in zip(outputs, whole.reshape(self.size, -1), strict=True):
            output[...] = part
        return None

    def reduce_scatter(self, output: Flat, inputs: Sequence[Flat], op: ReduceOp, tag: int) -> None:
        how, (communicator, stream) = self._op(op, output), self._all()
        whole = self._empty(output, output.size * self.size)
        for part, given in zip(whole.reshape(self.size, -1), inputs, strict=True):
            part[...] = given
        with self._at(whole, output, written=output) as (place, mine):
            communicator.reduceScatter(place, mine, *self._measured(output), how, stream)

    def _empty(self, like: Flat, count: int) -> Flat:
        """An array of as many elements where another one is."""
        library: Any = self._cupy if isinstance(like, self._cupy.ndarray) else np
        found: Flat = library.empty(count, like.dtype)
        return found

    # ------------------------------------------------------------------ the end

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()

    def close(self) -> None:
        """End the communicators; an exchange that waits ends by itself, and soon."""
        with self._using:
            self._closed = True
            found = tuple(self._communicators.values())
            self._communicators.clear()
        for communicator in found:
            communicator.abort()
