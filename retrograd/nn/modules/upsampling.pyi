"""What PyTorch has in ``torch.nn.modules.upsampling``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.upsampling import Upsample as Upsample
from retrograd.nn.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from retrograd.nn.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
