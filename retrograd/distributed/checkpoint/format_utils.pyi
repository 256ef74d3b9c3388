"""Files of split models as one file, and back: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class BroadcastingTorchSaveReader:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DynamicMetaLoadPlanner:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def dcp_to_torch_save(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def torch_save_to_dcp(*args: object, **options: object) -> NoReturn: ...
