"""A thread in each process that answers when another one asks why an exchange does not end.

While all goes well it waits for a key of the store, and costs nothing. Who has waited for long, or
whose connection broke, sets that key: every process then writes what it is doing to the store, and
the one that asked compares. The first that finds the cause leaves it there, and all say the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from types import FrameType

from retrograd.distributed.names import DistError, DistNetworkError, DistStoreError
from retrograd.distributed.processes import process_state
from retrograd.distributed.store import Expired, Store
from retrograd.distributed.verdicts import Report, Verdict
from retrograd.lifecycle.site import is_library

PATIENCE = 3.0  # seconds of waiting after which a process asks the others what they do
_ANSWER = 3.0  # seconds in which they answer, if they can: on a busy machine, too
_LOOK = 0.2  # seconds after which is looked whether one that has not answered is there
_LONG = timedelta(hours=24)


class _Gone(Store):
    """In the place of a store whose process has ended: nobody waits for it again."""

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        raise DistNetworkError("the store is gone")


def _impatient(store: Store) -> Store:
    """A connection of its own, which does not try for long to reach a store that is gone."""
    made = store.clone()
    for each in (made, made._underlying_non_prefix_store):
        each.set_timeout(timedelta(seconds=2 * _ANSWER))
    return made


class Lookout:
    """Asks the other processes, and answers them."""

    def __init__(self, store: Store, rank: int, size: int, describe: Callable[[], Report]) -> None:
        self._rank = rank
        self._size = size
        self._describe = describe
        self._waiting = _impatient(store)  # for the thread alone: it waits in it
        self._asking = _impatient(store)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._verdict: Verdict | None = None
        self._over = False
        self._left: dict[int, str] = {}  # how others ended, as far as they told all
        self._names: dict[int, tuple[str, int]] = {}
        self._asking.set(f"who/{rank}", json.dumps([socket.gethostname(), os.getpid()]))
        self._next = self._asking.add("alarms", 0) + 1
        self._thread = threading.Thread(target=self._watch, name="retrograd lookout", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def _while_there(self) -> Iterator[None]:
        """Ask the store while it is there: nothing here may fail because it is gone."""
        with self._lock:
            try:
                yield
            except DistNetworkError:
                self._asking = _Gone()
            except DistError:
                pass

    # ------------------------------------------------------------------ answer

    def _watch(self) -> None:
        # A store that is gone, with the process that held it, ends this thread and nothing else.
        with contextlib.suppress(DistError, OSError):
            while not self._over:
                self._waiting.wait([f"alarm/{self._next}"], _LONG)
                if self._over:
                    return  # who has left has said so
                alarm = self._waiting.get(f"alarm/{self._next}").decode()
                if alarm == "end":
                    if self._waiting.check(["verdict"]):
                        self._learn(self._waiting.get("verdict"))
                    for rank in range(self._size):
                        if self._waiting.check([f"left/{rank}"]):
                            self._left[rank] = self._waiting.get(f"left/{rank}").decode()
                    if not self._waiting.serves:
                        self._waiting.goodbye(f"farewell/{self._next}", self._size - 1, _ANSWER)
                else:
                    answer = json.dumps(self._describe())
                    self._waiting.set(f"answer/{self._next}/{self._rank}", answer)
                self._next += 1

    # ------------------------------------------------------------------ ask

    def ask(self, ranks: Sequence[int], seconds: float = _ANSWER) -> dict[int, Report]:
        """What these processes are doing; those that do not answer in time are left out."""
        found: dict[int, Report] = {self._rank: self._describe()}
        with self._while_there():
            number = self._asking.add("alarms", 1)
            self._asking.set(f"alarm/{number}", "ask")
            until = time.monotonic() + seconds
            for rank in ranks:
                if rank == self._rank:
                    continue
                key = f"answer/{number}/{rank}"
                if self._comes(key, rank, until):
                    found[rank] = json.loads(self._asking.get(key))
                    self._asking.delete_key(key)
        return found

    def _comes(self, key: str, rank: int, until: float) -> bool:
        """Wait for an answer, while there is somebody on this machine who can give it."""
        while True:
            left = min(_LOOK, max(0.0, until - time.monotonic()))
            with contextlib.suppress(DistStoreError):
                self._asking.wait([key], timedelta(seconds=left))
                return True
            host, process = self._names.get(rank, ("", 0))
            gone = host == socket.gethostname() and process_state(process) in (None, "T")
            if gone or time.monotonic() >= until:
                return False

    def silent(self, ranks: Iterable[int]) -> tuple[dict[int, str], list[int]]:
        """What is known of processes that do not answer, and which of them have ended."""
        told: dict[int, str] = {}
        ended: list[int] = []
        for rank in ranks:
            told[rank], over = self._fate(rank)
            if over:
                ended.append(rank)
        return told, ended

    def _fate(self, rank: int) -> tuple[str, bool]:
        last = self._stored(f"left/{rank}")
        if last is not None:
            self._left[rank] = last.decode()
        if rank in self._left:
            return self._left[rank], True
        host, process = self._names[rank]
        who = f"process {process} on {host}"
        if host != socket.gethostname():
            return f"does not answer ({who})", False
        if isinstance(self._asking, _Gone) and process_state(process) not in (None, "T"):
            return f"cannot be asked: the store is gone ({who} runs)", False
        state = process_state(process)
        if state is None:
            return f"has ended without a word ({who})", True
        if state == "T":
            return f"is stopped ({who})", False
        return f"does not answer ({who} runs)", False

    def learn_names(self) -> None:
        """Who all processes are: to be known when the store is gone with one of them."""
        ranks = range(self._size)
        for rank, found in zip(
            ranks, self._asking.multi_get([f"who/{rank}" for rank in ranks]), strict=True
        ):
            host, process = json.loads(found)
            self._names[rank] = host, process

    def _stored(self, key: str) -> bytes | None:
        with self._while_there():
            if self._asking.check([key]):
                return self._asking.get(key)
        return None

    # ------------------------------------------------------------------ the first cause

    def decide(self, verdict: Verdict) -> Verdict:
        """Leave a cause for all, unless one is there already: the one that counts."""
        if self._verdict is None:
            with self._while_there():
                self._learn(self._asking.compare_set("verdict", "", json.dumps(verdict)))
        return self._verdict or verdict  # the thread may have learned it when the store ended

    def decided(self) -> Verdict | None:
        """The cause that a process found, if one has."""
        if self._verdict is None:
            found = self._stored("verdict")
            if found is not None:
                self._learn(found)
        return self._verdict

    def _learn(self, told: bytes) -> Verdict:
        line, note, certain = json.loads(told)
        self._verdict = Verdict(line, note, certain)
        return self._verdict

    # ------------------------------------------------------------------ end

    def leave(self, error: BaseException | None, orderly: bool) -> None:
        """Say goodbye: how this process ended, for those that still wait for it."""
        if self._over or os.getpid() != self._process:
            return
        self._over = True
        told = "has left the group" if orderly else "has ended"
        if error is not None:
            told = f"has ended by {_named(error)}"
        with self._while_there():
            self._asking.set(f"left/{self._rank}", told)
            if error is not None:
                verdict = Verdict(f"Rank {self._rank} {told}", _raised(error), False)
                self._asking.compare_set("verdict", "", json.dumps(verdict))
            elif not self._asking.serves:
                return
            number = self._asking.add("alarms", 1)
            self._asking.set(f"alarm/{number}", "end")
            if self._asking.serves:  # those that are left have a moment to read it
                left = sum(self._asking.check([f"left/{rank}"]) for rank in range(self._size))
                with contextlib.suppress(Expired):
                    self._asking.goodbye(f"farewell/{number}", self._size - left, _ANSWER)


def _named(error: BaseException) -> str:
    text = str(error).partition("\n")[0]
    where = _place(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where and f' at {where}'}"


def _place(error: BaseException) -> str:
    """The innermost line of the program, not of a library of ours, in a traceback."""
    entries = [
        entry
        for entry in traceback.extract_tb(error.__traceback__)
        if not is_library(entry.filename)
    ]
    return f"{entries[-1].filename}:{entries[-1].lineno}" if entries else ""


def _raised(error: BaseException) -> str:
    lines = traceback.format_exception(error, limit=-6)
    return "".join(lines).rstrip()


def position_of_program() -> str:
    """Where the main thread is: the innermost line of the program, not of this library."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def error_of_process() -> BaseException | None:
    """The error by which this process ends, as far as Python tells it while it ends."""
    raised = sys.exc_info()[1]
    if raised is None and not hasattr(sys, "ps1"):  # interactive, there may be an old one
        raised = getattr(sys, "last_value", None)
    return None if isinstance(raised, SystemExit) else raised
