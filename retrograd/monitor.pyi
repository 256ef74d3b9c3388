"""Counters and events of PyTorch itself: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class Aggregation:
    @deprecated("Not supported: the library does not log events of its own; use Python's logging.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Event:
    @deprecated("Not supported: the library does not log events of its own; use Python's logging.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class EventHandlerHandle:
    @deprecated("Not supported: the library does not log events of its own; use Python's logging.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Stat:
    @deprecated("Not supported: the library does not log events of its own; use Python's logging.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class TensorboardEventHandler:
    @deprecated("Not supported: the library does not log events of its own; use Python's logging.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated("Not supported: the library does not log events of its own; use Python's logging.")
def log_event(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: the library does not log events of its own; use Python's logging.")
def register_event_handler(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: the library does not log events of its own; use Python's logging.")
def unregister_event_handler(*args: object, **options: object) -> NoReturn: ...
