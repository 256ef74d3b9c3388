"""The few names that programs take from PyTorch's compiled part.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import nullcontext
from retrograd.ops.linalg.matrices import LinAlgError
from retrograd.tensor import Tensor
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

DisableTorchFunctionSubclass = nullcontext
from retrograd.namespaces.dispatch_keys import DispatchKey as DispatchKey
from retrograd.namespaces.dispatch_keys import DispatchKeySet as DispatchKeySet
from retrograd.random import Generator as Generator
class PyTorchFileReader:
    @deprecated("Not supported: torch.save and torch.load read and write PyTorch's files as they are.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PyTorchFileWriter:
    @deprecated("Not supported: torch.save and torch.load read and write PyTorch's files as they are.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.tensor.size import Size as Size
class SymBool:
    @deprecated('Not supported: sizes are plain integers.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SymFloat:
    @deprecated('Not supported: sizes are plain integers.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SymInt:
    @deprecated('Not supported: sizes are plain integers.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
TensorBase = Tensor
@deprecated('Not supported: calls pass no dispatch keys; torch.no_grad and torch.autocast(enabled=False) say the same.')
def _ExcludeDispatchKeyGuard(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: calls pass no dispatch keys; torch.no_grad and torch.autocast(enabled=False) say the same.')
def _ForceDispatchKeyGuard(*args: object, **options: object) -> NoReturn: ...
_LinAlgError = LinAlgError
_TensorBase = Tensor
_TensorMeta = type
from retrograd.ops.making.compiled_part import _are_functorch_transforms_active as _are_functorch_transforms_active
from retrograd.ops.making.compiled_part import _get_accelerator as _get_accelerator
def _get_tracing_state(*args: object, **options: object) -> object | None: 'What a trace has recorded: nothing is traced, so None.'
def _log_api_usage_once(*args: object, **options: object) -> None: 'Count that a part of the library is used: nothing is counted.'
from retrograd._C import _nn as _nn
from retrograd.tensor.size import device as device
from retrograd.dtypes import dtype as dtype
