"""Graphs taken from Python code, under the name of PyTorch's module: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.fx import GraphModule as GraphModule
class _CodeOnlyModule:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
_USER_PRESERVED_ATTRIBUTES_KEY: str
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def _copy_attr(*args: object, **options: object) -> NoReturn: ...
