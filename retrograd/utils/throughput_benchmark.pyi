"""Measuring a model in many threads: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

class ExecutionStats:
    @deprecated("Not supported: use torch.utils.benchmark.Timer, or Python's timeit.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ThroughputBenchmark:
    @deprecated("Not supported: use torch.utils.benchmark.Timer, or Python's timeit.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
