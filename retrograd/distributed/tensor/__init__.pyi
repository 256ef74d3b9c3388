"""Tensors split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class DTensor:
    @deprecated('Not supported: each process has whole tensors; use an ordinary one.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.placements import Partial as Partial
from retrograd.distributed.placements import Placement as Placement
from retrograd.distributed.placements import Replicate as Replicate
from retrograd.distributed.placements import Shard as Shard
from retrograd.distributed.tensor import _utils as _utils
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def distribute_module(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def distribute_tensor(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def empty(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.tensor import experimental as experimental
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def full(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def ones(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.tensor import parallel as parallel
from retrograd.distributed.tensor import placement_types as placement_types
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def rand(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def randn(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def zeros(*args: object, **options: object) -> NoReturn: ...
