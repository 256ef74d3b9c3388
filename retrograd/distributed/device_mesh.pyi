"""Processes in rows and columns: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class DeviceMesh:
    @deprecated('Not supported: groups are made by torch.distributed.new_group.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: groups are made by torch.distributed.new_group.')
def init_device_mesh(*args: object, **options: object) -> NoReturn: ...
