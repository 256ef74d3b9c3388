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
from retrograd.fx import _symbolic_trace as _symbolic_trace
from retrograd.fx import experimental as experimental
from retrograd.fx import graph as graph
from retrograd.fx import graph_module as graph_module
has_side_effect = itself
from retrograd.fx import interpreter as interpreter
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def map_arg(*args: object, **options: object) -> NoReturn: ...
from retrograd.fx import node as node
from retrograd.fx import proxy as proxy
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def replace_pattern(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def symbolic_trace(*args: object, **options: object) -> NoReturn: ...
wrap = itself
