"""Exchange that returns new tensors: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.as_written import itself
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class AsyncCollectiveTensor:
    @deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def all_gather_tensor(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def all_reduce(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def all_to_all_single(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def all_to_all_single_autograd(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def broadcast(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: exchange leaves no graph; use the functions of torch.distributed.')
def reduce_scatter_tensor(*args: object, **options: object) -> NoReturn: ...
wait_tensor = itself
