"""What the table of names has for `torch.autograd.profiler`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

__all__ = ['emit_itt', 'emit_nvtx', 'load_nvprof', 'parse_nvprof_trace']
@deprecated('Not supported: it marks ranges for an external profiler; use torch.profiler.profile.')
def emit_itt(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: it marks ranges for an external profiler; use torch.profiler.profile.')
def emit_nvtx(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: it reads files of NVIDIA's profiler, and there is no CUDA.")
def load_nvprof(*args: object, **options: object) -> NoReturn: ...
@deprecated("Not supported: it reads files of NVIDIA's profiler, and there is no CUDA.")
def parse_nvprof_trace(*args: object, **options: object) -> NoReturn: ...
