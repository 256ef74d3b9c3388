"""Functions of tensors that PyTorch keeps in ``torch.functional``: the same as in `retrograd`."""

from typing import Any

from retrograd import ops as _ops  # noqa: F401  (registers what is published below)
from retrograd.namespaces import missing
from retrograd.ops.registry import PUBLIC

__all__ = [
    *("atleast_1d", "atleast_2d", "atleast_3d", "align_tensors", "broadcast_shapes"),
    *("broadcast_tensors", "cartesian_prod", "block_diag", "cdist", "chain_matmul", "einsum"),
    *("istft", "lu", "norm", "meshgrid", "pca_lowrank", "split", "stft", "svd_lowrank"),
    *("tensordot", "unique", "unique_consecutive", "unravel_index"),
]
__all__ = [name for name in __all__ if name in PUBLIC["torch"]]

globals().update({name: PUBLIC["torch"][name] for name in __all__})


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
