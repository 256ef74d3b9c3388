"""Switches of PyTorch's computing libraries. They can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from contextlib import AbstractContextManager

from retrograd.backends import cpu as cpu
from retrograd.backends import cuda as cuda
from retrograd.backends import cudnn as cudnn
from retrograd.backends import cusparselt as cusparselt
from retrograd.namespaces.told import disable_global_flags as disable_global_flags
def flags(fp32_precision: str | None = 'none') -> AbstractContextManager[None]: ...
from retrograd.namespaces.told import flags_frozen as flags_frozen
fp32_precision: str
from retrograd.backends import kleidiai as kleidiai
from retrograd.backends import mha as mha
from retrograd.backends import miopen as miopen
from retrograd.backends import mkl as mkl
from retrograd.backends import mkldnn as mkldnn
from retrograd.backends import mps as mps
from retrograd.backends import nnpack as nnpack
from retrograd.backends import openmp as openmp
from retrograd.backends import opt_einsum as opt_einsum
from retrograd.backends import quantized as quantized
def set_flags(_fp32_precision: str | None = None) -> tuple[str]: ...
from retrograd.backends import xnnpack as xnnpack
