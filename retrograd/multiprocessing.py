"""Python's `multiprocessing`: tensors are copied to other processes, not shared with them.

>>> import retrograd as torch
>>> torch.multiprocessing.get_sharing_strategy()
'file_descriptor'
"""

from __future__ import annotations

import multiprocessing as _python
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.connection import wait as wait_for
from typing import Any, cast

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


@differs("noted, and without effect: tensors are copied between processes")
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


def _run(fn: Callable[..., object], rank: int, args: tuple[object, ...], errors: Any) -> None:
    try:
        fn(rank, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one was interrupted too
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


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
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        raise self._error(failed)

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
        context.Process(target=_run, args=(fn, rank, args, queues[rank]), daemon=daemon)
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
    return start_processes(fn, args, nprocs, join, daemon, start_method)


from_table(__name__)
