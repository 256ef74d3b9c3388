"""The module of PyTorch's where the group and its functions are written."""

# ruff: noqa: F403
from retrograd.distributed import joining as _joining
from retrograd.distributed.collectives import *
from retrograd.distributed.exchanges import *
from retrograd.distributed.file_store import *
from retrograd.distributed.group import *
from retrograd.distributed.group import ProcessGroup, is_member, require
from retrograd.distributed.joining import *
from retrograd.distributed.names import *
from retrograd.distributed.names import ReduceOp as ReduceOp
from retrograd.distributed.objects import *
from retrograd.distributed.point_to_point import *
from retrograd.distributed.rendezvous import *
from retrograd.distributed.store import *
from retrograd.distributed.store import Store
from retrograd.distributed.tcp_store import *
from retrograd.distributed.work import *
from retrograd.namespaces import from_table

# Where the names of `torch.distributed` are written.
PLACES = (
    *("names", "store", "file_store", "tcp_store", "rendezvous", "work", "group", "joining"),
    *("exchanges", "collectives", "point_to_point", "objects"),
)


def _get_default_group() -> ProcessGroup:
    return require()


def _get_default_store() -> Store:
    require()
    return _joining.store_of_all()


def _rank_not_in_group(group: object) -> bool:
    return not is_member(group)


from_table(__name__)
