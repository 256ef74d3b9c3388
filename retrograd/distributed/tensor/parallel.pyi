"""Layers split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class ColwiseParallel:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ParallelStyle:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleInput:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleInputOutput:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleOutput:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class RowwiseParallel:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SequenceParallel:
    @deprecated('Not supported: there is one process; use the model itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is one process; use the model itself.')
def loss_parallel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use the model itself.')
def parallelize_module(*args: object, **options: object) -> NoReturn: ...
