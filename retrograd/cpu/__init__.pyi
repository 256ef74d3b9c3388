"""The CPU, asked as one asks an accelerator: always there, and one.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.namespaces.idle import Event as Event
from retrograd.namespaces.idle import Stream as Stream
from retrograd.namespaces.idle import StreamContext as StreamContext
from retrograd.cpu import amp as amp
def current_device(*args: object, **options: object) -> str: 'The device that is in use: ``"cpu"``.'
from retrograd.namespaces.idle import current_stream as current_stream
def device_count(*args: object, **options: object) -> int: 'The number of CPUs, as devices: 1.'
def is_available(*args: object, **options: object) -> bool: 'Whether there is a CPU: yes.'
def is_initialized(*args: object, **options: object) -> bool: 'Whether the CPU was started: yes.'
def set_device(*args: object, **options: object) -> None: 'Choose the device; with one there is nothing to choose.'
from retrograd.namespaces.idle import stream as stream
def synchronize(*args: object, **options: object) -> None: 'Wait for the device; ops here have finished when they return.'
