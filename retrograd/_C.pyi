"""The few names that programs take from PyTorch's compiled part.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.ops.linalg.matrices import LinAlgError

from retrograd.random import Generator as Generator
from retrograd.tensor.size import Size as Size
_LinAlgError = LinAlgError
def _get_tracing_state(*args: object, **options: object) -> object | None: 'What a trace has recorded: nothing is traced, so None.'
def _log_api_usage_once(*args: object, **options: object) -> None: 'Count that a part of the library is used: nothing is counted.'
from retrograd.tensor.size import device as device
