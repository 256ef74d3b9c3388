"""Processes with different numbers of batches: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

class Join:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class JoinHook:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Joinable:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
