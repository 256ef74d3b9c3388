"""How long this process was ready to run while the machine ran others."""

from __future__ import annotations

from pathlib import Path

_SCHEDULE = Path("/proc/self/schedstat")


def waited() -> float:
    """Seconds that the main thread has waited for a processor so far; 0 where no system tells."""
    try:
        return int(_SCHEDULE.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
