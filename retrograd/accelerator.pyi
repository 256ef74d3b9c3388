"""Accelerators, as seen from a program that runs on the CPU: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.accelerators.devices import current_device
from retrograd.accelerators.devices import set_device
from retrograd.accelerators.memory import mem_get_info
from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is no accelerator; ask torch.accelerator.is_available() first.')
def Graph(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.devices import current_accelerator as current_accelerator
current_device_idx = current_device
current_device_index = current_device
from retrograd.accelerators.streams import current_stream as current_stream
from retrograd.accelerators.devices import device_count as device_count
from retrograd.accelerators.devices import device_index as device_index
from retrograd.accelerators.memory import empty_cache as empty_cache
@deprecated('Not supported: there is no accelerator; ask torch.accelerator.is_available() first.')
def empty_host_cache(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.devices import get_device_capability as get_device_capability
get_memory_info = mem_get_info
from retrograd.accelerators.devices import is_available as is_available
from retrograd.accelerators.memory import max_memory_allocated as max_memory_allocated
from retrograd.accelerators.memory import max_memory_reserved as max_memory_reserved
from retrograd.accelerators.memory import memory_allocated as memory_allocated
from retrograd.accelerators.memory import memory_reserved as memory_reserved
from retrograd.accelerators.memory import memory_stats as memory_stats
@deprecated('Not supported: there is no accelerator; ask torch.accelerator.is_available() first.')
def reset_accumulated_memory_stats(*args: object, **options: object) -> NoReturn: ...
from retrograd.accelerators.memory import reset_peak_memory_stats as reset_peak_memory_stats
set_device_idx = set_device
set_device_index = set_device
from retrograd.accelerators.streams import set_stream as set_stream
from retrograd.accelerators.devices import synchronize as synchronize
