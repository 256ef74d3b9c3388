"""The CPU, asked as one asks an accelerator: always there, and one.

>>> import retrograd as torch
>>> torch.cpu.is_available(), torch.cpu.device_count()
(True, 1)
"""

from __future__ import annotations

from typing import Any

from retrograd.cpu import amp as amp
from retrograd.namespaces import missing


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


def is_initialized() -> bool:
    """Whether the CPU was started: yes."""
    return True


def device_count() -> int:
    """The number of CPUs, as devices: 1."""
    return 1


def current_device() -> str:
    """The device that is in use: ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the device; with one there is nothing to choose."""


def synchronize(device: Any = None) -> None:
    """Wait for the device; ops here have finished when they return."""


class Stream:
    """A row of work for the device: the CPU works in one row, the program's."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Wait for another row: its work has finished when the ops returned."""

    def record_event(self) -> None:
        """Mark a place in the row."""

    def wait_event(self, event: Any) -> None:
        """Wait for a mark in a row."""


class Event:
    """A mark in a row of work: it is always reached."""

    def query(self) -> bool:
        """Whether it is reached: yes."""
        return True

    def record(self, stream: Any = None) -> None:
        """Put the mark here."""

    def synchronize(self) -> None:
        """Wait until it is reached: it is."""

    def wait(self, stream: Any = None) -> None:
        """Let a row wait until it is reached: it is."""


_default_stream = Stream()


class StreamContext:
    """The context in which another row of work is used: there is one."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.prev_stream = _default_stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def current_stream(device: Any = None) -> Stream:
    """The row of work in use."""
    return _default_stream


def stream(stream: Any) -> StreamContext:
    """The context in which another row of work is used: there is one."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
