"""Streams that run on threads, events, and one device."""

import threading
import traceback
from queue import Queue

_here = threading.local()


class Stream:
    def __init__(self, non_blocking=False):
        assert non_blocking
        self.ptr = id(self)
        _streams[self.ptr] = self
        self._queue = Queue()
        threading.Thread(target=self._go, daemon=True).start()

    def _go(self):
        while True:
            function = self._queue.get()
            try:
                function()
            except Exception:
                traceback.print_exc()
            finally:
                self._queue.task_done()

    def put(self, function):
        self._queue.put(function)

    def wait_event(self, event):
        assert isinstance(event, Event) and event.recorded

    @property
    def done(self):
        return self._queue.unfinished_tasks == 0

    def synchronize(self):
        self._queue.join()

    def __enter__(self):
        self._before, _here.stream = getattr(_here, "stream", None), self
        return self

    def __exit__(self, *error):
        _here.stream = self._before


_streams = {}


class _Null:
    def synchronize(self):
        pass


def current():
    return getattr(_here, "stream", None) or _Null()


def of(ptr):
    """The stream that has this number."""
    return _streams[ptr]


class Event:
    recorded = False

    def __init__(self, disable_timing=False):
        assert disable_timing

    def record(self, stream=None):
        self.recorded = True


class Device:
    id = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __eq__(self, other):
        return isinstance(other, Device)
