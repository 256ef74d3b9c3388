"""MPI, by mpi4py: for processes that `mpiexec` starts, on machines whose network it knows best.

As with Gloo only messages are used, so that what differs between processes is found by its tag,
and so that a wait ends at its timeout, which MPI's own do not. MPICH waits by spinning; here a wait
looks often at first and then seldom, and leaves the processor to those that have work.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from retrograd.distributed.transports.interface import Flat, Transport

__all__ = ["Mpi", "is_installed"]

VERSION = "4.1.2"
MISSING = (
    "Distributed package doesn't have MPI built in: it needs mpi4py and an MPI library. Install "
    f'them by: pip install "retrograd[mpi]" (mpi4py {VERSION}), and MPICH or Open MPI'
)
_LONGEST_PAUSE = 0.001  # seconds


def is_installed() -> bool:
    """Whether mpi4py is there; the MPI library is found when it is used."""
    return importlib.util.find_spec("mpi4py") is not None


def library() -> Any:
    """mpi4py's module; importing it joins the processes that `mpiexec` started."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(MISSING) from error
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        raise RuntimeError("this MPI library does not let several threads of a process use it")
    return MPI


class Mpi(Transport):
    """A communicator of MPI."""

    def __init__(self, communicator: Any, timeout: timedelta) -> None:
        super().__init__(communicator.rank, communicator.size)
        self._mpi = library()
        self._communicator = communicator
        self._seconds = timeout.total_seconds()
        self._closed = False
        highest = communicator.Get_attr(self._mpi.TAG_UB)
        self._tags = (32767 if highest is None else int(highest)) + 1

    @classmethod
    def of_all(cls, timeout: timedelta) -> Mpi:
        """The processes that were started together."""
        return cls(library().COMM_WORLD.Dup(), timeout)

    def part(self, ranks: Sequence[int], number: int, timeout: timedelta) -> Mpi:
        """Some of these processes, which all make it; `number` is the same in all of them."""
        group = self._communicator.Get_group().Incl(list(ranks))
        return Mpi(self._communicator.Create_group(group, number % self._tags), timeout)

    def send(self, array: Flat, to: int, tag: int) -> None:
        buffer = [array, self._mpi.BYTE] if array.nbytes else [bytearray(0), self._mpi.BYTE]
        self._wait(self._communicator.Issend(buffer, to, tag % self._tags), "send")

    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        status = self._mpi.Status()
        buffer = [array, self._mpi.BYTE] if array.nbytes else [bytearray(0), self._mpi.BYTE]
        whom = self._mpi.ANY_SOURCE if source is None else source
        self._wait(self._communicator.Irecv(buffer, whom, tag % self._tags), "recv", status)
        found: int = status.Get_source()
        return found

    def _wait(self, request: Any, what: str, status: Any = None) -> None:
        until, pause, looks = time.monotonic() + self._seconds, 0.00001, 0
        while not request.Test(status):
            looks += 1
            if looks < 50:
                time.sleep(0)  # lets the other threads of this process, and others, run
                continue
            if self._closed or time.monotonic() > until:
                request.Cancel()
                request.Free()
                if self._closed:
                    raise RuntimeError("the group was ended")
                raise RuntimeError(
                    f"Timed out waiting {round(self._seconds * 1000)}ms for {what} operation to "
                    "complete"
                )
            time.sleep(pause)
            pause = min(pause * 1.2, _LONGEST_PAUSE)

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()

    def close(self) -> None:
        self._closed = True

    def end_all(self) -> None:
        """MPI waits for all processes in the end: one that fails has to end the others."""
        self._mpi.COMM_WORLD.Abort(1)
