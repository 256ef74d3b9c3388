"""Models saved with inputs: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class InflatableArg:
    @deprecated('Not supported: there is no TorchScript; keep the model in Python.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def augment_many_model_functions_with_bundled_inputs(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def augment_model_with_bundled_inputs(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def bundle_inputs(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def bundle_large_tensor(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no TorchScript; keep the model in Python.')
def bundle_randn(*args: object, **options: object) -> NoReturn: ...
