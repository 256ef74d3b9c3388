"""Functions of tensors that PyTorch keeps in ``torch.functional``: the same as in `retrograd`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd import atleast_1d as atleast_1d
from retrograd import atleast_2d as atleast_2d
from retrograd import atleast_3d as atleast_3d
from retrograd import block_diag as block_diag
from retrograd import broadcast_shapes as broadcast_shapes
from retrograd import broadcast_tensors as broadcast_tensors
from retrograd import cartesian_prod as cartesian_prod
from retrograd import cdist as cdist
from retrograd import chain_matmul as chain_matmul
from retrograd import einsum as einsum
from retrograd import istft as istft
from retrograd import lu as lu
from retrograd import meshgrid as meshgrid
from retrograd import norm as norm
from retrograd import pca_lowrank as pca_lowrank
from retrograd import split as split
from retrograd import stft as stft
from retrograd import svd_lowrank as svd_lowrank
from retrograd import tensordot as tensordot
from retrograd import unique as unique
from retrograd import unique_consecutive as unique_consecutive
from retrograd import unravel_index as unravel_index
