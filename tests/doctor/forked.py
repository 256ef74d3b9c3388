"""The doctor as users run it, hundreds of times: its processes are forks of one that has torch.

`retrograd doctor` starts a process for the program, one for each question of the second pass and
one for each trial of a fix; each would import torch for seconds. Here they are forked from a
process that has imported it (`--plain` of the commands that use this starts real ones instead).
Everything else is as on the command line.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
# no line of this file may look like the program's own: the doctor would see its loops
_STARTER = """
import sys
file = sys.argv[1]
space = {"__name__": "forks", "__file__": file}
exec(compile(open(file).read(), "<retrograd forks>", "exec"), space)
space["serve"]()
"""
_DOCTORS = ("retrograd.doctor", "second_pass")  # how its own commands are known

_IMPORTED = (
    *("torch", "torch.distributions", "torch.func", "torch.utils.checkpoint", "torch.utils.data"),
    *("retrograd.cli", "retrograd.commands.doctor", "retrograd.doctor.supervisor"),
    *("retrograd.doctor.watched_process", "retrograd.doctor.fixes.trial"),
    *("retrograd.doctor.fixes.verify", "retrograd.doctor.second_pass.__main__"),
    *("retrograd.doctor.report.terminal", "retrograd.doctor.report.html"),
)

RealPopen = subprocess.Popen
leave = os._exit


class Forked:
    """What the doctor needs of `subprocess.Popen`, for a fork of the process with torch."""

    address = ""

    def __init__(self, args: Sequence[str], **options: Any) -> None:
        self.args = args
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(self.address)
        streams, opened = _streams(options)
        asked = {
            "arguments": list(args[1:]),
            "folder": os.fspath(options.get("cwd") or os.getcwd()),
        }
        socket.send_fds(self._line, [json.dumps(asked).encode() + b"\n"], streams)
        for descriptor in opened:
            os.close(descriptor)
        self._answers = self._line.makefile()
        self.pid = int(self._answers.readline())

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, as `Popen.wait` gives it."""
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                answer = self._line.recv(100)
            except TimeoutError:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0) from None
            self.returncode = int(answer or b"-9")
            self._answers.close()
            self._line.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit status if it has ended."""
        try:
            return self.wait(0.001)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, input: None = None, timeout: float | None = None) -> tuple[None, None]:
        """Wait: what it prints goes where it was told to."""
        self.wait(timeout)
        return None, None

    def send_signal(self, number: int) -> None:
        """As the real one does."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()


def _streams(options: dict[str, Any]) -> tuple[list[int], list[int]]:
    """The descriptors for the new process, and those of them that were opened for it."""
    found, opened = [], []
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = options.get(name)
        if stream == subprocess.DEVNULL:
            stream = os.open(os.devnull, os.O_RDWR)
            opened.append(stream)
        elif stream is None:
            stream = number
        found.append(stream if isinstance(stream, int) else stream.fileno())
    return found, opened


def popen(args: Any, *rest: Any, **options: Any) -> Any:
    """`subprocess.Popen` in the doctor's processes: its own commands are forked."""
    own = isinstance(args, list) and args[0] == sys.executable
    if own and any(mark in part for part in args for mark in _DOCTORS):
        return Forked(args, **options)
    return RealPopen(args, *rest, **options)


# ------------------------------------------------------------------ the process that has torch


def serve() -> None:
    """Answer requests at the address in the last argument, as long as the process that asks is."""
    parent = os.getppid()
    for name in _IMPORTED:
        importlib.import_module(name)
    torch = sys.modules["torch"]
    torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports hundreds of modules
    gc.collect()
    gc.freeze()  # the libraries' objects are no program's: looking through them takes the most time
    address = sys.argv[-1]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen(64)
        door.settimeout(5.0)
        while os.getppid() == parent:
            try:
                line, _ = door.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                door.close()
                line.settimeout(None)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                Forked.address = address
                _answer(line)
            line.close()


def _answer(line: socket.socket) -> None:
    """Fork the process that is asked for, and say how it ended."""
    message, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
    while not message.endswith(b"\n"):
        message += line.recv(1 << 20)
    asked = json.loads(message)
    child = os.fork()
    if child == 0:
        line.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _run(asked["arguments"], asked["folder"])
    for stream in streams:
        os.close(stream)
    line.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    try:
        line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    except BrokenPipeError:
        pass
    leave(0)


def _run(arguments: list[str], folder: str) -> None:
    """What `python ARGUMENTS` does, from here to the end of the process."""
    os.chdir(folder)
    sys.stdin = open(0, closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), line_buffering=True)
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), line_buffering=True)
    subprocess.Popen = popen  # type: ignore[assignment, misc]
    status = 0
    try:
        _run_main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    leave(status)


def _run_main(arguments: list[str]) -> None:
    while arguments[0][:1] == "-" and arguments[0] not in ("-c", "-m"):
        arguments = arguments[1:]  # flags of the interpreter, which this one has
    head, *rest = arguments
    main = sys.modules["__main__"] = ModuleType("__main__")
    if head == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        exec(rest[0], main.__dict__)
    elif head == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = arguments, os.path.dirname(os.path.abspath(head))
        main.__file__ = head
        exec(compile(Path(head).read_bytes(), head, "exec"), main.__dict__)


# ------------------------------------------------------------------------------- the client


class Machine:
    """Starts Python processes: forks (`plain=False`), or new ones as a shell does."""

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        self._folder = tempfile.TemporaryDirectory(prefix="retrograd-forks-")
        self._address = os.path.join(self._folder.name, "door")
        self._environment = {
            **os.environ,
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.fspath(ROOT),
        }
        if not plain:
            self._start()

    def _start(self) -> None:
        self._server = RealPopen(
            [sys.executable, "-c", _STARTER, __file__, self._address],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env=self._environment,
        )
        until = time.monotonic() + 120
        while not os.path.exists(self._address):
            if self._server.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the process that forks did not start")
            time.sleep(0.05)
        Forked.address = self._address

    def python(self, arguments: list[str], folder: Path, seconds: float) -> tuple[int, str]:
        """Run `python ARGUMENTS` there: its status and all it printed; -9 if it takes too long."""
        kind: Any = RealPopen if self.plain else Forked
        with tempfile.TemporaryFile() as printed:
            options = {"stdin": subprocess.DEVNULL, "stdout": printed, "stderr": printed}
            if self.plain:
                options["env"] = self._environment
            process = kind([sys.executable, *arguments], cwd=folder, **options)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = -9
            printed.seek(0)
            return status, printed.read().decode(errors="replace")

    def doctor(
        self, script: Path, arguments: Sequence[str] = (), seconds: float = 600.0
    ) -> dict[str, Any]:
        """The report that `retrograd doctor --json` writes about a program."""
        with tempfile.TemporaryDirectory(prefix="retrograd-report-") as folder:
            out = Path(folder, "report.json")
            asked = ["-m", "retrograd", "doctor", "--json", os.fspath(out), os.fspath(script)]
            status, printed = self.python([*asked, *arguments], script.parent, seconds)
            if not out.exists():
                return {"status": "died", "diagnoses": [], "printed": printed, "exit": status}
            report: dict[str, Any] = json.loads(out.read_text())
            return report

    def close(self) -> None:
        """End the process that forks."""
        if not self.plain:
            self._server.terminate()
            self._server.wait()
        self._folder.cleanup()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
