"""Newer parts of split tensors: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def context_parallel(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def implicit_replication(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def local_map(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def register_sharding(*args: object, **options: object) -> NoReturn: ...
