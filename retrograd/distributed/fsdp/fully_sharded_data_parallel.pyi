"""The module of PyTorch's where the classes of this package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.fsdp import BackwardPrefetch as BackwardPrefetch
from retrograd.distributed.fsdp import CPUOffload as CPUOffload
from retrograd.distributed.fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from retrograd.distributed.fsdp import DataParallelMeshDims as DataParallelMeshDims
from retrograd.distributed.fsdp import FSDPModule as FSDPModule
from retrograd.distributed.fsdp import FullOptimStateDictConfig as FullOptimStateDictConfig
from retrograd.distributed.fsdp import FullStateDictConfig as FullStateDictConfig
from retrograd.distributed.fsdp import FullyShardedDataParallel as FullyShardedDataParallel
from retrograd.distributed.fsdp import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from retrograd.distributed.fsdp import LocalStateDictConfig as LocalStateDictConfig
from retrograd.distributed.fsdp import MixedPrecision as MixedPrecision
from retrograd.distributed.fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from retrograd.distributed.fsdp import OffloadPolicy as OffloadPolicy
from retrograd.distributed.fsdp import OptimStateDictConfig as OptimStateDictConfig
from retrograd.distributed.fsdp import OptimStateKeyType as OptimStateKeyType
from retrograd.distributed.fsdp import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from retrograd.distributed.fsdp import ShardedStateDictConfig as ShardedStateDictConfig
from retrograd.distributed.fsdp import ShardingStrategy as ShardingStrategy
from retrograd.distributed.fsdp import StateDictConfig as StateDictConfig
from retrograd.distributed.fsdp import StateDictSettings as StateDictSettings
from retrograd.distributed.fsdp import StateDictType as StateDictType
from retrograd.distributed.fsdp import UnshardHandle as UnshardHandle
from retrograd.distributed.fsdp import fully_shard as fully_shard
from retrograd.distributed.fsdp import register_fsdp_forward_method as register_fsdp_forward_method
from retrograd.distributed.fsdp import share_comm_ctx as share_comm_ctx
