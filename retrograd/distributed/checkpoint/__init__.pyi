"""Checkpoints of several processes in one folder, which is always whole.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

from retrograd.namespaces.errors import CheckpointException as CheckpointException
class DefaultLoadPlanner:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DefaultSavePlanner:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.parallel.checkpoint import FileSystemReader as FileSystemReader
from retrograd.parallel.checkpoint import FileSystemWriter as FileSystemWriter
class HuggingFaceStorageReader:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class HuggingFaceStorageWriter:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LoadPlan:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class LoadPlanner:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.parallel.checkpoint import Metadata as Metadata
class SavePlan:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class SavePlanner:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StorageReader:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class StorageWriter:
    @deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.parallel.checkpoint import async_save as async_save
from retrograd.distributed.checkpoint import default_planner as default_planner
from retrograd.distributed.checkpoint import filesystem as filesystem
from retrograd.distributed.checkpoint import format_utils as format_utils
from retrograd.distributed.checkpoint import hf_storage as hf_storage
from retrograd.parallel.checkpoint import load as load
@deprecated('Not supported: states are read and written as a whole; leave planners and other storages out.')
def load_sharded_optimizer_state_dict(*args: object, **options: object) -> NoReturn: ...
from retrograd.parallel.checkpoint import load_state_dict as load_state_dict
from retrograd.distributed.checkpoint import metadata as metadata
from retrograd.distributed.checkpoint import optimizer as optimizer
from retrograd.distributed.checkpoint import planner as planner
from retrograd.parallel.checkpoint import save as save
from retrograd.parallel.checkpoint import save_state_dict as save_state_dict
from retrograd.distributed.checkpoint import state_dict as state_dict
from retrograd.distributed.checkpoint import state_dict_loader as state_dict_loader
from retrograd.distributed.checkpoint import state_dict_saver as state_dict_saver
from retrograd.distributed.checkpoint import stateful as stateful
from retrograd.distributed.checkpoint import storage as storage
