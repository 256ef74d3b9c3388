"""The order of products in `einsum`: not chosen by a package here, from left to right.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager

enabled: bool
def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]: ...
def get_opt_einsum(*args: object, **options: object) -> object | None: 'The package opt_einsum, which is not used: None.'
def is_available(*args: object, **options: object) -> bool: 'Whether the package opt_einsum is used: no.'
def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str | None]: ...
strategy: str | None
