"""Measuring: `Timer` runs a statement many times, and its `Measurement` tells how long it took.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated
from retrograd.utils.benchmark.measurement import Measurement as Measurement
from retrograd.utils.benchmark.measurement import TaskSpec as TaskSpec
from retrograd.utils.benchmark.measurement import select_unit as select_unit
from retrograd.utils.benchmark.measurement import unit_to_english as unit_to_english
from retrograd.utils.benchmark.timer import Timer as Timer
from retrograd.utils.benchmark.timer import timer as timer

class CallgrindStats:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Compare:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FunctionCount:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FunctionCounts:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FuzzedParameter:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FuzzedSparseTensor:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FuzzedTensor:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Fuzzer:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ParameterAlias:
    @deprecated('Not supported: print the measurements of Timer themselves.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
