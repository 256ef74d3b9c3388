"""Graphs taken from Python code: there are none, models run as they are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import itself
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class Graph:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class GraphModule:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Interpreter:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Node:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Proxy:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Tracer:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Transformer:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
has_side_effect = itself
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def map_arg(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def replace_pattern(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def symbolic_trace(*args: object, **options: object) -> NoReturn: ...
wrap = itself
