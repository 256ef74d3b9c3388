"""Results that come later: `Future`, within one process.

>>> import retrograd as torch
>>> later = torch.futures.Future()
>>> doubled = later.then(lambda found: found.value() * 2)
>>> later.set_result(21)
>>> doubled.wait()
42
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from retrograd.namespaces import from_table

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


class Future(Generic[_T]):
    """A result that is set once, and that others may wait for or add callbacks to."""

    def __init__(self, *, devices: object = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._result: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Future[_T]], object]] = []

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._done

    def wait(self) -> _T:
        """The result, when it is there; an error is raised."""
        with self._changed:
            while not self._done:
                self._changed.wait()
        if self._error is not None:
            raise self._error
        found: _T = self._result
        return found

    def value(self) -> _T:
        """The result of a future that is done; an error is raised."""
        if not self._done:
            raise RuntimeError("Future::value() called before the future was completed")
        return self.wait()

    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:
        """The result of a callback, which is called with this future when it is done."""
        found: Future[_S] = Future()

        def call(future: Future[_T]) -> None:
            try:
                found.set_result(callback(future))
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                failed = RuntimeError(f"Got the following error when running the callback: {text}")
                failed.__cause__ = error
                found.set_exception(failed)

        self.add_done_callback(call)
        return found

    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:
        """Call a function with this future when it is done, or now if it is."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: _T) -> None:
        """Set the result, once."""
        self._finish(result, None)

    def set_exception(self, result: object) -> None:
        """Set an error in place of the result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, result: object, error: Exception | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._result, self._error, self._done = result, error, True
            self._changed.notify_all()
        for callback in self._callbacks:
            try:
                callback(self)
            except Exception:  # who sets the result is not to blame, nor can the result wait
                traceback.print_exc()


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all are: its result is their list."""
    found: Future[list[Future[object]]] = Future()
    waiting = len(futures)
    lock = threading.Lock()

    def one_is_done(_: Future[Any]) -> None:
        nonlocal waiting
        with lock:
            waiting -= 1
            last = waiting == 0
        if last:
            found.set_result(futures)

    for future in futures:
        future.add_done_callback(one_is_done)
    if not futures:
        found.set_result(futures)
    return found


def wait_all(futures: list[Future[_T]]) -> list[_T]:
    """The results of all futures, when they are there; the first error is raised."""
    return [future.wait() for future in collect_all(futures).wait()]


from_table(__name__)
