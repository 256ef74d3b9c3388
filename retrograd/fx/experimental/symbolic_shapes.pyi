"""Sizes that stand for any number: here sizes are plain integers.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import itself
from retrograd.namespaces.as_written import no_symbols
from typing import Any
from typing_extensions import deprecated

class ShapeEnv:
    @deprecated('Not supported: sizes are plain integers.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
free_symbols = no_symbols
guard_int = itself
hint_int = itself
