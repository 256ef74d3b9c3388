"""Models whose layers are in several processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class Pipe:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PipelineStage:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Schedule1F1B:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleDualPipeV:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleGPipe:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleInterleaved1F1B:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleInterleavedZeroBubble:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleLoopedBFS:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ScheduleZBVZeroBubble:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SplitPoint:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def build_stage(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def pipe_split(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def pipeline(*args: object, **options: object) -> NoReturn: ...
