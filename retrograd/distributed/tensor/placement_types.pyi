"""How tensors are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

from retrograd.distributed.placements import Partial as Partial
from retrograd.distributed.placements import Replicate as Replicate
from retrograd.distributed.placements import Shard as Shard
class _StridedShard:
    @deprecated('Not supported: each process has whole tensors; use an ordinary one.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
