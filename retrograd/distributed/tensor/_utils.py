"""Parts of tensors that are split over processes: refused."""

from retrograd.compat.marks import unsupported

compute_local_shape_and_global_offset = unsupported(
    "torch.distributed.tensor._utils.compute_local_shape_and_global_offset",
    "there is one process; use an ordinary tensor",
)
