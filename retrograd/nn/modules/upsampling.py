"""What PyTorch has in ``torch.nn.modules.upsampling``."""

from retrograd.nn.upsampling import Upsample as Upsample
from retrograd.nn.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from retrograd.nn.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
