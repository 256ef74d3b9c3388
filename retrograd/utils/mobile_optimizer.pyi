"""Models for phones: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class LintCode:
    @deprecated('Not supported: there is no TorchScript; keep the model in Python.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class MobileOptimizerType:
    @deprecated('Not supported: there is no TorchScript; keep the model in Python.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def generate_mobile_module_lints(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def optimize_for_mobile(*args: object, **options: object) -> NoReturn: ...
