"""Files of models that are split over processes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.namespaces.errors import CheckpointException as CheckpointException
class DefaultLoadPlanner:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DefaultSavePlanner:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FileSystemReader:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FileSystemWriter:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class HuggingFaceStorageReader:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class HuggingFaceStorageWriter:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LoadPlan:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LoadPlanner:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Metadata:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SavePlan:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SavePlanner:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StorageReader:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StorageWriter:
    @deprecated('Not supported: there is one process; use torch.save and torch.load.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def async_save(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load_sharded_optimizer_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def save(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def save_state_dict(*args: object, **options: object) -> NoReturn: ...
