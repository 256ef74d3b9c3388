"""Settings of PyTorch's code generator. They can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Iterator
from contextlib import contextmanager
from retrograd.namespaces.rows import Group

coordinate_descent_tuning: bool
cpp: Group
cuda: Group
debug: bool
epilogue_fusion: bool
force_fuse_int_mm_with_mul: bool
fx_graph_cache: bool
max_autotune: bool
@contextmanager
def patch(
    changes: str | dict[str, object] | None = None,
    value: object = None,
    /,
    **named: object,
) -> Iterator[None]: ...
shape_padding: bool
trace: Group
triton: Group
