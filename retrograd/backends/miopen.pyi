"""MIOpen: absent. Its setting can be set and read, and changes nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager

def flags(immediate: bool | None = False) -> AbstractContextManager[None]: ...
immediate: bool
def set_flags(_immediate: bool | None = None) -> tuple[bool]: ...
