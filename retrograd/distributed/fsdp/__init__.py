"""Models split over processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.fsdp",
        "there is one process; use the model itself",
        functions="fully_shard register_fsdp_forward_method share_comm_ctx",
        classes="""
        BackwardPrefetch CPUOffload CPUOffloadPolicy DataParallelMeshDims FSDPModule
        FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel
        LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy
        OffloadPolicy OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig
        ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings
        StateDictType UnshardHandle
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
