"""Layers split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class ColwiseParallel:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ParallelStyle:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleInput:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleInputOutput:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrepareModuleOutput:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class RowwiseParallel:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SequenceParallel:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def loss_parallel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def parallelize_module(*args: object, **options: object) -> NoReturn: ...
