"""oneDNN: not used. Its settings can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager

VERBOSE_OFF: int
VERBOSE_ON: int
VERBOSE_ON_CREATION: int
allow_tf32: bool | None
class _conv_settings:
    fp32_precision: str
conv: _conv_settings
deterministic: bool
enabled: bool
def flags(enabled: bool | None = False, deterministic: bool | None = False, allow_tf32: bool | None = None, fp32_precision: str | None = 'none') -> AbstractContextManager[None]: ...
fp32_precision: str
def is_acl_available(*args: object, **options: object) -> bool: 'Whether the library for ARM processors is used: no.'
def is_available(*args: object, **options: object) -> bool: 'Whether oneDNN is used: no.'
class _matmul_settings:
    fp32_precision: str
matmul: _matmul_settings
class _rnn_settings:
    fp32_precision: str
rnn: _rnn_settings
def set_flags(_enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str | None = None) -> tuple[bool, bool, bool | None, str]: ...
from retrograd.namespaces.idle import verbose as verbose
