"""What PyTorch has in ``torch.nn.modules.batchnorm``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.batchnorm import BatchNorm1d as BatchNorm1d
from retrograd.nn.batchnorm import BatchNorm2d as BatchNorm2d
from retrograd.nn.batchnorm import BatchNorm3d as BatchNorm3d
from retrograd.nn.lazy import LazyBatchNorm1d as LazyBatchNorm1d
from retrograd.nn.lazy import LazyBatchNorm2d as LazyBatchNorm2d
from retrograd.nn.lazy import LazyBatchNorm3d as LazyBatchNorm3d
from retrograd.nn.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
from retrograd.nn.batchnorm import _BatchNorm as _BatchNorm
from retrograd.nn.lazy import _LazyNormBase as _LazyNormBase
from retrograd.nn.batchnorm import _NormBase as _NormBase
