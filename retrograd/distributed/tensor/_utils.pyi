"""Parts of tensors that are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: each process has whole tensors; use an ordinary one.')
def compute_local_shape_and_global_offset(*args: object, **options: object) -> NoReturn: ...
