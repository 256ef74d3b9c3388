"""Groups of processes: who belongs to them, and what they exchange, in order."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from retrograd.distributed.calls import Begun, Call, Message, Recent
from retrograd.distributed.exchanges import Exchanges
from retrograd.distributed.lookout import Lookout
from retrograd.distributed.names import Backend, DebugLevel
from retrograd.distributed.store import Store
from retrograd.distributed.transports.interface import Transport, sized
from retrograd.distributed.verdicts import Report, Verdict, mismatch, states, wrong_size
from retrograd.distributed.work import Lane, Work, again
from retrograd.lifecycle.site import user_site

__all__ = [
    *("GroupMember", "ProcessGroup", "get_backend", "get_debug_level", "get_global_rank"),
    *("get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks"),
    *("get_rank", "get_world_size", "group", "is_available", "is_initialized"),
    *("is_torchelastic_launched", "set_debug_level"),
]

_NOT_THERE = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


_COMING_BACK = 1.0  # seconds
_ENDING = 5.0  # seconds in which Python ends


class ProcessGroup(Exchanges):
    """Processes that work together, as one of them sees them."""

    def __init__(
        self,
        backend: str,
        ranks: Sequence[int],
        transport: Transport,
        store: Store,
        timeout: timedelta,
        name: str = "",
        description: str = "undefined",
    ) -> None:
        self._backend = backend
        self._ranks = list(ranks)
        self._transport = transport
        self._store = store
        self._timeout = timeout
        self._begun = 0
        self._lane = Lane(f"retrograd group {name}")
        self._recent = Recent()
        self.watched = 0  # monitored barriers
        self.failure: BaseException | None = None  # after which nothing works
        self.ended = False
        self.lookout: Lookout | None = None
        self._lanes: dict[tuple[str, int | None, int], Lane] = {}
        self.group_name = name
        self.group_desc = description

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._transport.rank

    def size(self) -> int:
        """The number of processes."""
        return self._transport.size

    def name(self) -> str:
        """The name of the way to reach others."""
        return self._backend

    @property
    def timeout(self) -> timedelta:
        """How long an exchange may wait for the others."""
        return self._timeout

    def get_group_store(self) -> Store:
        """The store of this group's keys."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """How long an exchange may wait for the others."""
        self._timeout = timeout
        self._transport.set_timeout(timeout)

    def _get_backend_name(self) -> str:
        return self._backend

    # ------------------------------------------------------------------ exchange

    def begin(
        self,
        name: str,
        detail: str,
        agreed: object,
        run: Callable[[Transport, int], None],
        result: Any = None,
    ) -> Work:
        """Begin an exchange of all processes, after those that were begun before.

        agreed  what must be the same in all processes: those that differ do not reach each other
        """
        if self.failure is not None:
            raise again(self.failure)
        self._begun += 1
        call = Call(self, self._begun, name, detail, f"{agreed}", user_site(2))
        self._recent.calls.append(call)
        tag = zlib.crc32(f"{self._begun} {name} {agreed}".encode()) & 0x7FFFFFFF
        transport = self._transport
        ready = transport.ready()
        return self._lane.add(
            Work(lambda: transport.perform(lambda: run(transport, tag), ready), call, result)
        )

    def begin_send(self, array: Any, to: int, tag: int, detail: str) -> Work:
        """Begin to send an array to a process of the group."""
        number, transport = sized(tag, array), self._transport
        ready = transport.ready()

        def run() -> None:
            transport.perform(lambda: transport.post(array, to, number), ready)
            self._recent.messages.pop(id(message), None)

        message = self._message("send", to, tag, array.nbytes, detail)
        return self._lane_of("send", to, tag).add(Work(run, message))

    def begin_recv(
        self, array: Any, source: int | None, tag: int, detail: str, after: Callable[[], None]
    ) -> Work:
        """Begin to receive an array from a process of the group, or from any."""
        if source is None and not self._transport.of_any:
            raise NotImplementedError(
                "torch.distributed.recv without a source is not supported by retrograd over "
                f"{type(self._transport).__name__} with {self.size()} processes: say src, or use "
                "the backend 'mpi'"
            )
        number, transport = sized(tag, array), self._transport
        ready = transport.ready()

        def receive() -> None:
            work._source = transport.fetch(array, source, number)

        def run() -> None:
            transport.perform(receive, ready)
            self._recent.messages.pop(id(message), None)
            after()

        message = self._message("receive", source, tag, array.nbytes, detail)
        work = Work(run, message)
        return self._lane_of("receive", source, tag).add(work)

    def _message(self, way: str, other: int | None, tag: int, size: int, detail: str) -> Message:
        if self.failure is not None:
            raise again(self.failure)
        whom = None if other is None else self._ranks[other]
        made = Message(self, way, whom, tag, size, detail, user_site(3))
        self._recent.messages[id(made)] = made
        return made

    def _lane_of(self, way: str, other: int | None, tag: int) -> Lane:
        """Exchanges with one process under one tag keep their order, and wait for no others."""
        key = way, other, tag if self._transport.tags else 0
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(f"retrograd {way} {other}", idle=1.0)
        return lane

    # ------------------------------------------------------------------ when it breaks

    def wonder(self, begun: Begun) -> None:
        """Ask the others why an exchange does not end; an error if it never can."""
        if self.lookout is None:
            return
        verdict = self.lookout.decided()
        if verdict is None:
            reports = self._reports()
            verdict = self._verdict(begun, reports)
            if verdict is None or begun.over:
                return
            verdict = self.lookout.decide(verdict)
        error = RuntimeError(verdict.line)
        error.add_note(verdict.note)
        self.failure = error
        self._transport.close()  # exchanges of the others end by that

    def failed(self, begun: Begun, error: BaseException) -> BaseException:
        """The error of an exchange, with what is known of its cause; nothing works after it."""
        if self.failure is None and isinstance(error, Exception):
            error = type(error)(*error.args)  # without the frames of the thread that ran it
            if self.lookout is not None:
                verdict = self._found(begun, str(error))
                if verdict.certain:
                    error = RuntimeError(verdict.line)
                elif verdict.line != str(error):
                    error.add_note(verdict.line)
                error.add_note(verdict.note)
            self.failure = error
        self._transport.close()
        return self.failure or error

    def _found(self, begun: Begun, line: str) -> Verdict:
        assert self.lookout is not None
        verdict = self.lookout.decided()
        if verdict is None:
            reports = self._reports()
            verdict = self.lookout.decided() or self._verdict(begun, reports)
        if verdict is None:
            number = begun.number if isinstance(begun, Call) else None
            told, _ = self.lookout.silent(rank for rank in self._ranks if rank not in reports)
            what = begun.name if isinstance(begun, Call) else begun.way
            note = f"{what}({begun.detail}) did not end:\n"
            note += states(self.group_name, number, self._ranks, reports, told)
            verdict = Verdict(line, note, False)
        return self.lookout.decide(verdict)

    def explain(self, error: BaseException, missing: Sequence[int]) -> None:
        """Add to an error where the processes are that did not come."""
        if self.lookout is None:
            return
        ranks = [self._ranks[number] for number in missing]
        reports = self.lookout.ask(ranks)
        told, _ = self.lookout.silent(rank for rank in ranks if rank not in reports)
        error.add_note(states(self.group_name, None, ranks, reports, told))

    def _reports(self) -> dict[int, Report]:
        assert self.lookout is not None
        return self.lookout.ask(self._ranks)

    def _verdict(self, begun: Begun, reports: dict[int, Report]) -> Verdict | None:
        """Why an exchange can never end, if that is so."""
        assert self.lookout is not None
        name = self.group_name
        if isinstance(begun, Message):
            me = self._ranks[self.rank()]
            found = wrong_size(name, me, begun.facts(), reports)
        else:
            found = mismatch(name, begun.number, self._ranks, reports)
        missing = [rank for rank in self._ranks if rank not in reports]
        if found is not None or not missing:
            return found
        told, ended = self.lookout.silent(missing)
        if not ended:
            return None
        line = "; ".join(f"Rank {rank} {told[rank]}" for rank in ended)
        number = begun.number if isinstance(begun, Call) else None
        return Verdict(line, states(name, number, self._ranks, reports, told), False)

    def shutdown(self) -> None:
        """End the group; what is under way has a moment to end."""
        if self.failure is None:
            self._lane.end(5.0)
        self.abandon()

    def abandon(self) -> None:
        """End the connections, and the threads that use them.

        A thread that came back from the engine while Python ends would end the process by SIGABRT,
        so those that come back now are waited for.
        """
        self.ended = True
        self._transport.close()
        until, lanes = time.monotonic() + _COMING_BACK, (self._lane, *self._lanes.values())
        if all([lane.end(max(0.0, until - time.monotonic())) for lane in lanes]):
            return
        until = self._transport.waits_end() + _COMING_BACK
        if until < time.monotonic() + _ENDING:  # while Python would be ending
            for lane in lanes:
                lane.end(max(0.0, until - time.monotonic()))

    def abort(self) -> None:
        """End the group at once."""
        self.abandon()


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
    if isinstance(found, ProcessGroup) and not found.ended:
        return found
    if found is not None:
        raise ValueError(
            f"Process group {found} is not initialized in the world group map. Please initialize "
            "the group first."
        )
    if GroupMember.WORLD is None:
        raise ValueError(_NOT_THERE)
    return GroupMember.WORLD


