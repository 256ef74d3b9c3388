"""CUDA, as seen from a program that runs on the CPU: absent, and saying so.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections import OrderedDict
from retrograd.namespaces.idle import AbsentType
from retrograd.namespaces.idle import CudaStreamContext
from retrograd.namespaces.idle import cuda_device
from retrograd.namespaces.idle import cuda_stream
from retrograd.tensor import Tensor
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.namespaces.idle import AcceleratorError as AcceleratorError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def BFloat16Storage(*args: object, **options: object) -> NoReturn: ...
BFloat16Tensor: AbsentType
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def BoolStorage(*args: object, **options: object) -> NoReturn: ...
BoolTensor: AbsentType
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ByteStorage(*args: object, **options: object) -> NoReturn: ...
ByteTensor: AbsentType
class CUDAGraph:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class CUDAPluggableAllocator:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def CharStorage(*args: object, **options: object) -> NoReturn: ...
CharTensor: AbsentType
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ComplexDoubleStorage(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ComplexFloatStorage(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import CudaError as CudaError
from retrograd.namespaces.idle import DeferredCudaCallError as DeferredCudaCallError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def DoubleStorage(*args: object, **options: object) -> NoReturn: ...
DoubleTensor: AbsentType
class Event:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ExternalStream:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def FloatStorage(*args: object, **options: object) -> NoReturn: ...
FloatTensor: AbsentType
class GreenContext:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def HalfStorage(*args: object, **options: object) -> NoReturn: ...
HalfTensor: AbsentType
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def IntStorage(*args: object, **options: object) -> NoReturn: ...
IntTensor: AbsentType
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def LongStorage(*args: object, **options: object) -> NoReturn: ...
LongTensor: AbsentType
class MemPool:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.namespaces.idle import OutOfMemoryError as OutOfMemoryError
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ShortStorage(*args: object, **options: object) -> NoReturn: ...
ShortTensor: AbsentType
class Stream:
    @deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
StreamContext = CudaStreamContext
from retrograd.cuda import amp as amp
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def caching_allocator_alloc(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def caching_allocator_delete(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import caching_allocator_disabled as caching_allocator_disabled
def caching_allocator_enable(*args: object, **options: object) -> None: 'Switch the cache of memory; there is none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def can_device_access_peer(*args: object, **options: object) -> NoReturn: ...
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
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def current_device(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def current_solver_handle(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def current_stream(*args: object, **options: object) -> NoReturn: ...
default_generators: tuple[object, ...]
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def default_stream(*args: object, **options: object) -> NoReturn: ...
device = cuda_device
def device_count(*args: object, **options: object) -> int: 'The number of CUDA devices: 0.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def device_memory_used(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import device_of as device_of
def empty_cache(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_allocator_backend(*args: object, **options: object) -> NoReturn: ...
def get_arch_list(*args: object, **options: object) -> list[str]: 'The architectures compiled for: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_device_capability(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_device_name(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_device_properties(*args: object, **options: object) -> NoReturn: ...
def get_gencode_flags(*args: object, **options: object) -> str: 'Flags of the compiler: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_per_process_memory_fraction(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_rng_state(*args: object, **options: object) -> NoReturn: ...
def get_rng_state_all(*args: object, **options: object) -> list[Tensor]: 'The states of the generators: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_stream_from_external(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def get_sync_debug_mode(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def graph(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def graph_pool_handle(*args: object, **options: object) -> NoReturn: ...
from retrograd.cuda import graphs as graphs
has_half: bool
has_magma: bool
def host_memory_stats(*args: object, **options: object) -> OrderedDict[str, int]: 'Counters of the allocator: none.'
def host_memory_stats_as_nested_dict(*args: object, **options: object) -> dict[str, Any]: 'Counters of the allocator: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def init(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def initial_seed(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def ipc_collect(*args: object, **options: object) -> NoReturn: ...
def is_available(*args: object, **options: object) -> bool: 'Whether a CUDA device can be used: no.'
def is_bf16_supported(*args: object, **options: object) -> bool: 'Whether a CUDA device computes in bfloat16: no.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def is_current_stream_capturing(*args: object, **options: object) -> NoReturn: ...
def is_initialized(*args: object, **options: object) -> bool: 'Whether CUDA was started: no.'
def is_tf32_supported(*args: object, **options: object) -> bool: 'Whether a device computes in TensorFloat-32: no.'
def list_gpu_processes(*args: object, **options: object) -> str: 'The processes on a device: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def make_graphed_callables(*args: object, **options: object) -> NoReturn: ...
def manual_seed(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def manual_seed_all(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def max_memory_allocated(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def max_memory_cached(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def max_memory_reserved(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def mem_get_info(*args: object, **options: object) -> NoReturn: ...
from retrograd.cuda import memory as memory
def memory_allocated(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def memory_cached(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def memory_reserved(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def memory_snapshot(*args: object, **options: object) -> NoReturn: ...
def memory_stats(*args: object, **options: object) -> OrderedDict[str, int]: 'Counters of the allocator: none.'
def memory_stats_as_nested_dict(*args: object, **options: object) -> dict[str, Any]: 'Counters of the allocator: none.'
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def memory_summary(*args: object, **options: object) -> NoReturn: ...
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
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_max_memory_allocated(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_max_memory_cached(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_peak_host_memory_stats(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def reset_peak_memory_stats(*args: object, **options: object) -> NoReturn: ...
def seed(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def seed_all(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
from retrograd.namespaces.idle import set_device as set_device
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def set_per_process_memory_fraction(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def set_rng_state(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import set_rng_state_all as set_rng_state_all
from retrograd.namespaces.idle import set_stream as set_stream
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def set_sync_debug_mode(*args: object, **options: object) -> NoReturn: ...
stream = cuda_stream
from retrograd.cuda import streams as streams
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def synchronize(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def temperature(*args: object, **options: object) -> NoReturn: ...
from retrograd.namespaces.idle import use_mem_pool as use_mem_pool
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first.')
def utilization(*args: object, **options: object) -> NoReturn: ...
