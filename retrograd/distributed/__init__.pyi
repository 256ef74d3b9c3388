"""Several processes that train one model: groups, what they exchange, and how they meet.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from datetime import timedelta
from retrograd.distributed.joining import _no
from retrograd.distributed.names import ReduceOp as _ReduceOp
from typing import Any
from typing import NoReturn
from typing_extensions import deprecated
from retrograd.distributed import distributed_c10d as distributed_c10d

from retrograd.distributed.exchanges import AllToAllOptions as AllToAllOptions
from retrograd.distributed.exchanges import AllgatherOptions as AllgatherOptions
from retrograd.distributed.exchanges import AllreduceCoalescedOptions as AllreduceCoalescedOptions
from retrograd.distributed.exchanges import AllreduceOptions as AllreduceOptions
from retrograd.distributed.names import Backend as Backend
class BackendConfig:
    @deprecated('Not supported: groups are made by torch.distributed.new_group.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.exchanges import BarrierOptions as BarrierOptions
from retrograd.distributed.exchanges import BroadcastOptions as BroadcastOptions
from retrograd.nn.parallel.distributed import BuiltinCommHookType as BuiltinCommHookType
from retrograd.distributed.names import DebugLevel as DebugLevel
class DeviceMesh:
    @deprecated('Not supported: groups are made by torch.distributed.new_group.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.names import DistBackendError as DistBackendError
from retrograd.distributed.names import DistError as DistError
from retrograd.distributed.names import DistNetworkError as DistNetworkError
from retrograd.distributed.names import DistStoreError as DistStoreError
from retrograd.distributed.file_store import FileStore as FileStore
from retrograd.distributed.exchanges import GatherOptions as GatherOptions
from retrograd.nn.parallel.buckets import GradBucket as GradBucket
from retrograd.distributed.group import GroupMember as GroupMember
from retrograd.distributed.store import HashStore as HashStore
from retrograd.distributed.point_to_point import P2POp as P2POp
from retrograd.distributed.store import PrefixStore as PrefixStore
from retrograd.distributed.group import ProcessGroup as ProcessGroup
class ProcessGroupGloo:
    @deprecated('Not supported: groups are made by torch.distributed.new_group.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
from retrograd.distributed.names import QueueEmptyError as QueueEmptyError
from retrograd.distributed.names import ReduceOp as ReduceOp
from retrograd.distributed.exchanges import ReduceOptions as ReduceOptions
from retrograd.distributed.exchanges import ReduceScatterOptions as ReduceScatterOptions
from retrograd.nn.parallel.reducer import Reducer as Reducer
from retrograd.distributed.exchanges import ScatterOptions as ScatterOptions
from retrograd.distributed.store import Store as Store
from retrograd.distributed.tcp_store import TCPStore as TCPStore
from retrograd.distributed.work import Work as Work
from retrograd.distributed import _composable as _composable
from retrograd.distributed import _functional_collectives as _functional_collectives
from retrograd.distributed import _tensor as _tensor
from retrograd.distributed.collectives import all_gather as all_gather
from retrograd.distributed.collectives import all_gather_coalesced as all_gather_coalesced
from retrograd.distributed.collectives import all_gather_into_tensor as all_gather_into_tensor
from retrograd.distributed.objects import all_gather_object as all_gather_object
from retrograd.distributed.collectives import all_gather_single as all_gather_single
from retrograd.distributed.collectives import all_reduce as all_reduce
from retrograd.distributed.collectives import all_reduce_coalesced as all_reduce_coalesced
from retrograd.distributed.collectives import all_to_all as all_to_all
from retrograd.distributed.collectives import all_to_all_single as all_to_all_single
from retrograd.distributed import autograd as autograd
from retrograd.distributed.collectives import barrier as barrier
from retrograd.distributed.point_to_point import batch_isend_irecv as batch_isend_irecv
from retrograd.distributed.collectives import broadcast as broadcast
from retrograd.distributed.objects import broadcast_object_list as broadcast_object_list
from retrograd.distributed import checkpoint as checkpoint
from retrograd.distributed import constants as constants
default_pg_timeout: timedelta
from retrograd.distributed.joining import destroy_process_group as destroy_process_group
from retrograd.distributed import device_mesh as device_mesh
from retrograd.distributed import elastic as elastic
from retrograd.distributed import fsdp as fsdp
from retrograd.distributed.collectives import gather as gather
from retrograd.distributed.objects import gather_object as gather_object
from retrograd.distributed.group import get_backend as get_backend
from retrograd.distributed.group import get_debug_level as get_debug_level
from retrograd.distributed.group import get_global_rank as get_global_rank
from retrograd.distributed.group import get_group_rank as get_group_rank
from retrograd.distributed.group import get_node_local_rank as get_node_local_rank
from retrograd.distributed.group import get_pg_count as get_pg_count
from retrograd.distributed.group import get_process_group_ranks as get_process_group_ranks
from retrograd.distributed.group import get_rank as get_rank
from retrograd.distributed.group import get_world_size as get_world_size
from retrograd.distributed.group import group as group
@deprecated('Not supported: groups are made by torch.distributed.new_group.')
def init_device_mesh(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.joining import init_process_group as init_process_group
from retrograd.distributed.point_to_point import irecv as irecv
from retrograd.distributed.group import is_available as is_available
from retrograd.distributed.joining import is_backend_available as is_backend_available
from retrograd.distributed.joining import is_gloo_available as is_gloo_available
from retrograd.distributed.group import is_initialized as is_initialized
from retrograd.distributed.joining import is_mpi_available as is_mpi_available
from retrograd.distributed.joining import is_nccl_available as is_nccl_available
from retrograd.distributed.group import is_torchelastic_launched as is_torchelastic_launched
is_ucc_available = _no
is_xccl_available = _no
from retrograd.distributed.point_to_point import isend as isend
from retrograd.distributed.collectives import monitored_barrier as monitored_barrier
from retrograd.distributed.joining import new_group as new_group
from retrograd.distributed.joining import new_subgroups as new_subgroups
from retrograd.distributed.joining import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from retrograd.distributed import nn as nn
from retrograd.distributed import optim as optim
from retrograd.distributed import pipelining as pipelining
from retrograd.distributed.point_to_point import recv as recv
from retrograd.distributed.objects import recv_object_list as recv_object_list
from retrograd.distributed.collectives import reduce as reduce
reduce_op = _ReduceOp
from retrograd.distributed.collectives import reduce_scatter as reduce_scatter
from retrograd.distributed.collectives import reduce_scatter_single as reduce_scatter_single
from retrograd.distributed.collectives import reduce_scatter_tensor as reduce_scatter_tensor
from retrograd.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from retrograd.distributed.rendezvous import rendezvous as rendezvous
from retrograd.distributed import rpc as rpc
from retrograd.distributed.collectives import scatter as scatter
from retrograd.distributed.objects import scatter_object_list as scatter_object_list
from retrograd.distributed.point_to_point import send as send
from retrograd.distributed.objects import send_object_list as send_object_list
from retrograd.distributed.group import set_debug_level as set_debug_level
@deprecated('Not supported: groups are made by torch.distributed.new_group.')
def shrink_group(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: groups are made by torch.distributed.new_group.')
def split_group(*args: object, **options: object) -> NoReturn: ...
from retrograd.distributed.names import supports_complex as supports_complex
from retrograd.distributed import tensor as tensor
