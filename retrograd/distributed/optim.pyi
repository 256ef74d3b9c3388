"""Optimizers whose state is split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class DistributedOptimizer:
    @deprecated('Not supported: there is one process; use the optimizer itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PostLocalSGDOptimizer:
    @deprecated('Not supported: there is one process; use the optimizer itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ZeroRedundancyOptimizer:
    @deprecated('Not supported: there is one process; use the optimizer itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is one process; use the optimizer itself.')
def as_functional_optim(*args: object, **options: object) -> NoReturn: ...
