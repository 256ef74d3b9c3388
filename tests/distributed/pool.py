"""Processes of one library that do the same exchanges, one after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.distributed.together import environment, free_port
from tests.limits import LIMIT

WORKER = Path(__file__).with_name("worker.py")


class Pool:
    """Processes that have joined, and wait for what to do."""

    def __init__(self, library: str, size: int) -> None:
        port = free_port()
        self._processes = [
            subprocess.Popen(
                [sys.executable, str(WORKER), library],
                env=environment(rank, size, port),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(size)
        ]
        self.answers("")

    def ask(self, case: dict[str, Any]) -> list[Any]:
        """What each process has after an exchange."""
        return [json.loads(line) for line in self.answers(json.dumps(case) + "\n")]

    def answers(self, line: str) -> list[str]:
        """A line to each process, and one from each; all are killed if that lasts too long."""
        guard = threading.Timer(LIMIT, self._kill)
        guard.start()
        try:
            for process in self._processes:
                assert process.stdin is not None
                process.stdin.write(line)
                process.stdin.flush()
            found = [process.stdout.readline() for process in self._processes if process.stdout]
        finally:
            guard.cancel()
        assert all(found), f"a process ended, or was killed after {LIMIT} s: {line}"
        return found

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()

    def close(self) -> None:
        """End all; each must end well."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        try:
            status = [process.wait(LIMIT) for process in self._processes]
        finally:
            self._kill()
            for process in self._processes:
                process.wait()
                assert process.stdout is not None
                process.stdout.close()
        assert status == [0] * len(status)
