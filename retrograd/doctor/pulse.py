"""What is known so far, written down now and then while a program runs.

A program that is killed for its memory or its time tells nothing any more: this is its report then.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

FIRST = 3.0  # seconds after which it is written for the first time
SHARE = 0.02  # of the program's time that may be spent with it
PACE = 0.25  # it is written again when the program has run so much longer


class Pulse:
    """Called at every backward call, it calls `write` when it is time."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._started = time.perf_counter()
        self._due = self._started + FIRST

    def __call__(self) -> None:
        """Write if it is time; what goes wrong there concerns nobody."""
        now = time.perf_counter()
        if now < self._due:
            return
        with contextlib.suppress(Exception):
            self._write()
        cost = time.perf_counter() - now
        self._due = now + max(FIRST, PACE * (now - self._started), cost / SHARE)
