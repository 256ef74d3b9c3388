"""What PyTorch has in ``torch.nn.modules.conv``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.conv import Conv1d as Conv1d
from retrograd.nn.conv import Conv2d as Conv2d
from retrograd.nn.conv import Conv3d as Conv3d
from retrograd.nn.conv import ConvTranspose1d as ConvTranspose1d
from retrograd.nn.conv import ConvTranspose2d as ConvTranspose2d
from retrograd.nn.conv import ConvTranspose3d as ConvTranspose3d
from retrograd.nn.lazy import LazyConv1d as LazyConv1d
from retrograd.nn.lazy import LazyConv2d as LazyConv2d
from retrograd.nn.lazy import LazyConv3d as LazyConv3d
from retrograd.nn.lazy import LazyConvTranspose1d as LazyConvTranspose1d
from retrograd.nn.lazy import LazyConvTranspose2d as LazyConvTranspose2d
from retrograd.nn.lazy import LazyConvTranspose3d as LazyConvTranspose3d
from retrograd.nn.conv import _ConvNd as _ConvNd
from retrograd.nn.conv import _ConvTransposeNd as _ConvTransposeNd
from retrograd.nn.lazy import _LazyConvXdMixin as _LazyConvXdMixin
