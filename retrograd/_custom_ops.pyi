"""The older place of `torch.library`'s operators.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.library import register_fake
from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: this older way of defining operators was replaced by torch.library.custom_op.')
def custom_op(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: this older way of defining operators was replaced by torch.library.custom_op.')
def get_ctx(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: this older way of defining operators was replaced by torch.library.custom_op.')
def impl(*args: object, **options: object) -> NoReturn: ...
impl_abstract = register_fake
@deprecated('Not supported: this older way of defining operators was replaced by torch.library.custom_op.')
def impl_backward(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: this older way of defining operators was replaced by torch.library.custom_op.')
def impl_save_for_backward(*args: object, **options: object) -> NoReturn: ...
