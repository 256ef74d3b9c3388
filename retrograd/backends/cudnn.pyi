"""cuDNN: absent. Its settings can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager
from retrograd.dtypes import dtype

CUDNN_TENSOR_DTYPES: set[dtype]
allow_tf32: bool
benchmark: bool
benchmark_limit: int | None
class _conv_settings:
    fp32_precision: str
conv: _conv_settings
depthwise_kernel: str
deterministic: bool
enabled: bool
def flags(enabled: bool | None = False, benchmark: bool | None = False, benchmark_limit: int | None = None, deterministic: bool | None = False, allow_tf32: bool | None = True, fp32_precision: str | None = 'none', depthwise_kernel: str | None = 'auto') -> AbstractContextManager[None]: ...
fp32_precision: str
def is_acceptable(*args: object, **options: object) -> bool: 'Whether cuDNN computes with a tensor: no.'
def is_available(*args: object, **options: object) -> bool: 'Whether cuDNN is used: no.'
class _rnn_settings:
    fp32_precision: str
rnn: _rnn_settings
def set_flags(_enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str | None = None, _depthwise_kernel: str | None = None) -> tuple[bool, bool, int | None, bool, bool, str, str]: ...
def version(*args: object, **options: object) -> int | None: 'The version of cuDNN: None.'
