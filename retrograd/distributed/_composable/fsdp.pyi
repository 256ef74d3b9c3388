"""The older place of `torch.distributed.fsdp.fully_shard`: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class CPUOffloadPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FSDPModule:
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
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def fully_shard(*args: object, **options: object) -> NoReturn: ...
