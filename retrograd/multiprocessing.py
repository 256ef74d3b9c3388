"""Python's `multiprocessing`: tensors are copied to other processes, or shared if they ask for it.

What `share_memory_` was called of is shared; PyTorch moves all that is sent to shared memory.

>>> import retrograd as torch
>>> torch.multiprocessing.get_sharing_strategy()
'file_descriptor'
"""

from __future__ import annotations

import multiprocessing as _python
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.connection import wait as wait_for
from typing import Any, cast

from retrograd.lifecycle.site import user_level
from retrograd.marks import differs
from retrograd.namespaces import from_table

reducer = _python.reduction

__all__ = [
    *(name for name in dir(_python) if not name.startswith("_")),
    *("ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext"),
    *("get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"),
    "start_processes",
]

_STRATEGIES = ("file_descriptor", "file_system")
_chosen = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names of the ways in which PyTorch shares memory."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was last told."""
    return _chosen[0]


@differs("noted, and without effect: memory is shared by descriptors")
def set_sharing_strategy(new_strategy: str) -> None:
    """Note a way to share memory."""
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {set(_STRATEGIES)}"
        )
    _chosen[0] = new_strategy


class ProcessException(Exception):
    """A process that `spawn` started failed; `error_index` and `error_pid` say which."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = pid

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process that `spawn` started raised an error."""


class ProcessExitedException(ProcessException):
    """A process that `spawn` started ended by a signal or with a status that is not zero."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[object, ...]:
        told = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), told


def _run(
    fn: Callable[..., object], rank: int, args: tuple[object, ...], errors: Any, parent: int
) -> None:
    _end_with(parent)
    try:
        fn(rank, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one was interrupted too
    except Exception as error:
        errors.put(traceback.format_exc())
        joining = sys.modules.get("retrograd.distributed.joining")
        if joining is not None:
            joining.leave(error)  # the other processes of a group learn why this one ends
        sys.exit(1)


def _end_with(parent: int) -> None:
    """Let this process be interrupted when the one that started it ends, where Linux can."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_WITH_PARENT, int(signal.SIGINT), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)  # it has ended


_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl
_KILL_AFTER = 30.0  # seconds that a process has to end by itself


class ProcessContext:
    """The processes that `spawn` started."""

    def __init__(self, processes: list[Any], error_queues: list[Any]) -> None:
        self.processes = processes
        self.error_queues = error_queues
        self.sentinels = {process.sentinel: rank for rank, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers by which the system knows them."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for a process to end; an error of one ends all. True when all have ended well."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in wait_for(list(self.sentinels), timeout=timeout):
            rank = self.sentinels.pop(cast(int, sentinel))
            self.processes[rank].join()
            if self.processes[rank].exitcode != 0:
                failed = rank
                break
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        raise self._error(failed)

    def _end_all(self, grace: float | None) -> None:
        """End the processes that are left, also such as do not want to, or are stopped."""
        from retrograd.distributed.processes import process_state

        until = time.monotonic() + (grace or 0.0)
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
                if process_state(process.pid) == "T":
                    os.kill(process.pid, signal.SIGCONT)  # a stopped one would not notice
        until = time.monotonic() + _KILL_AFTER
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join()

    def _error(self, rank: int) -> ProcessException:
        process = self.processes[rank]
        if not self.error_queues[rank].empty():
            told = self.error_queues[rank].get()
            text = f"\n\n-- Process {rank} terminated with the following error:\n{told}"
            return ProcessRaisedException(text, rank, process.pid)
        code = process.exitcode
        if code >= 0:
            text = f"process {rank} terminated with exit code {code}"
            return ProcessExitedException(text, rank, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        text = f"process {rank} terminated with signal {name}"
        return ProcessExitedException(text, rank, process.pid, code, name)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(number, *args)`` in `nprocs` new processes, and wait for them if `join`.

    An error in one of them ends all, and is raised here with its traceback.
    """
    context: Any = _python.get_context(start_method)
    queues = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(
            target=_run, args=(fn, rank, args, queues[rank], os.getpid()), daemon=daemon
        )
        for rank in range(nprocs)
    ]
    for process in processes:
        process.start()
    started = ProcessContext(processes, queues)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(number, *args)`` in `nprocs` new processes: see `start_processes`."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=user_level(),
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)


from_table(__name__)
