"""A checkpoint in a folder as one file, and back.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

class BroadcastingTorchSaveReader:
    @deprecated('Not supported: use dcp_to_torch_save and torch_save_to_dcp.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DynamicMetaLoadPlanner:
    @deprecated('Not supported: use dcp_to_torch_save and torch_save_to_dcp.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.parallel.checkpoint.format_utils import dcp_to_torch_save as dcp_to_torch_save
from retrograd.parallel.checkpoint.format_utils import torch_save_to_dcp as torch_save_to_dcp
