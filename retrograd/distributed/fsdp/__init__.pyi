"""Models split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class BackwardPrefetch:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class CPUOffload:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class CPUOffloadPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DataParallelMeshDims:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FSDPModule:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FullOptimStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FullStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FullyShardedDataParallel:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LocalOptimStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LocalStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class MixedPrecision:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class MixedPrecisionPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class OffloadPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class OptimStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class OptimStateKeyType:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ShardedOptimStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ShardedStateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ShardingStrategy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StateDictConfig:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StateDictSettings:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StateDictType:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class UnshardHandle:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.fsdp import api as api
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def fully_shard(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.fsdp import fully_sharded_data_parallel as fully_sharded_data_parallel
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def register_fsdp_forward_method(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def share_comm_ctx(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.fsdp import wrap as wrap
