"""Runs one program in several processes that meet by env://, and gathers what each printed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forked
from tests.limits import LIMIT

ROOT = Path(__file__).parent.parent.parent

IMPORTED = ("retrograd", "retrograd.distributed")

START = """
import datetime, faulthandler, os, sys; faulthandler.enable()
import retrograd as torch
import retrograd.distributed as dist
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
"""


@dataclass
class Ended:
    """How a process ended."""

    status: int
    out: str
    err: str


def free_port() -> int:
    """A port at which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def environment(rank: int, size: int, port: int) -> dict[str, str]:
    """What a launcher tells a process."""
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    told["PYTHONFAULTHANDLER"] = 1  # one that hangs says where when it is ended
    return {**os.environ, "PYTHONPATH": str(ROOT), **{k: str(v) for k, v in told.items()}}


def begin(
    program: str, size: int, python: str = sys.executable, first: str = START
) -> list[subprocess.Popen[str]]:
    """Start a program in `size` processes."""
    port = free_port()
    return [
        subprocess.Popen(
            [python, "-c", first + program],
            env=environment(rank, size, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(size)
    ]


class Rank:
    """One forked process of several, with what is needed of `subprocess.Popen`."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        self._streams = [tempfile.TemporaryFile("w+") for _ in range(2)]
        out, err = self._streams
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        self._process = forked.start(["-c", program], environment, IMPORTED, **given)

    @property
    def returncode(self) -> int | None:
        return self._process.returncode  # type: ignore[no-any-return]

    def first_line(self, seconds: float = LIMIT) -> str:
        """What it prints first; nothing if it ends before."""
        until, ended = time.monotonic() + seconds, False
        while True:
            line = os.pread(self._streams[0].fileno(), 1 << 10, 0).decode().partition("\n")
            if line[1] or ended:
                return line[0]
            assert time.monotonic() < until, f"it has printed no line in {seconds} s"
            ended = self._process.poll() is not None

    def poll(self) -> int | None:
        return self._process.poll()  # type: ignore[no-any-return]

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait until it has ended; all that it has printed."""
        self._process.wait(timeout)
        printed = []
        for stream in self._streams:
            stream.seek(0)
            printed.append(stream.read())
            stream.close()
        return printed[0], printed[1]


def begin_forked(program: str, size: int) -> list[Rank]:
    """The same from a process that has the imports: these take longer than most programs."""
    port = free_port()
    return [Rank(START + program, environment(rank, size, port)) for rank in range(size)]


def finish(
    processes: Sequence[subprocess.Popen[str] | Rank], seconds: float = LIMIT
) -> list[Ended]:
    """Wait for all, at most so long: those that are left then are ended, and it is an error.

    They say where they are.
    """
    until, ended, late = time.monotonic() + seconds, [], []
    for number, process in enumerate(processes):
        try:
            out, err = process.communicate(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            out, err = _where(process)
            late.append(number)
        assert process.returncode is not None
        ended.append(Ended(process.returncode, out, err))
    assert not late, (late, ended)
    return ended


def _where(process: subprocess.Popen[str] | Rank) -> tuple[str, str]:
    """End a process that hangs; what it has said, and where its threads are."""
    process.send_signal(signal.SIGABRT)
    try:
        return process.communicate(timeout=LIMIT / 20)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate(timeout=LIMIT)


def together(program: str, size: int = 2, seconds: float = LIMIT) -> list[str]:
    """What each process printed; all must end well, and say nothing else."""
    ended = finish(begin_forked(program, size), seconds)
    assert [each.status for each in ended] == [0] * size, "\n".join(each.err for each in ended)
    assert [each.err for each in ended] == [""] * size
    return [each.out.rstrip("\n") for each in ended]


def start(command: list[str], **options: object) -> subprocess.Popen[str]:
    """Start a command with a session of its own, by which its processes are known."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


def ended(process: subprocess.Popen[str], seconds: float = LIMIT) -> Ended:
    """How a command of `start` ended; nothing that it started may be left."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate(timeout=LIMIT)
        raise AssertionError(f"not over after {seconds} s\n{out}\n{err}") from None
    assert left_over(process.pid) == []
    return Ended(process.returncode, out, err)


def left_over(session: int, seconds: float = 30.0) -> list[str]:
    """The processes of a session that do not end soon."""
    until = time.monotonic() + seconds
    while True:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    line = (folder / "stat").read_text()
                    state, _, _, of = line.rpartition(")")[2].split()[:4]
                    if int(of) == session and state != "Z":
                        found.append((folder / "cmdline").read_text().replace("\0", " "))
                except OSError:  # it ended meanwhile
                    continue
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)
