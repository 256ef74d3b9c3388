"""What PyTorch has in ``torch.nn.modules.normalization``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.cross_map_lrn import CrossMapLRN2d as CrossMapLRN2d
from retrograd.nn.normalization import GroupNorm as GroupNorm
from retrograd.nn.normalization import LayerNorm as LayerNorm
from retrograd.nn.normalization import LocalResponseNorm as LocalResponseNorm
from retrograd.nn.normalization import RMSNorm as RMSNorm
