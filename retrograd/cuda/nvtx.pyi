"""Marks for NVIDIA's profiler: PyTorch without CUDA refuses them, and so does this.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.namespaces.idle import nvtx_range
from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler.')
def mark(*args: object, **options: object) -> NoReturn: ...
range = nvtx_range
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler.')
def range_end(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler.')
def range_pop(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler.')
def range_push(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no CUDA device; ask torch.cuda.is_available() first, or use torch.profiler.')
def range_start(*args: object, **options: object) -> NoReturn: ...
