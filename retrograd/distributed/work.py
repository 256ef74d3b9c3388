"""Exchanges under way: one after the other on a thread, and what waits for them.

A program goes on while an exchange runs (`async_op=True`, the buckets of a backward), and Ctrl-C
reaches it while it waits, because the exchange runs on a thread of its own.
"""

from __future__ import annotations

import threading
import time
from _thread import allocate_lock
from collections.abc import Callable
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

from retrograd.distributed import lookout
from retrograd.distributed.calls import Begun
from retrograd.futures import Future
from retrograd.tensor import Tensor

__all__ = ["Work"]


_TELLING = threading.Lock()  # between the end of an exchange and who asks for its future


class Work:
    """An exchange that was begun: with ``async_op=True`` a program gets it to wait for."""

    def __init__(self, run: Callable[[], None], begun: Begun, result: Any = None) -> None:
        self._run = run
        self._begun = begun
        self._result = result
        self._error: BaseException | None = None
        self._over = False
        self._lock = allocate_lock()  # held until it is over: cheaper than an event
        self._lock.acquire()
        self._future: Future[Any] | None = None
        self._source = -1

    def _perform(self) -> None:
        group = self._begun.group
        if group.failure is not None:
            self._end(group.failure)
            return
        try:
            self._run()
        except BaseException as error:
            self._end(group.failed(self._begun, error))
        else:
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        self._error = error
        self._begun.over = True
        self._run = _nothing  # lets the tensors go that it holds
        with _TELLING:
            self._over = True
            future = self._future
        self._lock.release()
        if future is not None:
            self._tell(future)

    def _tell(self, future: Future[Any]) -> None:
        if isinstance(self._error, Exception):
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is over; an error of it is raised here."""
        if not self._over:
            self._wait(None if timeout is None else timeout.total_seconds())
        if self._error is not None:
            # Each call raises its own: a traceback grows where one error is raised twice.
            raise again(self._error)
        return True

    def _wait(self, limit: float | None) -> None:
        """Wait until it is over; after a while, and again after longer ones, ask the others why."""
        begun, patience = time.monotonic(), lookout.PATIENCE
        while True:
            seconds = patience if limit is None else begun + limit - time.monotonic()
            if self._lock.acquire(timeout=max(0.0, min(seconds, patience))):
                self._lock.release()
                return
            if limit is not None and time.monotonic() - begun >= limit:
                raise RuntimeError(
                    f"Operation timed out! It has run for {limit:g} seconds: {self._begun.detail}"
                )
            group = self._begun.group
            group.wonder(self._begun)
            if group.failure is not None and not self._over:
                raise again(group.failure)  # the engine may wait until its timeout
            patience *= 2

    def synchronize(self) -> None:
        """Wait until the result may be used."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is over."""
        return self._over

    def is_success(self) -> bool:
        """Whether it is over and went well."""
        return self._over and self._error is None

    def exception(self) -> BaseException | None:
        """The error with which it ended, if one did."""
        return self._error

    def result(self) -> list[Tensor]:
        """The tensors that were exchanged."""
        found: list[Tensor] = self._result
        return found

    def source_rank(self) -> int:
        """The process from which a tensor was received."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future[Any]:
        """A future with the tensors that were exchanged."""
        with _TELLING:
            if self._future is not None:
                return self._future
            found = self._future = Future[Any]()
            over = self._over
        if over:
            self._tell(found)
        return found


def _nothing() -> None:
    pass


def again(error: BaseException) -> BaseException:
    """An error once more: raised twice, one would show the places of both."""
    try:
        made = type(error)(*error.args)
    except Exception:
        return error
    made.__cause__ = error.__cause__
    made._of_exchange = True  # type: ignore[attr-defined]  # told to the launcher
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


class Lane:
    """A thread that runs exchanges in the order in which they came.

    It begins with the first, and ends when none has come for `idle` seconds.
    """

    def __init__(self, name: str, idle: float | None = None) -> None:
        self._name = name
        self._idle = idle
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def add(self, work: Work) -> Work:
        """Run an exchange when those before it are over."""
        with self._lock:
            self._queue.put(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go, name=self._name, daemon=True)
                self._thread.start()
        return work

    def _go(self) -> None:
        while True:
            try:
                work = self._queue.get(timeout=self._idle)
            except Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            if work is None:
                return
            work._perform()
            del work  # not held until the next one comes

    def end(self, seconds: float) -> bool:
        """End after the last exchange; whether that was within so many seconds."""
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        self._queue.put(None)
        thread.join(seconds)
        return not thread.is_alive()
