"""CUDA, as seen from a program that runs on the CPU: absent, and saying so.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections import OrderedDict
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.backend.cuda.errors import AcceleratorError as AcceleratorError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def BFloat16Storage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import BFloat16Tensor as BFloat16Tensor
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def BoolStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import BoolTensor as BoolTensor
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ByteStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import ByteTensor as ByteTensor
from retrograd.replay.cuda_graphs import CUDAGraph as CUDAGraph
class CUDAPluggableAllocator:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def CharStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import CharTensor as CharTensor
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ComplexDoubleStorage(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ComplexFloatStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import CudaError as CudaError
from retrograd.namespaces.idle import DeferredCudaCallError as DeferredCudaCallError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def DoubleStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import DoubleTensor as DoubleTensor
from retrograd.accelerators.streams import Event as Event
from retrograd.accelerators.streams import ExternalStream as ExternalStream
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def FloatStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import FloatTensor as FloatTensor
class GreenContext:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def HalfStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import HalfTensor as HalfTensor
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def IntStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import IntTensor as IntTensor
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def LongStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import LongTensor as LongTensor
class MemPool:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.backend.cuda.errors import OutOfMemoryError as OutOfMemoryError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ShortStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.legacy import ShortTensor as ShortTensor
from retrograd.accelerators.streams import Stream as Stream
from retrograd.accelerators.streams import StreamContext as StreamContext
from retrograd.cuda import amp as amp
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def caching_allocator_alloc(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def caching_allocator_delete(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import caching_allocator_disabled as caching_allocator_disabled
def caching_allocator_enable(*args: object, **options: object) -> None: 'Switch the cache of memory; there is none.'
from retrograd.accelerators.devices import can_device_access_peer as can_device_access_peer
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def change_current_allocator(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def check_error(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def clock_rate(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import cudaStatus as cudaStatus
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def cudart(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def current_blas_handle(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.devices import current_device as current_device
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def current_solver_handle(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.streams import current_stream as current_stream
default_generators: tuple[object, ...]
from retrograd.accelerators.streams import default_stream as default_stream
from retrograd.accelerators.devices import device as device
from retrograd.accelerators.devices import device_count as device_count
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def device_memory_used(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.devices import device_of as device_of
from retrograd.accelerators.memory import empty_cache as empty_cache
from retrograd.accelerators.devices import get_allocator_backend as get_allocator_backend
from retrograd.accelerators.devices import get_arch_list as get_arch_list
from retrograd.accelerators.devices import get_device_capability as get_device_capability
from retrograd.accelerators.devices import get_device_name as get_device_name
from retrograd.accelerators.devices import get_device_properties as get_device_properties
def get_gencode_flags(*args: object, **options: object) -> str: 'Flags of the compiler: none.'
from retrograd.accelerators.memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from retrograd.accelerators.legacy import get_rng_state as get_rng_state
from retrograd.accelerators.legacy import get_rng_state_all as get_rng_state_all
from retrograd.accelerators.streams import get_stream_from_external as get_stream_from_external
from retrograd.accelerators.devices import get_sync_debug_mode as get_sync_debug_mode
from retrograd.replay.cuda_graphs import graph as graph
from retrograd.replay.cuda_graphs import graph_pool_handle as graph_pool_handle
from retrograd.cuda import graphs as graphs
has_half: bool
has_magma: bool
def host_memory_stats(*args: object, **options: object) -> OrderedDict[str, int]: 'Counters of the allocator: none.'
def host_memory_stats_as_nested_dict(*args: object, **options: object) -> dict[str, Any]: 'Counters of the allocator: none.'
from retrograd.accelerators.devices import init as init
from retrograd.accelerators.legacy import initial_seed as initial_seed
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ipc_collect(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.devices import is_available as is_available
from retrograd.accelerators.devices import is_bf16_supported as is_bf16_supported
from retrograd.replay.cuda_graphs import is_current_stream_capturing as is_current_stream_capturing
is_initialized = is_available
from retrograd.accelerators.devices import is_tf32_supported as is_tf32_supported
def list_gpu_processes(*args: object, **options: object) -> str: 'The processes on a device: none.'
from retrograd.replay.cuda_graphs import make_graphed_callables as make_graphed_callables
from retrograd.accelerators.legacy import manual_seed as manual_seed
from retrograd.accelerators.legacy import manual_seed_all as manual_seed_all
from retrograd.accelerators.memory import max_memory_allocated as max_memory_allocated
from retrograd.accelerators.memory import max_memory_cached as max_memory_cached
from retrograd.accelerators.memory import max_memory_reserved as max_memory_reserved
from retrograd.accelerators.memory import mem_get_info as mem_get_info
from retrograd.cuda import memory as memory
from retrograd.accelerators.memory import memory_allocated as memory_allocated
from retrograd.accelerators.memory import memory_cached as memory_cached
from retrograd.accelerators.memory import memory_reserved as memory_reserved
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def memory_snapshot(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.memory import memory_stats as memory_stats
def memory_stats_as_nested_dict(*args: object, **options: object) -> dict[str, Any]: 'Counters of the allocator: none.'
from retrograd.accelerators.memory import memory_summary as memory_summary
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def memory_usage(*args: object, **options: object) -> NoReturn: ...
from retrograd.cuda import nvtx as nvtx
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def power_draw(*args: object, **options: object) -> NoReturn: ...
from retrograd.cuda import random as random
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_accumulated_host_memory_stats(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_accumulated_memory_stats(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.memory import reset_max_memory_allocated as reset_max_memory_allocated
from retrograd.accelerators.memory import reset_max_memory_cached as reset_max_memory_cached
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_peak_host_memory_stats(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.memory import reset_peak_memory_stats as reset_peak_memory_stats
from retrograd.accelerators.legacy import seed as seed
from retrograd.accelerators.legacy import seed_all as seed_all
from retrograd.accelerators.devices import set_device as set_device
from retrograd.accelerators.memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from retrograd.accelerators.legacy import set_rng_state as set_rng_state
from retrograd.accelerators.legacy import set_rng_state_all as set_rng_state_all
from retrograd.accelerators.streams import set_stream as set_stream
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def set_sync_debug_mode(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.streams import stream as stream
from retrograd.cuda import streams as streams
from retrograd.accelerators.devices import synchronize as synchronize
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def temperature(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import use_mem_pool as use_mem_pool
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def utilization(*args: object, **options: object) -> NoReturn: ...
