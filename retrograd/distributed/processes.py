"""What the system knows of other processes, and how they end with this one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl


def with_parent(number: int = signal.SIGTERM) -> Callable[[], None] | None:
    """What a new process does first, so that it gets a signal when this one ends; on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def first() -> None:
        prctl(_WITH_PARENT, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before this line
            os._exit(1)

    return first


def process_state(process: int) -> str | None:
    """The letter by which Linux tells a process's state, "?" where it is not told; None: ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        if os.path.isdir("/proc/self"):
            return None
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return None
        except OSError:
            pass
        return "?"
    return None if state in ("Z", "X") else state
