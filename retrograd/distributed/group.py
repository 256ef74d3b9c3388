"""The group of processes: one, which is this. What would need another process refuses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from enum import IntEnum

from retrograd.notices import notice

__all__ = [
    *("Backend", "DebugLevel", "DistBackendError", "DistError", "DistNetworkError"),
    *("DistStoreError", "GroupMember", "ProcessGroup", "ReduceOp", "default_pg_timeout"),
    *("destroy_process_group", "get_backend", "get_debug_level", "get_global_rank"),
    *("get_group_rank", "get_node_local_rank", "get_process_group_ranks", "get_rank"),
    *("get_world_size", "group", "init_process_group", "is_available", "is_backend_available"),
    *("is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available"),
    *("is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "new_group"),
    *("set_debug_level", "supports_complex"),
]

default_pg_timeout = timedelta(seconds=1800)

_NOT_THERE = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
MORE = (
    "is not supported by retrograd: there is one process; start it with RANK=0 and WORLD_SIZE=1, "
    "or leave the process group out"
)


class ReduceOp(IntEnum):
    """How the tensors of all processes become one: with one process it stays as it is."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


# PyTorch has the operation and the enumeration of its kinds apart; the members are the same.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Backend(str):
    """The name of a way to reach other processes, in lower case.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, "fake")

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class DebugLevel(IntEnum):
    """How much PyTorch checks and tells about processes."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class DistError(RuntimeError):
    """Something between processes failed."""


class DistBackendError(DistError):
    """The way to other processes failed."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """The store of shared values failed."""


class ProcessGroup:
    """A group with this process alone."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        """The number of this process: 0."""
        return 0

    def size(self) -> int:
        """The number of processes: 1."""
        return 1

    def name(self) -> str:
        """The name of the way to reach others."""
        return self._backend


Group = ProcessGroup | None  # None: that of all processes


class GroupMember:
    """Who belongs to a group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Group(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return GroupMember.WORLD


class group(metaclass=_Group):
    """The group of all processes, as ``group.WORLD``."""


def require(found: object = None) -> ProcessGroup:
    """The group that was given, or that of all processes; an error if there is none."""
    if isinstance(found, ProcessGroup):
        return found
    if GroupMember.WORLD is None:
        raise ValueError(_NOT_THERE)
    return GroupMember.WORLD


def is_available() -> bool:
    """Whether this module can be used: yes, for one process."""
    return True


def is_initialized() -> bool:
    """Whether there is a group: after `init_process_group`."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    """Whether the backend "gloo" can be named: yes."""
    return True


def _no() -> bool:
    """Whether this backend can be named: no."""
    return False


is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = _no


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be named: "gloo" can."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: object = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
) -> None:
    """Make the group of all processes: of one. With more it refuses.

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> torch.distributed.get_world_size()
    1
    >>> torch.distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is None:
        rank, world_size = _meeting(init_method or "env://", rank, world_size)
    elif rank < 0 or world_size < 1:
        raise ValueError("world_size must be positive and rank non-negative if using store")
    if world_size != 1 or rank != 0:
        raise NotImplementedError(
            f"torch.distributed.init_process_group of {world_size} processes {MORE}"
        )
    name = Backend("undefined" if backend is None else backend)
    if name in ("nccl", "ucc", "xccl", "mpi"):
        text = f"Distributed package doesn't have {name.upper()} built in"
        raise RuntimeError(f"{text}. Use the backend 'gloo'." if name == "mpi" else text)
    if name not in ("gloo", "undefined", "fake") and ":" not in name:
        raise AssertionError(f"Unknown backend type {name}")
    notice("torch.distributed", "there is one process; its collectives return what they are given")
    GroupMember.WORLD = ProcessGroup(name)


def _meeting(method: str, rank: int, world_size: int) -> tuple[int, int]:
    """The number of this process and of all, as the method of meeting tells."""
    scheme = method.partition("://")[0]
    if scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    start = f"Error initializing torch.distributed using {scheme}:// rendezvous:"
    if scheme != "env":
        for name, value in (("rank", rank), ("world size", world_size)):
            if value < 0:
                raise ValueError(f"{start} {name} parameter missing")
        return rank, world_size
    for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
        if value < 0 and name not in os.environ:
            raise ValueError(f"{start} environment variable {name} expected, but not set")
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ValueError(f"{start} environment variable {name} expected, but not set")
    return (
        rank if rank >= 0 else int(os.environ["RANK"]),
        world_size if world_size >= 0 else int(os.environ["WORLD_SIZE"]),
    )


def destroy_process_group(group: Group = None) -> None:
    """End the group."""
    if group is None or group is GroupMember.WORLD:
        if GroupMember.WORLD is None:
            raise AssertionError("Process group cannot be None")
        GroupMember.WORLD = None


def get_rank(group: Group = None) -> int:
    """The number of this process in the group: 0."""
    return require(group).rank()


def get_world_size(group: Group = None) -> int:
    """The number of processes in the group: 1."""
    return require(group).size()


def get_backend(group: Group = None) -> Backend:
    """The name that `init_process_group` was given."""
    return Backend(require(group).name())


def get_process_group_ranks(group: Group) -> list[int]:
    """The numbers of the processes in the group: 0."""
    require(group)
    return [0]


def get_global_rank(group: Group, group_rank: int) -> int:
    """The number among all processes of one in a group."""
    require(group)
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_group_rank(group: Group, global_rank: int) -> int:
    """The number in a group of one among all processes."""
    require(group)
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, from the variable LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return fallback_rank
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    *args: object,
    **options: object,
) -> ProcessGroup:
    """A group of some of the processes: of this one."""
    world = require()
    for rank in [0] if ranks is None else ranks:
        if rank != 0:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to 0 (world_size=1)")
    return ProcessGroup(world.name() if backend is None else Backend(backend))


def get_debug_level() -> DebugLevel:
    """How much is checked and told: nothing."""
    return DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Ask for more to be checked and told: with one process there is nothing to tell."""


def supports_complex(reduceOp: object) -> bool:
    """Whether complex tensors can be reduced in this way."""
    unordered = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)
    return reduceOp not in (*unordered, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
