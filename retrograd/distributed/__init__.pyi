"""Several processes with one model: here there is one, and its group works as a group of one.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from datetime import timedelta
from retrograd.distributed.group import ReduceOp as _ReduceOp
from retrograd.distributed.group import _no
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated
from retrograd.distributed import distributed_c10d as distributed_c10d

from retrograd.distributed.group import Backend as Backend
class BackendConfig:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.group import DebugLevel as DebugLevel
class DeviceMesh:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.group import DistBackendError as DistBackendError
from retrograd.distributed.group import DistError as DistError
from retrograd.distributed.group import DistNetworkError as DistNetworkError
from retrograd.distributed.group import DistStoreError as DistStoreError
class FileStore:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class GradBucket:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.group import GroupMember as GroupMember
class HashStore:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class P2POp:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class PrefixStore:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.group import ProcessGroup as ProcessGroup
class ProcessGroupGloo:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.group import ReduceOp as ReduceOp
class Reducer:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class Store:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class TCPStore:
    @deprecated('Not supported: there is one process; leave it out.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.collectives import Work as Work
from retrograd.distributed import _composable as _composable
from retrograd.distributed import _functional_collectives as _functional_collectives
from retrograd.distributed import _tensor as _tensor
from retrograd.distributed import algorithms as algorithms
from retrograd.distributed.collectives import all_gather as all_gather
from retrograd.distributed.collectives import all_gather_coalesced as all_gather_coalesced
from retrograd.distributed.collectives import all_gather_into_tensor as all_gather_into_tensor
from retrograd.distributed.collectives import all_gather_object as all_gather_object
from retrograd.distributed.collectives import all_reduce as all_reduce
from retrograd.distributed.collectives import all_reduce_coalesced as all_reduce_coalesced
from retrograd.distributed.collectives import all_to_all as all_to_all
from retrograd.distributed.collectives import all_to_all_single as all_to_all_single
from retrograd.distributed.collectives import barrier as barrier
@deprecated('Not supported: there is one process; leave it out.')
def batch_isend_irecv(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.collectives import broadcast as broadcast
from retrograd.distributed.collectives import broadcast_object_list as broadcast_object_list
from retrograd.distributed import checkpoint as checkpoint
from retrograd.distributed import constants as constants
default_pg_timeout: timedelta
from retrograd.distributed.group import destroy_process_group as destroy_process_group
from retrograd.distributed import device_mesh as device_mesh
from retrograd.distributed import elastic as elastic
from retrograd.distributed import fsdp as fsdp
from retrograd.distributed.collectives import gather as gather
from retrograd.distributed.collectives import gather_object as gather_object
from retrograd.distributed.group import get_backend as get_backend
from retrograd.distributed.group import get_debug_level as get_debug_level
from retrograd.distributed.group import get_global_rank as get_global_rank
from retrograd.distributed.group import get_group_rank as get_group_rank
from retrograd.distributed.group import get_node_local_rank as get_node_local_rank
from retrograd.distributed.group import get_process_group_ranks as get_process_group_ranks
from retrograd.distributed.group import get_rank as get_rank
from retrograd.distributed.group import get_world_size as get_world_size
from retrograd.distributed.group import group as group
@deprecated('Not supported: there is one process; leave it out.')
def init_device_mesh(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.group import init_process_group as init_process_group
from retrograd.distributed.collectives import irecv as irecv
from retrograd.distributed.group import is_available as is_available
from retrograd.distributed.group import is_backend_available as is_backend_available
from retrograd.distributed.group import is_gloo_available as is_gloo_available
from retrograd.distributed.group import is_initialized as is_initialized
is_mpi_available = _no
is_nccl_available = _no
from retrograd.distributed.group import is_torchelastic_launched as is_torchelastic_launched
is_ucc_available = _no
is_xccl_available = _no
from retrograd.distributed.collectives import isend as isend
from retrograd.distributed.collectives import monitored_barrier as monitored_barrier
from retrograd.distributed.group import new_group as new_group
@deprecated('Not supported: there is one process; leave it out.')
def new_subgroups(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; leave it out.')
def new_subgroups_by_enumeration(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed import nn as nn
from retrograd.distributed import optim as optim
from retrograd.distributed import pipelining as pipelining
from retrograd.distributed.collectives import recv as recv
@deprecated('Not supported: there is one process; leave it out.')
def recv_object_list(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.collectives import reduce as reduce
reduce_op = _ReduceOp
from retrograd.distributed.collectives import reduce_scatter as reduce_scatter
from retrograd.distributed.collectives import reduce_scatter_tensor as reduce_scatter_tensor
@deprecated('Not supported: there is one process; leave it out.')
def register_rendezvous_handler(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; leave it out.')
def rendezvous(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed import rpc as rpc
from retrograd.distributed.collectives import scatter as scatter
from retrograd.distributed.collectives import scatter_object_list as scatter_object_list
from retrograd.distributed.collectives import send as send
@deprecated('Not supported: there is one process; leave it out.')
def send_object_list(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.group import set_debug_level as set_debug_level
@deprecated('Not supported: there is one process; leave it out.')
def shrink_group(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is one process; leave it out.')
def split_group(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.group import supports_complex as supports_complex
from retrograd.distributed import tensor as tensor
