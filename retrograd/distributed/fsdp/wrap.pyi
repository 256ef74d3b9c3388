"""Which layers are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class CustomPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ModuleWrapPolicy:
    @deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def always_wrap_policy(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def enable_wrap(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def lambda_auto_wrap_policy(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def size_based_auto_wrap_policy(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def transformer_auto_wrap_policy(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has the whole model; use DistributedDataParallel.')
def wrap(*args: object, **options: object) -> NoReturn: ...
