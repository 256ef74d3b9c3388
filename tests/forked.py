"""Python programs as users start them, hundreds of times: forks of a process that has the imports.

A program under test is mostly the start of an interpreter and its imports, and `retrograd doctor`
starts a process for the program, one for each question of the second pass and one for each trial of
a fix. Here they are forked from a process that has imported the library: `python` for the tests of
programs, `Machine` for the doctor's corpora, whose processes have torch too (`--plain` of the
commands that use it starts real ones instead). Everything else is as on the command line. What is
tested about the start itself is started with `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
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
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]
# no line of this file may look like the program's own: the doctor would see its loops
_STARTER = """
import sys
file = sys.argv[1]
space = {"__name__": "forks", "__file__": file}
exec(compile(open(file).read(), "<retrograd forks>", "exec"), space)
space["serve"]()
"""
_OWN = ("retrograd.doctor", "second_pass", "watching/process.py")  # how commands are known

WITH_RETROGRAD = ("retrograd", "retrograd.nn", "retrograd.optim", "retrograd.cli")
WITH_DOCTOR = (
    *("retrograd.cli", "retrograd.commands.doctor", "retrograd.doctor.supervisor"),
    *("retrograd.doctor.watched_process", "retrograd.doctor.fixes.trial"),
    *("retrograd.doctor.fixes.verify", "retrograd.doctor.second_pass.__main__"),
    *("retrograd.doctor.report.terminal", "retrograd.doctor.report.html"),
)
WITH_TORCH = (
    *("torch", "torch.distributions", "torch.func", "torch.utils.checkpoint", "torch.utils.data"),
    *WITH_DOCTOR,
)

RealPopen = subprocess.Popen
real_execve = os.execve
leave = os._exit


class Forked:
    """What is needed of `subprocess.Popen`, for a fork of the process that has the imports."""

    home = ""  # in a forked process: the address of the one that it came from

    def __init__(self, args: Sequence[str], address: str = "", **options: Any) -> None:
        self.args = args
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(address or self.home)
        streams, opened = _streams(options)
        asked = {
            "arguments": list(args[1:]),
            "folder": os.fspath(options.get("cwd") or os.getcwd()),
            "environment": dict(options.get("env") or os.environ),
        }
        socket.send_fds(self._line, [json.dumps(asked).encode() + b"\n"], streams)
        for descriptor in opened:
            os.close(descriptor)
        self.pid = int(self._first_line())

    def _first_line(self) -> bytes:
        """The number of the process, and no byte more: its end may be in the same packet."""
        said = b""
        while not said.endswith(b"\n"):
            byte = self._line.recv(1)
            if not byte:
                raise RuntimeError("the process that forks has ended")
            said += byte
        return said

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, as `Popen.wait` gives it."""
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                answer = self._line.recv(100)
            except TimeoutError:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0) from None
            self.returncode = int(answer or b"-9")
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

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

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
    if own and any(mark in part for part in args for mark in _OWN):
        return Forked(args, **options)
    return RealPopen(args, *rest, **options)


# ------------------------------------------------------------- the process that has the imports


def serve() -> None:
    """Answer requests at the address given, as long as the process that asks is there."""
    parent = os.getppid()
    address, *names = sys.argv[2:]
    for name in names:
        importlib.import_module(name)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports hundreds of modules
    gc.collect()
    gc.freeze()  # the libraries' objects are no program's: looking through them takes the most time
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(f"{address}-made")
        door.listen(64)
        os.rename(f"{address}-made", address)  # who finds it there can enter
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
                Forked.home = address
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
        _run(asked["arguments"], asked["folder"], asked["environment"])
    for stream in streams:
        os.close(stream)
    line.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    try:
        line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    except BrokenPipeError:
        pass
    leave(0)


def _become(executable: str, command: list[str], environment: dict[str, str]) -> None:
    """`os.execve` of a Python: this process has what it would import."""
    if executable != sys.executable:
        real_execve(executable, command, environment)
    _run(command[1:], os.getcwd(), environment)


