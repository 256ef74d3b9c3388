"""Parts of tensors that are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is one process; use an ordinary tensor.')
def compute_local_shape_and_global_offset(*args: object, **options: object) -> NoReturn: ...
