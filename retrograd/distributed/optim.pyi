"""Optimizers of several processes.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class DistributedOptimizer:
    @deprecated('Not supported: use the optimizer itself, or ZeroRedundancyOptimizer.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PostLocalSGDOptimizer:
    @deprecated('Not supported: use the optimizer itself, or ZeroRedundancyOptimizer.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.parallel.zero_redundancy import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
@deprecated('Not supported: use the optimizer itself, or ZeroRedundancyOptimizer.')
def as_functional_optim(*args: object, **options: object) -> NoReturn: ...
