"""NNPACK: absent. Its setting can be set, and changes nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager

enabled: bool
def flags(enabled: bool | None = False) -> AbstractContextManager[None]: ...
def is_available(*args: object, **options: object) -> bool: 'Whether NNPACK is used: no.'
def set_flags(_enabled: bool | None = None) -> tuple[bool]: ...
