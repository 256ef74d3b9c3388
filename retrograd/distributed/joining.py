"""How a process joins groups and leaves them: `init_process_group`, `new_group` and their ends."""

from __future__ import annotations

import logging
import os
import socket
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.util import Finalize
from typing import cast

from retrograd.distributed.group import Group, GroupMember, ProcessGroup, is_member, require
from retrograd.distributed.launcher.failures import write_error
from retrograd.distributed.lookout import Lookout, error_of_process, position_of_program
from retrograd.distributed.names import Backend, DistStoreError, default_pg_timeout
from retrograd.distributed.rendezvous import rendezvous
from retrograd.distributed.store import HashStore, PrefixStore, Store
from retrograd.distributed.tcp_store import TCPStore
from retrograd.distributed.transports import gloo, mpi, nccl
from retrograd.distributed.transports.alone import Alone
from retrograd.distributed.transports.interface import Transport
from retrograd.distributed.verdicts import Report

__all__ = [
    *("destroy_process_group", "init_process_group", "is_backend_available"),
    *("is_gloo_available", "is_mpi_available", "is_nccl_available", "is_ucc_available"),
    *("is_xccl_available", "new_group", "new_subgroups", "new_subgroups_by_enumeration"),
]

groups: dict[ProcessGroup, str] = {}
_store_of_all: list[Store] = []
_lookouts: list[Lookout] = []  # the one of this process, while there is a group of several
_named = 0  # how many groups were made, in this and the other processes
_apart: Counter[str] = Counter()  # those that only their own processes made, by their ranks


def count_of_groups() -> int:
    """How many groups were made."""
    return _named


def store_of_all() -> Store:
    """The store by which all processes met."""
    return _store_of_all[0]


def is_gloo_available() -> bool:
    """Whether several processes can use the backend "gloo"."""
    return gloo.is_installed()


def is_mpi_available() -> bool:
    """Whether several processes can use the backend "mpi"."""
    return mpi.is_installed()


def _no() -> bool:
    """Whether this backend can be named: no."""
    return False


def is_nccl_available() -> bool:
    """Whether several processes can use the backend "nccl"."""
    return nccl.is_installed()


is_ucc_available = is_xccl_available = _no


def is_backend_available(backend: str) -> bool:
    """Whether several processes can use a backend."""
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return known.get(backend.lower(), _no)()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
) -> None:
    """Meet the other processes, and make the group of all.

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> torch.distributed.get_world_size()
    1
    >>> torch.distributed.destroy_process_group()
    """
    global _named
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    limit = _limit(timeout)
    name = _checked(backend)
    if name == "mpi":
        store, rank, world_size = _by_mpi(limit)
    elif store is None:
        store, rank, world_size = next(
            rendezvous(init_method or "env://", rank, world_size, timeout=limit)
        )
        store.set_timeout(limit)
    elif rank < 0 or world_size < 1:
        raise ValueError("world_size must be positive and rank non-negative if using store")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not below the number of processes, {world_size}")
    _store_of_all[:] = [store]
    GroupMember.WORLD = _made(
        name, range(world_size), rank, PrefixStore("default_pg", store), limit, "0", "default_pg"
    )
    _named = 1
    if world_size > 1 and name != "fake":
        _lookouts.append(Lookout(PrefixStore("lookout", store), rank, world_size, _describe))
        GroupMember.WORLD.lookout = _lookouts[0]
    _arrive(PrefixStore("default_pg", store), GroupMember.WORLD, world_size, limit)
    if _lookouts:
        _lookouts[0].learn_names()


def _describe() -> Report:
    """What this process does, for another that asks."""
    found: Report = {"at": position_of_program(), "calls": {}, "messages": {}}
    for each in tuple(groups):
        calls, messages = each._recent.facts()
        found["calls"][each.group_name] = calls
        found["messages"][each.group_name] = messages
    return found


def _by_mpi(limit: timedelta) -> tuple[Store, int, int]:
    """The store of the processes that were started together: the first serves it."""
    everyone = mpi.library().COMM_WORLD
    rank, size = int(everyone.rank), int(everyone.size)
    if size == 1:
        return HashStore(), 0, 1
    found: TCPStore | None = None
    names = everyone.gather(socket.gethostname())
    if rank == 0:
        host = "127.0.0.1" if len(set(names)) == 1 else names[0]
        found = TCPStore(host, 0, is_master=True, timeout=limit)
    host, port = everyone.bcast(None if found is None else (found.host, found.port))
    return found or TCPStore(host, port, timeout=limit), rank, size


def _limit(timeout: timedelta | None) -> timedelta:
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return default_pg_timeout if timeout is None else timeout


def _checked(backend: str | None) -> Backend:
    name = Backend("undefined" if backend is None else backend)
    if name in ("ucc", "xccl"):
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
    if name == "mpi" and not is_mpi_available():
        raise RuntimeError(mpi.MISSING)
    if name == "nccl":
        nccl.library()
    if name not in ("gloo", "mpi", "nccl", "undefined", "fake") and ":" not in name:
        raise AssertionError(f"Unknown backend type {name}")
    return name