def is_member(found: object) -> bool:
    """Whether this process belongs to a group, as `new_group` gave it."""
    return found is None or found != GroupMember.NON_GROUP_MEMBER


def is_available() -> bool:
    """Whether this module can be used: yes."""
    return True


def is_initialized() -> bool:
    """Whether there is a group: after `init_process_group`."""
    return GroupMember.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_rank(group: Group = None) -> int:
    """The number of this process in the group; -1 where it does not belong to it."""
    return require(group).rank() if is_member(group) else -1


def get_world_size(group: Group = None) -> int:
    """The number of processes in the group; -1 where this one does not belong to it."""
    return require(group).size() if is_member(group) else -1


def get_backend(group: Group = None) -> Backend:
    """The name that `init_process_group` was given."""
    if not is_member(group):
        raise ValueError("Invalid process group specified")
    return Backend(require(group).name())


def get_pg_count() -> int:
    """How many groups were made, also those that this process does not belong to."""
    from retrograd.distributed.joining import count_of_groups

    return count_of_groups()


def get_process_group_ranks(group: Group) -> list[int]:
    """The numbers of the processes in the group."""
    return list(require(group)._ranks)


def get_global_rank(group: Group, group_rank: int) -> int:
    """The number among all processes of one in a group."""
    if group is GroupMember.WORLD:
        return group_rank
    found = require(group)
    if not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found._ranks[group_rank]


def get_group_rank(group: Group, global_rank: int) -> int:
    """The number in a group of one among all processes."""
    if group is GroupMember.WORLD:
        return global_rank
    found = require(group)
    if global_rank not in found._ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found._ranks.index(global_rank)


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


def get_debug_level() -> DebugLevel:
    """How much is checked and told: what is, always is."""
    return DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Ask for more to be checked and told: it always is."""
