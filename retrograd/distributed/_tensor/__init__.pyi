"""The older place of `torch.distributed.tensor`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.tensor import DTensor as DTensor
from retrograd.distributed.tensor import Partial as Partial
from retrograd.distributed.tensor import Placement as Placement
from retrograd.distributed.tensor import Replicate as Replicate
from retrograd.distributed.tensor import Shard as Shard
from retrograd.distributed.tensor import distribute_module as distribute_module
from retrograd.distributed.tensor import distribute_tensor as distribute_tensor
from retrograd.distributed.tensor import empty as empty
from retrograd.distributed._tensor import experimental as experimental
from retrograd.distributed.tensor import full as full
from retrograd.distributed.tensor import ones as ones
from retrograd.distributed.tensor import rand as rand
from retrograd.distributed.tensor import randn as randn
from retrograd.distributed.tensor import zeros as zeros