def _made(
    backend: str,
    ranks: Sequence[int],
    rank: int,
    store: Store,
    timeout: timedelta,
    name: str,
    description: str,
) -> ProcessGroup:
    """A group that this process belongs to, as number `rank`; all of its processes make it."""
    size, transport = len(ranks), cast(Transport, None)
    if size == 1 or backend == "fake":
        transport = Alone()
    elif backend == "mpi":
        world = GroupMember.WORLD
        if world is None:
            transport = mpi.Mpi.of_all(timeout)
        elif isinstance(world._transport, mpi.Mpi):
            transport = world._transport.part(ranks, zlib.crc32(name.encode()), timeout)
        else:
            raise ValueError(f"a group over MPI among processes that met over {world.name()}")
    elif backend == "nccl":
        transport = nccl.Nccl(PrefixStore("nccl", store), rank, size, timeout)
    else:
        transport = gloo.Gloo(PrefixStore("gloo", store), rank, size, timeout, _address(store))
    made = ProcessGroup(backend, ranks, transport, store, timeout, name, description)
    made.lookout = _lookouts[0] if _lookouts else None
    groups[made] = made.group_name
    if len(groups) == 1:
        # multiprocessing runs these at the end of its processes too, where `atexit` does nothing
        Finalize(None, leave, exitpriority=100)
    return made


def _address(store: Store) -> str:
    """The address at which other processes reach this one: the one it has for their meeting."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    found = getattr(store, "local_address", None)
    if isinstance(found, str):
        return found
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "127.0.0.1"
    return name


def _arrive(store: Store, found: ProcessGroup, size: int, timeout: timedelta) -> None:
    """Wait until all processes have made a group."""
    if size == 1:
        return
    key = f"store_based_barrier_key:{found.group_name}"
    until = time.monotonic() + timeout.total_seconds()
    if store.add(key, 1) == size:
        store.set(f"{key}:last_check", b"")
    try:
        store.wait([f"{key}:last_check"], timedelta(seconds=max(0.0, until - time.monotonic())))
    except DistStoreError:
        raise DistStoreError(
            f"Timed out initializing process group in store based barrier on rank {found.rank()}, "
            f"for key: {key} (world_size={size}, num_workers_joined={store.add(key, 0)}, "
            f"timeout={timeout} error=wait timeout)"
        ) from None


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: object = None,
    sort_ranks: bool = True,
) -> ProcessGroup | int:
    """A group of some of the processes; all processes make it, whether they belong to it or not."""
    global _named
    world = require()
    size, me = world.size(), world.rank()
    members = list(range(size)) if ranks is None else list(ranks)
    if sort_ranks:
        members.sort()
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    if len(members) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    for rank in members:
        if not 0 <= rank < size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    limit = world._timeout if timeout is None else _limit(timeout)
    name = world.name() if backend is None else _checked(backend)
    found: ProcessGroup | int = GroupMember.NON_GROUP_MEMBER
    if use_local_synchronization:  # the other processes do not know of it, nor count it
        own = " ".join(map(str, members))
        called = f"of {own}, {_apart[own]}"
        _apart[own] += 1
    else:
        called = str(_named)
        _named += 1
    store = PrefixStore(called, _store_of_all[0])
    if me in members:
        at, told = members.index(me), group_desc or "undefined"
        found = _made(name, members, at, store, limit, called, told)
        if use_local_synchronization:
            _arrive(store, found, len(members), limit)
    if not use_local_synchronization:
        _arrive_all(store, world, limit)
    return found


def _arrive_all(store: Store, world: ProcessGroup, limit: timedelta) -> None:
    _arrive(PrefixStore("all", store), world, world.size(), limit)


def new_subgroups(
    group_size: int | None = None,
    group: Group = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int, list[ProcessGroup | int]]:
    """Groups of so many processes each; the one that this process belongs to, and all."""
    if group_size is None:
        raise ValueError("Default group size only takes effect when CUDA is available.")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = require(group).size()
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    ranks = require(group)._ranks
    lists = [ranks[at : at + group_size] for at in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int, list[ProcessGroup | int]]:
    """Groups of these processes; the one that this process belongs to, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}"
                )
            seen[rank] = ranks
    me, mine = require().rank(), cast("ProcessGroup | int", GroupMember.NON_GROUP_MEMBER)
    made: list[ProcessGroup | int] = []
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if me in ranks:
            mine = made[-1]
            logging.getLogger(__name__).info("Rank %s is assigned to subgroup %s", me, ranks)
    return mine, made


def destroy_process_group(group: Group = None) -> None:
    """End a group, or all of them."""
    if not is_member(group):
        return
    found = GroupMember.WORLD if group is None else group
    if found is None:
        raise AssertionError("Process group cannot be None")
    if found not in groups:
        raise ValueError("Invalid process group specified")
    if found is not GroupMember.WORLD:
        groups.pop(found)
        found.shutdown()
        return
    for lookout in _lookouts:
        lookout.leave(None, orderly=True)
    for each in reversed(list(groups)):
        each.shutdown()
    _forget()


def _forget() -> None:
    global _named
    groups.clear()
    _apart.clear()
    GroupMember.WORLD = None
    _named = 0
    for store in _store_of_all:
        inner = store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store
        close = getattr(inner, "close", None)
        if close is not None and os.getpid() == getattr(inner, "_process", os.getpid()):
            close()
    _store_of_all.clear()
    _lookouts.clear()


def leave(error: BaseException | None = None) -> None:
    """The end of a process that has not ended its groups: the others are told, if by an error."""
    if GroupMember.WORLD is None:
        return
    error = error or error_of_process()
    for lookout in _lookouts:
        lookout.leave(error, orderly=False)
    if error is not None:
        write_error(error)
    for each in list(groups):
        each.abandon()
    if error is not None:
        GroupMember.WORLD._transport.end_all()
    _forget()
