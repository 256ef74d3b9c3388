"""Graphs taken from Python code, under the name of PyTorch's module: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

class Attribute:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class GraphAppendingTracer:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class ParameterProxy:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.fx import Proxy as Proxy
class TraceError:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class TracerBase:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