def _run(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """What `python ARGUMENTS` does, from here to the end of the process."""
    os.chdir(folder)
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(environment)
    first = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[1:] = [*first, *(path for path in sys.path[1:] if path not in given)]
    os.execve = _become  # type: ignore[assignment]
    sys.stdin = open(0, closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), line_buffering=True)
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), line_buffering=True)
    subprocess.Popen = popen  # type: ignore[assignment, misc]
    status = 0
    interrupted = False
    try:
        _run_main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        error.__traceback__ = _of_the_program(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        status, interrupted = 1, isinstance(error, KeyboardInterrupt)
    if interrupted:  # Python ends by the signal that it got
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(status)  # out of the forked process: its end is Python's


def _of_the_program(places: TracebackType | None) -> TracebackType | None:
    """A traceback from where the program begins."""
    begins = places
    while places is not None:
        if places.tb_frame.f_code.co_filename == _of_the_program.__code__.co_filename:
            begins = places.tb_next
        places = places.tb_next
    return begins


def _run_main(arguments: list[str]) -> None:
    while arguments[0][:1] == "-" and arguments[0] not in ("-c", "-m"):
        if arguments[0] == "-W":
            warnings._processoptions([arguments.pop(1)])  # type: ignore[attr-defined]
        arguments = arguments[1:]  # other flags of the interpreter are those of this one
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
        main.__file__ = os.path.abspath(head)
        exec(compile(Path(head).read_bytes(), main.__file__, "exec"), main.__dict__)


# ------------------------------------------------------------------------------- the client


@functools.cache
def _shared(switches: frozenset[tuple[str, str]], imported: tuple[str, ...]) -> Machine:
    """The machine of the tests of one process; some switches are read while it imports."""
    others = {name: os.environ[name] for name in os.environ if not name.startswith("RETROGRAD_")}
    machine = Machine(not hasattr(os, "fork"), imported, {**others, **dict(switches)})
    atexit.register(machine.close)
    return machine


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    imported: tuple[str, ...] = WITH_RETROGRAD,
    **options: Any,
) -> Any:
    """Start `python ARGUMENTS` as `subprocess.Popen` would, in a process that has the imports."""
    switches = frozenset(pair for pair in environment.items() if pair[0].startswith("RETROGRAD_"))
    return _shared(switches, imported).start(arguments, env=environment, **options)


def python(
    arguments: Sequence[str],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    seconds: float = 900.0,  # for what hangs
    imported: tuple[str, ...] = WITH_RETROGRAD,
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` as `subprocess.run` would, in a process that has retrograd already."""
    environment = os.environ if environment is None else environment
    with contextlib.ExitStack() as files:
        streams = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        streams[0].write(given)
        streams[0].seek(0)
        options = dict(zip(("stdin", "stdout", "stderr"), streams, strict=True))
        process = start(arguments, environment, imported, cwd=folder, **options)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        printed = []
        for stream in streams[1:]:
            stream.seek(0)
            printed.append(stream.read())
    return subprocess.CompletedProcess([sys.executable, *arguments], status, *printed)


class Machine:
    """Starts Python processes: forks (`plain=False`), or new ones as a shell does."""

    def __init__(
        self,
        plain: bool = False,
        imported: Sequence[str] = WITH_TORCH,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.plain = plain
        self._imported = imported
        self._folder = tempfile.TemporaryDirectory(prefix="retrograd-forks-")
        self._address = os.path.join(self._folder.name, "door")
        self._environment = {
            **environment,
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.fspath(ROOT),
        }
        if not plain:
            self._start()

    def _start(self) -> None:
        self._server = RealPopen(
            [sys.executable, "-c", _STARTER, __file__, self._address, *self._imported],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env=self._environment,
        )
        until = time.monotonic() + 120
        while not os.path.exists(self._address):
            if self._server.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the process that forks did not start")
            time.sleep(0.05)

    def start(self, arguments: Sequence[str], **options: Any) -> Any:
        """`python ARGUMENTS`, as `subprocess.Popen` starts it."""
        command = [sys.executable, *arguments]
        if self.plain:
            return RealPopen(command, **options)
        return Forked(command, self._address, **options)

    def python(self, arguments: list[str], folder: Path, seconds: float) -> tuple[int, str]:
        """Run `python ARGUMENTS` there: its status and all it printed; -9 if it takes too long."""
        with tempfile.TemporaryFile() as printed:
            options = {"stdin": subprocess.DEVNULL, "stdout": printed, "stderr": printed}
            process = self.start(arguments, cwd=folder, env=self._environment, **options)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = -9
            printed.seek(0)
            return status, printed.read().decode(errors="replace")

    def doctor(
        self,
        script: Path,
        arguments: Sequence[str] = (),
        seconds: float = 600.0,
        options: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The report that `retrograd doctor --json` writes about a program."""
        with tempfile.TemporaryDirectory(prefix="retrograd-report-") as folder:
            out = Path(folder, "report.json")
            asked = ["-m", "retrograd", "doctor", *options, "--json", os.fspath(out)]
            asked.append(os.fspath(script))
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
