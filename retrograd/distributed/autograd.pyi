"""Gradients through functions of other processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class DistAutogradContext:
    @deprecated('Not supported: gradients stay in their process; call loss.backward().')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: gradients stay in their process; call loss.backward().')
def backward(*args: object, **options: object) -> NoReturn: ...
class context:
    @deprecated('Not supported: gradients stay in their process; call loss.backward().')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: gradients stay in their process; call loss.backward().')
def get_gradients(*args: object, **options: object) -> NoReturn: ...
def is_available(*args: object, **options: object) -> bool: 'Whether gradients come from other processes: no.'
