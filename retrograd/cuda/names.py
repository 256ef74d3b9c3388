"""The names of ``torch.cuda`` that answer or refuse without a device, as PyTorch's do without CUDA.

Counters of memory are zero, contexts that change nothing can be entered, and everything that needs
a device raises the error that PyTorch raises when it was built without CUDA.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from retrograd.compat.marks import refuses
from retrograd.notices import explained
from retrograd.tensor import Tensor
from retrograd.tensors.size import device as _device

_WHY = "there is no CUDA device; ask torch.cuda.is_available() first"

PUBLIC: dict[str, Any] = {
    "default_generators": (),
    "has_half": True,
    "has_magma": False,
}


class OutOfMemoryError(RuntimeError):
    """An accelerator has no memory left."""


class AcceleratorError(RuntimeError):
    """An accelerator reported an error."""


class CudaError(RuntimeError):
    """CUDA reported an error."""


class DeferredCudaCallError(Exception):
    """A call that waited for CUDA to start failed."""


for _kind in (OutOfMemoryError, AcceleratorError, CudaError, DeferredCudaCallError):
    PUBLIC[_kind.__name__] = _kind
for _kind in (OutOfMemoryError, AcceleratorError):
    _kind.__module__ = "torch"


# --------------------------------------------------------------------------- needs a device


def _absent(
    name: str, text: str = "Torch not compiled with CUDA enabled", kind: Any = None
) -> None:
    error = AssertionError if kind is None else kind

    @refuses(_WHY)
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise explained(error(text))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: there is no CUDA device."
    PUBLIC[name] = refuse


for _name in (
    *("caching_allocator_alloc", "caching_allocator_delete", "can_device_access_peer"),
    *("change_current_allocator", "check_error", "clock_rate", "cudart", "current_blas_handle"),
    *("current_device", "current_solver_handle", "current_stream", "default_stream"),
    *("device_memory_used", "get_allocator_backend", "get_device_capability", "get_device_name"),
    *("get_device_properties", "get_per_process_memory_fraction", "get_rng_state"),
    *("get_stream_from_external", "get_sync_debug_mode", "init", "initial_seed", "ipc_collect"),
    *("make_graphed_callables", "mem_get_info", "memory_snapshot", "memory_summary"),
    *("memory_usage", "power_draw", "reset_accumulated_host_memory_stats"),
    *("reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"),
    *("reset_peak_host_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction"),
    *("set_rng_state", "set_sync_debug_mode", "synchronize", "temperature", "utilization"),
):
    _absent(_name)
for _name in ("Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    _absent(f"{_name}Storage")
for _name in ("BFloat16", "ComplexDouble", "ComplexFloat"):
    _absent(f"{_name}Storage")


def _absent_class(name: str, text: str) -> None:
    """A class that programs name in annotations and `isinstance`; none can be made."""
    _absent(name, text, RuntimeError)
    facts = {"__new__": PUBLIC[name], "__doc__": "Refused: there is no CUDA device."}
    PUBLIC[name] = refuses(_WHY)(type(name, (), {**facts, "__module__": "torch.cuda"}))


for _name in ("CUDAGraph", "Event", "MemPool", "CUDAPluggableAllocator", "GreenContext"):
    _absent_class(_name, f"Tried to instantiate dummy base class {_name}")
for _name in ("Stream", "ExternalStream"):
    _absent_class(_name, f"torch.cuda.{_name} requires CUDA support")
for _name in ("graph", "graph_pool_handle", "is_current_stream_capturing"):
    _absent(_name, f"torch.cuda.{_name} requires CUDA support", RuntimeError)


def set_device(device: Any) -> None:
    """Choose a device: -1 or None chooses none, another raises."""
    found = _index_of(device)
    if found >= 0:
        raise explained(AssertionError("Torch not compiled with CUDA enabled"))


# ------------------------------------------------------------------------------- without one


def _answer(name: str, value: Any, doc: str) -> None:
    def answer(*args: Any, **options: Any) -> Any:
        return value() if callable(value) else value

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = doc
    PUBLIC[name] = answer


for _name in (
    *("max_memory_allocated", "max_memory_cached", "max_memory_reserved", "memory_allocated"),
    *("memory_cached", "memory_reserved"),
):
    _answer(_name, 0, "Bytes of device memory: 0.")
for _name in ("memory_stats", "host_memory_stats"):
    _answer(_name, OrderedDict, "Counters of the allocator: none.")
for _name in ("memory_stats_as_nested_dict", "host_memory_stats_as_nested_dict"):
    _answer(_name, dict, "Counters of the allocator: none.")
_answer("get_arch_list", list, "The architectures compiled for: none.")
_answer("get_gencode_flags", "", "Flags of the compiler: none.")
_answer("get_rng_state_all", list, "The states of the generators: none.")
_answer("is_tf32_supported", False, "Whether a device computes in TensorFloat-32: no.")
_answer("list_gpu_processes", "no CUDA device", "The processes on a device: none.")
_answer("seed", None, "Seed the generator of the device; without one there is nothing to do.")
_answer("seed_all", None, "Seed all generators; without a device there is nothing to do.")
_answer("caching_allocator_enable", None, "Switch the cache of memory; there is none.")


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all generators: there are none to set."""
    if len(list(new_states)):
        raise explained(AssertionError("Torch not compiled with CUDA enabled"))


def _index_of(where: Any) -> int:
    """The number of a device; -1 for none."""
    if where is None:
        return -1
    if isinstance(where, int):
        return where
    found = _device(where)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return 0 if found.index is None else found.index


class device:
    """The context in which a CUDA device is used: a number below zero stands for none."""

    def __init__(self, device: Any) -> None:
        self.idx = _index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise explained(RuntimeError("PyTorch was compiled without CUDA support"))

    def __exit__(self, *exception: object) -> None:
        return None


class device_of(device):
    """The context of the device of a tensor: of one on the CPU, none."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(-1)


class StreamContext:
    """The context in which a stream is used; None stands for no stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            raise explained(AssertionError("Torch not compiled with CUDA enabled"))

    def __exit__(self, *exception: object) -> None:
        return None


def stream(stream: Any) -> StreamContext:
    """The context in which a stream is used."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """Use a stream from here on; None changes nothing."""
    StreamContext(stream).__enter__()


class caching_allocator_disabled:
    """The context without a cache of device memory: there is none anyway."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


class use_mem_pool(caching_allocator_disabled):
    """The context in which memory comes from a pool; without a device there is no pool."""

    def __init__(self, pool: Any, device: Any = None) -> None:
        self.pool = pool


class cudaStatus:
    """Numbers of CUDA's answers."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


for _value in (
    *(device, device_of, StreamContext, stream, set_stream, caching_allocator_disabled),
    *(use_mem_pool, cudaStatus, set_device, set_rng_state_all),
):
    PUBLIC[_value.__name__] = _value
