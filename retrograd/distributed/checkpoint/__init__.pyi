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
from retrograd.distributed.checkpoint import default_planner as default_planner
from retrograd.distributed.checkpoint import filesystem as filesystem
from retrograd.distributed.checkpoint import format_utils as format_utils
from retrograd.distributed.checkpoint import hf_storage as hf_storage
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load_sharded_optimizer_state_dict(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def load_state_dict(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.checkpoint import metadata as metadata
from retrograd.distributed.checkpoint import optimizer as optimizer
from retrograd.distributed.checkpoint import planner as planner
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def save(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; use torch.save and torch.load.')
def save_state_dict(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.checkpoint import state_dict as state_dict
from retrograd.distributed.checkpoint import state_dict_loader as state_dict_loader
from retrograd.distributed.checkpoint import state_dict_saver as state_dict_saver
from retrograd.distributed.checkpoint import stateful as stateful
from retrograd.distributed.checkpoint import storage as storage
