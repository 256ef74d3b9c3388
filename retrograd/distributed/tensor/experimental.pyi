"""Newer parts of split tensors: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is one process; use an ordinary tensor.')
def context_parallel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use an ordinary tensor.')
def implicit_replication(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use an ordinary tensor.')
def local_map(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use an ordinary tensor.')
def register_sharding(*args: object, **options: object) -> NoReturn: ...
