"""What runs in a worker process of a loader.

A worker has two pipes to the main process (`handover` says how batches travel). Two threads move
messages between the pipes and queues of the worker, so that neither process ever waits for the
other to finish its work: tasks arrive while a batch is being made, and the next batch is made while
one is being sent.
"""

from __future__ import annotations

import os
import queue
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np

from retrograd.random import manual_seed
from retrograd.settings import set_num_threads
from retrograd.utils.data.fetch import MapFetcher, StreamFetcher, _DatasetKind
from retrograd.utils.data.handover import Message, packed, send
from retrograd.utils.data.information import WorkerInfo, set_worker_info

# Messages to a worker that are not tasks. They are compared by value: a pickle makes copies.
RESUME = "resume"
STOP = "stop"

# Every so many seconds a waiting worker looks whether its main process is still there.
MP_STATUS_CHECK_INTERVAL = 5.0


@dataclass(frozen=True)
class Exhausted:
    """The answer of a worker whose iterable dataset has come to its end."""

    worker_id: int


class KeyErrorMessage(str):
    """A text that is its own `repr`: KeyError shows the `repr` of what it is given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


class WorkerFailure:
    """An exception on its way from a worker to the main process, with its traceback as text."""

    def __init__(self, error: BaseException, worker_id: int) -> None:
        self.kind: type[BaseException] = type(error)
        self.message = (
            f"Caught {self.kind.__name__} in DataLoader worker process {worker_id}.\n"
            f"Original {''.join(traceback.format_exception(error))}"
        )

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type with the worker's traceback as its text."""
        message = self.message
        if self.kind is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.kind, "message", None):
            raise self.kind(message=message)  # type: ignore[call-arg]
        try:
            error = self.kind(message)
        except Exception:  # its constructor wants something else
            raise RuntimeError(message) from None
        raise error


def _message(task: object, answer: object, worker_id: int) -> Message:
    """An answer as it travels or, where that fails, the failure.

    Pickled here, not in the sending thread, so that what goes wrong reaches the main process.
    """
    try:
        return packed((task, answer))
    except Exception as error:
        failure = answer if isinstance(answer, WorkerFailure) else WorkerFailure(error, worker_id)
        try:
            return packed((task, failure))
        except Exception:  # the exception's class is not known to the main process
            failure.kind = RuntimeError
            return packed((task, failure))


@dataclass(frozen=True)
class Work:
    """What every worker of a loader is told at its start."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], object]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], object] | None
    num_workers: int

    def fetcher(self) -> MapFetcher | StreamFetcher:
        """A fetcher at the start of the dataset."""
        return _DatasetKind.create_fetcher(
            self.dataset_kind,
            self.dataset,
            self.auto_collation,
            self.collate_fn,
            self.drop_last,
        )


class _Inbox:
    """The messages of the main process, read as they come."""

    def __init__(self, tasks: Connection) -> None:
        self.stopping = False
        self._tasks = tasks
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._parent = os.getppid()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        message = None
        while message != STOP:
            try:
                message = self._tasks.recv()
            except (EOFError, OSError):  # the main process is gone
                message = STOP
            self.stopping = message == STOP  # the tasks before it need no answer any more
            self._messages.put(message)

    def next(self) -> Any:
        """The next message; STOP as well when the main process is no more."""
        while not self.stopping:
            try:
                return self._messages.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                if os.getppid() != self._parent:
                    break
        return STOP


class _Outbox:
    """Sends answers while the worker goes on; answers nobody reads are lost with the process."""

    def __init__(self, results: Connection) -> None:
        self._results = results
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        try:
            while True:
                send(self._results, self._messages.get())
        except OSError:  # the main process does not listen any more
            return

    def put(self, message: Message) -> None:
        self._messages.put(message)


def _seed_everything(base_seed: int, worker_id: int) -> int:
    """Seed Python's, retrograd's and NumPy's random numbers for this worker, as PyTorch does."""
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(numpy_state(base_seed, worker_id))
    return seed


def numpy_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words that seed NumPy's random numbers in a worker."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    state: list[int] = np.random.SeedSequence(words).generate_state(4).tolist()
    return state


def run_worker(
    work: Work,
    worker_id: int,
    tasks: Connection,
    results: Connection,
    inherited: list[Connection],
) -> None:
    """The life of a worker process: answer tasks until told to stop."""
    try:
        for connection in inherited:
            connection.close()
        _answer_tasks(work, worker_id, _Inbox(tasks), _Outbox(results))
    except KeyboardInterrupt:
        pass  # the main process is interrupted as well and says so


def _answer_tasks(work: Work, worker_id: int, inbox: _Inbox, outbox: _Outbox) -> None:
    set_num_threads(1)  # the workers share the cores
    seed = _seed_everything(work.base_seed, worker_id)
    set_worker_info(WorkerInfo(worker_id, work.num_workers, seed, work.dataset))
    fetcher, failure = _first_pass(work, worker_id)
    exhausted = False
    while (message := inbox.next()) != STOP:
        if message == RESUME:
            outbox.put(_message(RESUME, None, worker_id))
            fetcher, failure = _next_pass(work, worker_id)
            exhausted = False
            continue
        if exhausted:
            continue
        task, index = message
        answer: object = failure
        if failure is None:
            try:
                answer = fetcher.fetch(index)
            except Exception as error:
                if isinstance(error, StopIteration) and work.dataset_kind == _DatasetKind.Iterable:
                    answer = Exhausted(worker_id)
                    exhausted = True
                else:
                    answer = WorkerFailure(error, worker_id)
        outbox.put(_message(task, answer, worker_id))


def _first_pass(work: Work, worker_id: int) -> tuple[Any, WorkerFailure | None]:
    try:
        if work.init_fn is not None:
            work.init_fn(worker_id)
    except Exception as error:
        return None, WorkerFailure(error, worker_id)
    return _next_pass(work, worker_id)


def _next_pass(work: Work, worker_id: int) -> tuple[Any, WorkerFailure | None]:
    try:
        return work.fetcher(), None
    except Exception as error:
        return None, WorkerFailure(error, worker_id)
