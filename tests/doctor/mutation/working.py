"""Long work in several threads: progress, and notes from which it goes on after a break."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")
_writing = threading.Lock()


@dataclass
class Notes:
    """What is known already: verdicts, reports, healthy programs; kept in a file."""

    path: Path | None
    real: dict[str, list[Any]] = field(default_factory=dict)
    mutants: dict[str, dict[str, Any]] = field(default_factory=dict)
    healthy: dict[str, dict[str, Any]] = field(default_factory=dict)
    _unsaved: int = 0

    def load(self) -> None:
        """Go on where an earlier run ended."""
        if self.path is not None and self.path.exists():
            known = json.loads(self.path.read_text())
            self.real, self.mutants = known["real"], known["mutants"]
            self.healthy = known["healthy"]

    def save(self, now: bool = False) -> None:
        """Write everything down, every tenth time unless it must be now."""
        self._unsaved += 1
        if self.path is not None and (now or self._unsaved % 10 == 0):
            with _writing:  # copies: other threads go on adding
                known = {
                    "mutants": dict(self.mutants),
                    "healthy": dict(self.healthy),
                    "real": dict(self.real),
                }
                self.path.write_text(json.dumps(known, indent=1))


def together(
    work: Callable[[Item], Answer], items: list[Item], jobs: int, title: str
) -> list[Answer]:
    """Work on several at a time; the answers in order, the progress on standard error."""
    done = 0

    def one(item: Item) -> Answer:
        nonlocal done
        answer = work(item)
        done += 1
        print(f"\r{title} {done}/{len(items)}\033[K", end="", file=sys.stderr, flush=True)
        return answer

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(one, items))
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    return found
