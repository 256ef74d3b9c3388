"""Counts of multiplications and additions: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class FlopCounterMode:
    @deprecated('Not supported: operations are not counted; torch.profiler measures their time.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: operations are not counted; torch.profiler measures their time.')
def register_flop_formula(*args: object, **options: object) -> NoReturn: ...
