"""Streams, events and contexts of devices that are not there: they can be used, and do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.marks import refuses
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor
from retrograd.tensor.size import device as _device

NO_NVTX = "NVTX functions not installed. Are you sure you have a CUDA build?"
NO_CUDA = "there is no CUDA device; ask torch.cuda.is_available() first"


class _Idle:
    """A context that changes nothing."""

    def __enter__(self) -> Any:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


class verbose(_Idle):
    """The context in which the library tells what it computes: nothing is told."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Ask for the version of macOS: PyTorch refuses without Metal, and so does this."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Ask for macOS 13: PyTorch refuses without Metal, and so does this."""
    return is_macos_or_newer(13, minor)


# ----------------------------------------------------------------------------------- the CPU's


class Stream:
    """A row of work for the device: the CPU works in one row, the program's."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: object) -> None:
        """Wait for another row: its work has finished when the ops returned."""

    def record_event(self) -> None:
        """Mark a place in the row."""

    def wait_event(self, event: object) -> None:
        """Wait for a mark in a row."""


class Event:
    """A mark in a row of work: it is always reached."""

    def query(self) -> bool:
        """Whether it is reached: yes."""
        return True

    def record(self, stream: object = None) -> None:
        """Put the mark here."""

    def synchronize(self) -> None:
        """Wait until it is reached: it is."""

    def wait(self, stream: object = None) -> None:
        """Let a row wait until it is reached: it is."""


_default_stream = Stream()


class StreamContext(_Idle):
    """The context in which another row of work is used: there is one."""

    def __init__(self, stream: object) -> None:
        self.stream = stream
        self.prev_stream = _default_stream


def current_stream(device: object = None) -> Stream:
    """The row of work in use."""
    return _default_stream


def stream(stream: object) -> StreamContext:
    """The context in which another row of work is used: there is one."""
    return StreamContext(stream)


# -------------------------------------------------------------------------------- accelerators


class device_index(_Idle):
    """The context in which the accelerator of a number is used; None stands for none."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError("Cannot access accelerator device when none is available.")


# ---------------------------------------------------------------------------------------- CUDA


class CudaError(RuntimeError):
    """CUDA reported an error."""


class DeferredCudaCallError(Exception):
    """A call that waited for CUDA to start failed."""


def _index_of(where: object) -> int:
    """The number of a device; -1 for none."""
    if where is None:
        return -1
    if isinstance(where, int):
        return where
    found = _device(where)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return 0 if found.index is None else found.index


def set_device(device: object) -> None:
    """Choose a device: -1 or None chooses none, another raises."""
    if _index_of(device) >= 0:
        raise explained(AssertionError("Torch not compiled with CUDA enabled"), code="RG302")


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all generators: there are none to set."""
    if len(list(new_states)):
        raise explained(AssertionError("Torch not compiled with CUDA enabled"), code="RG302")


class cuda_device(_Idle):
    """The context in which a CUDA device is used: a number below zero stands for none."""

    def __init__(self, device: object) -> None:
        self.idx = _index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise runtime_error("PyTorch was compiled without CUDA support", code="RG302")


class device_of(cuda_device):
    """The context of the device of a tensor: of one on the CPU, none."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(-1)


class CudaStreamContext(_Idle):
    """The context in which a stream is used; None stands for no stream."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            raise explained(AssertionError("Torch not compiled with CUDA enabled"), code="RG302")


def cuda_stream(stream: object) -> CudaStreamContext:
    """The context in which a stream is used."""
    return CudaStreamContext(stream)


def set_stream(stream: object) -> None:
    """Use a stream from here on; None changes nothing."""
    CudaStreamContext(stream).__enter__()


class caching_allocator_disabled(_Idle):
    """The context without a cache of device memory: there is none anyway."""


class use_mem_pool(_Idle):
    """The context in which memory comes from a pool; without a device there is no pool."""

    def __init__(self, pool: object, device: object = None) -> None:
        self.pool = pool


class cudaStatus:
    """Numbers of CUDA's answers."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class AbsentType:
    """The place of `cuda.FloatTensor` and its relatives: can be named, not called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<class '{self.name}'>"

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __call__(self, *args: object) -> object:
        raise explained(
            TypeError(f"type {self.name} not available. Torch not compiled with CUDA enabled."),
            code="RG302",
        )


@refuses(f"{NO_CUDA}, or use torch.profiler")
@contextmanager
def nvtx_range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """The context that is marked: entering it raises, there is no CUDA device."""
    raise runtime_error(NO_NVTX, code="RG302")
    yield
