"""What PyTorch has in ``torch.nn.modules.instancenorm``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.instancenorm import InstanceNorm1d as InstanceNorm1d
from retrograd.nn.instancenorm import InstanceNorm2d as InstanceNorm2d
from retrograd.nn.instancenorm import InstanceNorm3d as InstanceNorm3d
from retrograd.nn.lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from retrograd.nn.lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from retrograd.nn.lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from retrograd.nn.instancenorm import _InstanceNorm as _InstanceNorm
