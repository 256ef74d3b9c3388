"""What the table of names has for `torch.overrides`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

__all__ = ['enable_reentrant_dispatch', 'get_ignored_functions', 'get_overridable_functions', 'get_testing_overrides', 'redispatch_function']
@deprecated('Not supported: operations take tensors and do not call their __torch_function__.')
def enable_reentrant_dispatch(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: operations take tensors and do not call their __torch_function__.')
def get_ignored_functions(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: operations take tensors and do not call their __torch_function__.')
def get_overridable_functions(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: operations take tensors and do not call their __torch_function__.')
def get_testing_overrides(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: operations take tensors and do not call their __torch_function__.')
def redispatch_function(*args: object, **options: object) -> NoReturn: ...
