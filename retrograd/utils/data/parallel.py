"""The iterator of a loader with worker processes.

Batches are numbered tasks. Each worker gets its tasks through a pipe and answers through another
pipe of its own, so that a worker that dies takes no lock or half a message of the others along;
that a worker has died shows at once, as the end of its pipe. Workers are dealt tasks in turn, and
the answers are put back in order.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import time
import warnings
import weakref
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from retrograd.lifecycle.site import user_level
from retrograd.utils.data.handover import SHARES, receive, unpacked
from retrograd.utils.data.iteration import _BaseDataLoaderIter
from retrograd.utils.data.worker import (
    RESUME,
    STOP,
    Exhausted,
    Work,
    WorkerFailure,
    run_worker,
)

if TYPE_CHECKING:
    from retrograd.tensor import Tensor
    from retrograd.utils.data.dataloader import DataLoader

# How long the end of a loader waits for its workers before it ends them by force.
PATIENCE = 5.0


class _Worker:
    """A worker process, seen from the main process."""

    def __init__(self, context: Any, work: Work, worker_id: int, others: list[_Worker]) -> None:
        self.active = True  # has tasks to answer in this pass
        self.load = 0  # tasks whose batches are not yet with the user
        task_reader, self.tasks = context.Pipe(duplex=False)
        self.results, result_writer = context.Pipe(duplex=SHARES)  # a socket carries descriptors
        # A forked process has copies of our ends of the pipes. It has to close them: otherwise
        # the pipes of workers would outlive this process, and the workers wait for ever.
        inherited: list[Connection] = []
        if context.get_start_method() == "fork":
            for worker in [self, *others]:
                inherited += [worker.tasks, worker.results]
        self.process = context.Process(
            target=run_worker,
            args=(work, worker_id, task_reader, result_writer, inherited),
            daemon=True,
        )
        try:
            self.process.start()
        except BaseException:
            self.close()
            raise
        finally:
            # Only the worker holds these ends from here on: its death closes the pipes.
            task_reader.close()
            result_writer.close()

    def send(self, message: object) -> None:
        """Send a task or a word; a worker that is gone is noticed when its answers are read."""
        try:
            self.tasks.send(message)
        except OSError:
            pass

    def close(self) -> None:
        self.tasks.close()
        self.results.close()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: Any) -> None:
        self._crew: list[_Worker] = []
        # It holds the crew, so that a collection of garbage that has the iterator in it does not
        # finalize the pipes first: a pipe would then be closed twice, the second time under a
        # number that may have become somebody else's.
        self._end = weakref.finalize(self, _end_workers, self._crew, os.getpid())
        # At the end of the program `multiprocessing` itself ends the workers: they are daemons.
        self._end.atexit = False
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._most_tasks: int = loader.prefetch_factor * self._num_workers
        self._in_order: bool = loader.in_order
        self._persistent_workers: bool = loader.persistent_workers
        context = loader.multiprocessing_context or multiprocessing.get_context()
        work = Work(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            self._num_workers,
        )
        for worker_id in range(self._num_workers):
            try:
                self._crew.append(_Worker(context, work, worker_id, self._crew))
            except (TypeError, AttributeError, pickle.PicklingError):
                warnings.warn(
                    "Got pickle error when attempting to start a worker Process. "
                    "This might be because the worker Process arguments are not picklable. "
                    "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX "
                    "platforms to 'forkserver', which requires the worker Process arguments to be "
                    "picklable. You can also try multiprocessing.set_start_method('fork').",
                    stacklevel=user_level(),
                )
                raise
        self._reset(loader, first_iter=True)

    @property
    def _workers(self) -> list[object]:
        """The worker processes; programs look at them to see whether they are still alive."""
        return [worker.process for worker in self._crew]

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._sent = 0  # the number of the next task
        self._returned = 0  # the number of the next batch in order
        self._asked: dict[int, _Worker] = {}  # the tasks that are not answered yet
        self._answers: dict[int, tuple[_Worker, Any]] = {}  # answers before their turn
        self._received: deque[tuple[_Worker, Any, Any]] = deque()  # read, not looked at
        self._turns = itertools.cycle(self._crew)
        for worker in self._crew:
            worker.active = True
            worker.load = 0
        if not first_iter:
            self._resume()
        for _ in range(self._most_tasks):
            self._send_next_task()

    def _resume(self) -> None:
        """Start the workers' next pass; answers that were left over from the last one are lost."""
        for worker in self._crew:
            worker.send(RESUME)
        resumed = 0
        while resumed < self._num_workers:
            resumed += self._receive()[1] == RESUME

    def _send_next_task(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker = self._next_worker()
        if worker is None:
            return
        worker.send((self._sent, index))
        worker.load += 1
        self._asked[self._sent] = worker
        self._sent += 1

    def _next_worker(self) -> _Worker | None:
        """The worker whose turn it is; out of order, one that has not its share of tasks yet."""
        active = sum(worker.active for worker in self._crew)
        for worker in itertools.islice(self._turns, self._num_workers):
            if worker.active and (self._in_order or worker.load < self._most_tasks // active):
                return worker
        return None

    def _next_data(self) -> Any:
        while True:
            while self._returned < self._sent:
                if self._returned in self._answers:
                    worker, answer = self._answers.pop(self._returned)
                    self._returned += 1
                    return self._delivered(worker, answer)
                asked = self._asked.get(self._returned)
                if asked is not None and asked.active:
                    break
                # Its worker came to the end of its data, or the batch went out before its turn.
                self._asked.pop(self._returned, None)
                self._returned += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            worker, task, answer = self._receive()
            self._asked.pop(task, None)
            if isinstance(answer, Exhausted):
                worker.active = False
                if not self._persistent_workers:
                    worker.send(STOP)
                self._send_next_task()
            elif task == self._returned or not self._in_order:
                self._returned += task == self._returned
                return self._delivered(worker, answer)
            else:
                self._answers[task] = (worker, answer)

    def _delivered(self, worker: _Worker, answer: Tensor) -> Tensor:
        worker.load -= 1
        self._send_next_task()
        if isinstance(answer, WorkerFailure):
            answer.reraise()
        return answer

    def _receive(self) -> tuple[_Worker, Any, Any]:
        """The next answer of any worker: (worker, number of the task, answer)."""
        if not self._end.alive:
            raise AssertionError(
                "Invalid iterator state: shutdown or no outstanding tasks when fetching next data"
            )
        if not self._received:
            self._read_answers()
        return self._received.popleft()

    def _read_answers(self) -> None:
        talking: dict[Connection, _Worker] = {
            worker.results: worker for worker in self._crew if worker.active
        }
        ends = [worker.process.sentinel for worker in talking.values()]
        ready = wait([*talking, *ends], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        dead = []
        for results, worker in talking.items():
            # A pipe can have answers in it after the worker has gone: they come first.
            if results in ready or results.poll():
                try:
                    message = receive(results)
                except (EOFError, OSError):
                    dead.append(worker)
                else:
                    self._received.append((worker, *unpacked(*message)))
            elif worker.process.sentinel in ready:
                dead.append(worker)
        if dead and not self._received:
            raise self._death(dead)

    def _death(self, workers: list[_Worker]) -> RuntimeError:
        details = []
        for worker in workers:
            worker.active = False
            worker.process.join(PATIENCE)
            details.append(_last_words(worker.process))
        pids = ", ".join(str(worker.process.pid) for worker in workers)
        error = RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
        error.__cause__ = RuntimeError("\n".join(details))
        return error

    def _shutdown_workers(self) -> None:
        self._end()


def _end_workers(crew: list[_Worker], owner: int) -> None:
    """End the workers: with a word first, by force if they do not follow it in time."""
    # A process forked from this one has a copy of the iterator, but the workers are not its.
    if owner != os.getpid():
        return
    for worker in crew:
        worker.send(STOP)
        worker.close()
    deadline = time.monotonic() + PATIENCE
    try:
        for worker in crew:
            worker.process.join(max(0.0, deadline - time.monotonic()))
    finally:  # also when the wait is interrupted
        for worker in crew:
            if worker.process.is_alive():
                worker.process.terminate()
                worker.process.join(PATIENCE)


def _last_words(process: Any) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        import signal

        return f"DataLoader worker (pid {process.pid}) is killed by signal: " + (
            f"{signal.strsignal(-code)}. "
        )
    return (
        f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. "
        "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
        "error trace."
    )
