"""What the table of names has for `torch.library`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

__all__ = ['fallthrough_kernel', 'get_ctx', 'get_kernel', 'opcheck', 'register_autocast', 'register_torch_dispatch', 'triton_op', 'wrap_triton']
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def fallthrough_kernel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def get_ctx(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def get_kernel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def opcheck(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def register_autocast(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def register_torch_dispatch(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def triton_op(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one device and no compiler; call the function itself.')
def wrap_triton(*args: object, **options: object) -> NoReturn: ...
