"""Intel's accelerators, as seen from a program that runs on the CPU: absent.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections import OrderedDict
from retrograd.tensor import Tensor
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class Event:
    @deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class MemPool:
    @deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Stream:
    @deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class XPUGraph:
    @deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class XPUPluggableAllocator:
    @deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def can_device_access_peer(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def current_device(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def current_stream(*args: object, **options: object) -> NoReturn: ...
default_generators: tuple[object, ...]
def device_count(*args: object, **options: object) -> int: 'The number of XPU devices: 0.'
def empty_cache(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def get_arch_list(*args: object, **options: object) -> list[str]: 'Of each device: there is none.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_device_capability(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_device_name(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_device_properties(*args: object, **options: object) -> NoReturn: ...
def get_gencode_flags(*args: object, **options: object) -> str: 'Flags of the compiler: none.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_per_process_memory_fraction(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_rng_state(*args: object, **options: object) -> NoReturn: ...
def get_rng_state_all(*args: object, **options: object) -> list[Tensor]: 'Of each device: there is none.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def get_stream_from_external(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def init(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def initial_seed(*args: object, **options: object) -> NoReturn: ...
def is_available(*args: object, **options: object) -> bool: 'Whether an XPU device can be used: no.'
def is_bf16_supported(*args: object, **options: object) -> bool: 'Whether a device computes in bfloat16: no.'
def is_initialized(*args: object, **options: object) -> bool: 'Whether XPU was started: no.'
def is_tf32_supported(*args: object, **options: object) -> bool: 'Whether a device computes in TensorFloat-32: no.'
def manual_seed(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def manual_seed_all(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def max_memory_allocated(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def max_memory_reserved(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def mem_get_info(*args: object, **options: object) -> NoReturn: ...
def memory_allocated(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def memory_reserved(*args: object, **options: object) -> int: 'Bytes of device memory: 0.'
def memory_snapshot(*args: object, **options: object) -> list[dict[str, Any]]: 'Of each device: there is none.'
def memory_stats(*args: object, **options: object) -> OrderedDict[str, int]: 'Counters of the allocator: none.'
def memory_stats_as_nested_dict(*args: object, **options: object) -> dict[str, Any]: 'Counters of the allocator: none.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def reset_accumulated_memory_stats(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def reset_peak_memory_stats(*args: object, **options: object) -> NoReturn: ...
def seed(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
def seed_all(*args: object, **options: object) -> None: 'Without a device there is nothing to do.'
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def set_device(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def set_per_process_memory_fraction(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def set_rng_state(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def set_stream(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no XPU device; ask torch.xpu.is_available() first.')
def synchronize(*args: object, **options: object) -> NoReturn: ...
