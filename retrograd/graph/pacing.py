"""Which steps of a long run are recorded, so that recording does not multiply its time.

Short programs are recorded whole. Once some steps are recorded and took `FREE` seconds, one more
is recorded when the time that recording has cost is no more than that of the program: a long
run takes about twice its time at most, however small its operations are.
"""

from __future__ import annotations

import time
from collections import deque

FREE = 1.0  # seconds of processor time that recorded steps may take before any is passed over
MEASURED = 5  # steps in a row that are passed over to learn what one takes


class Pace:
    """Measures steps with and without recording, and says which come next."""

    def __init__(self, steps: int, free: float = FREE) -> None:
        self.steps = steps  # the first ones, which are recorded in any case
        self.free = free
        self._taken = 0.0  # by recorded steps
        self._cost = 0.0  # of recording, since steps are passed over
        self._program = 0.0  # seconds of the program itself since then
        self._plain: deque[float] = deque(maxlen=4 * MEASURED)  # of steps that were passed over
        self._last = time.thread_time()

    def turn(self, recorded: bool) -> bool:
        """A step has ended; whether the next one is recorded."""
        now = time.thread_time()
        took, self._last = now - self._last, now
        if recorded:
            self._taken += took
            self.steps -= 1
            if self.steps > 0 or self._taken < self.free:
                return True
        else:
            self._plain.append(took)
        if not self._plain:
            return False
        plain = min(self._plain)  # the first one after a change is slower: Python's caches are cold
        self._program += plain
        self._cost += max(took - plain, 0.0)
        return len(self._plain) >= MEASURED and self._cost <= self._program

    def changed(self) -> None:
        """Recording was switched on or off, which has taken time as well."""
        now = time.thread_time()
        self._cost += now - self._last
        self._last = now
