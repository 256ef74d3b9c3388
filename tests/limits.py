"""A limit for processes that a test talks to: reading from one that hangs would never end."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 600.0  # seconds: only what hangs takes so long


@contextmanager
def ended_within(process: subprocess.Popen[str], seconds: float = LIMIT) -> Iterator[None]:
    """Kill the process when the time is up, and when the block is left; reading from it ends."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        process.kill()
        process.wait(LIMIT)
