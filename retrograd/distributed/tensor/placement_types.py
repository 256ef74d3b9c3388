"""How tensors are split over processes: refused."""

from retrograd.compat.marks import refusing
from retrograd.distributed import tensor as _tensor

globals().update({name: getattr(_tensor, name) for name in ("Partial", "Replicate", "Shard")})
globals().update(
    refusing(
        "torch.distributed.tensor.placement_types",
        "there is one process; use an ordinary tensor",
        classes="_StridedShard",
    )
)
