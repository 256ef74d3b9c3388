"""The processes of one machine: started together, and ended together when one fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue

from retrograd.distributed.launcher.failures import ProcessFailure
from retrograd.distributed.launcher.options import Plan
from retrograd.distributed.launcher.streams import Streams
from retrograd.distributed.processes import process_state, with_parent

_SETTLE = 3.0  # seconds


class Workers:
    """The processes of one attempt."""

    def __init__(self, plan: Plan, folder: Path, variables: Callable[[int], Mapping[str, str]]):
        self._plan = plan
        self._folder = folder
        self._ended: SimpleQueue[tuple[int, int, float]] = SimpleQueue()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._streams: list[Streams] = []
        self.failures: dict[int, ProcessFailure] = {}  # by local rank
        self._left = set(range(plan.processes))
        for local in range(plan.processes):
            self._start(local, variables(local))

    def _start(self, local: int, variables: Mapping[str, str]) -> None:
        plan, folder = self._plan, self._folder / str(local)
        needs = plan.redirects.get(local, 0) | plan.tees.get(local, 0)
        streams = Streams(
            folder if needs else None,
            _prefix(plan, variables),
            plan.redirects.get(local, 0),
            plan.tees.get(local, 0),
            plan.shown is None or local in plan.shown,
        )
        environment = {
            **os.environ,
            **variables,
            "TORCHELASTIC_ERROR_FILE": self._error_file(local),
        }
        program = list(plan.program)
        if plan.rank_at is not None:
            program.insert(plan.rank_at, f"--local-rank={local}")
        process = subprocess.Popen(
            program,
            env=environment,
            stdout=streams.out,
            stderr=streams.err,
            preexec_fn=with_parent(),
        )
        streams.started()
        self._streams.append(streams)
        self._processes[local] = process
        threading.Thread(target=self._wait, args=(local, process), daemon=True).start()

    def _error_file(self, local: int) -> str:
        return str(self._folder / str(local) / "error.json")

    def _wait(self, local: int, process: subprocess.Popen[bytes]) -> None:
        # A thread for each knows the order in which they ended, which is who failed first.
        status = process.wait()
        self._ended.put((local, status, time.time()))

    def wait(self, seconds: float) -> bool:
        """Wait for the end of a process; whether any is left that may still end well."""
        with contextlib.suppress(Empty):
            self._note(*self._ended.get(timeout=seconds))
            while True:
                self._note(*self._ended.get_nowait())
        return bool(self._left) and not self.failures

    def _note(self, local: int, status: int, at: float) -> None:
        self._left.discard(local)
        if status:
            process = self._processes[local].pid
            self.failures[local] = ProcessFailure(
                local, process, status, self._error_file(local), at
            )

    def settle(self) -> None:
        """Where exchanges failed because another process ends: let that one end by itself."""
        until = time.monotonic() + _SETTLE
        while self._left and all(each.consequence for each in self.failures.values()):
            if time.monotonic() > until:
                return
            self.wait(0.1)

    def pass_on(self, number: int) -> None:
        """Give a signal to all that are left."""
        for local in tuple(self._left):
            self._send(local, number)

    def _send(self, local: int, number: int) -> None:
        process = self._processes[local]
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
                if process_state(process.pid) == "T":
                    process.send_signal(signal.SIGCONT)  # a stopped one would not notice

    def end(self, number: int = signal.SIGTERM) -> None:
        """End all that are left: by a signal, and by SIGKILL those that take too long."""
        self.pass_on(number)
        until = time.monotonic() + self._plan.shutdown
        while self._left and time.monotonic() < until:
            self.wait(min(1.0, max(0.0, until - time.monotonic())))
        for local in tuple(self._left):
            with contextlib.suppress(ProcessLookupError):
                self._processes[local].kill()
        while self._left:
            self.wait(1.0)
        for streams in self._streams:
            streams.end()


def _prefix(plan: Plan, variables: Mapping[str, str]) -> str:
    template = os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[${role_name}${rank}]:")
    for name, value in (
        ("role_name", plan.role),
        ("rank", variables["RANK"]),
        ("local_rank", variables["LOCAL_RANK"]),
    ):
        template = template.replace("${" + name + "}", value)
    return template
