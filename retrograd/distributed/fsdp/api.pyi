"""The module of PyTorch's where the options of this package are written: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.fsdp import BackwardPrefetch as BackwardPrefetch
from retrograd.distributed.fsdp import CPUOffload as CPUOffload
from retrograd.distributed.fsdp import FullOptimStateDictConfig as FullOptimStateDictConfig
from retrograd.distributed.fsdp import FullStateDictConfig as FullStateDictConfig
from retrograd.distributed.fsdp import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from retrograd.distributed.fsdp import LocalStateDictConfig as LocalStateDictConfig
from retrograd.distributed.fsdp import MixedPrecision as MixedPrecision
from retrograd.distributed.fsdp import OptimStateDictConfig as OptimStateDictConfig
from retrograd.distributed.fsdp import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from retrograd.distributed.fsdp import ShardedStateDictConfig as ShardedStateDictConfig
from retrograd.distributed.fsdp import ShardingStrategy as ShardingStrategy
from retrograd.distributed.fsdp import StateDictConfig as StateDictConfig
from retrograd.distributed.fsdp import StateDictSettings as StateDictSettings
from retrograd.distributed.fsdp import StateDictType as StateDictType
