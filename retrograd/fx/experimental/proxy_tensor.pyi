"""Graphs of the calls that a program makes: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class ProxyTorchDispatchMode:
    @deprecated('Not supported: there is no compiler; call the model or function itself.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
def get_proxy_mode(*args: object, **options: object) -> object | None: 'What records the calls: nothing, so None.'
@deprecated('Not supported: there is no compiler; call the model or function itself.')
def make_fx(*args: object, **options: object) -> NoReturn: ...
