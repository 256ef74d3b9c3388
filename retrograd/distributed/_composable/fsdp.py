"""The older place of `torch.distributed.fsdp.fully_shard`: refused."""

from retrograd.compat.marks import refusing

globals().update(
    refusing(
        "torch.distributed._composable.fsdp",
        "there is one process; use the model itself",
        functions="fully_shard",
        classes="CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy",
    )
)
