"""The process beside the program: starts it, waits, passes signals on, and makes the report.

The program runs in a process of its own that it can end in any way; the report is made here, after
it has ended, where nothing that it has changed can be in the way.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from retrograd.doctor.result import Result, as_json, result_from, write_atomically

PROCESS = Path(__file__).with_name("process.py")

STARTING = 120.0  # seconds that a program may need to import torch
VERIFIED_BELOW = 20.0  # seconds of a program whose fixes are tried unasked

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


@dataclass
class Order:
    """What the command line asks for."""

    script: str | None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)
    engine: str | None = None
    second_pass: bool | None = None
    verify: bool | None = None
    apply: bool = False
    yes: bool = False
    max_seconds: float | None = None
    json: Path | None = None
    html: Path | None = None
    passthrough: bool = False


def examine(order: Order) -> int:
    """Run the program, report, and give the exit status of the command."""
    result = watch(order)
    if not result.started:
        return 2
    try_fixes(order, result)
    report(order, result)
    if order.apply:
        apply_fix(order, result)
    return status_of(order, result)


def status_of(order: Order, result: Result) -> int:
    """The exit status of the command."""
    if order.passthrough:
        return result.status
    if result.diagnoses:
        return 1
    if result.status in (130, 143) or result.status > 128:
        return result.status
    return 1 if result.error else 0


# ----------------------------------------------------------------------------- the program


def watch(order: Order) -> Result:
    """Run the program under the doctor in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="retrograd-") as folder:
        config, answer = Path(folder, "order.json"), Path(folder, "answer.json")
        asked = {
            "script": order.script,
            "module": order.module,
            "arguments": order.arguments,
            "engine": order.engine,
            "second_pass": order.second_pass,
            "answer": os.fspath(answer),
        }
        config.write_text(as_json(asked), encoding="utf-8")
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, os.fspath(PROCESS), os.fspath(config)]
        status, stopped = _wait(command, order.max_seconds, Path(folder, "begun"))
        result = _read(answer, order, status)
    if stopped and result.status == 130:
        result.status, result.error = 0, ""
        result.unseen.append(f"what comes after the first {order.max_seconds:g} seconds")
    return result


def _wait(command: list[str], seconds: float | None, begun: Path) -> tuple[int, bool]:
    """Start a process and wait for its end; its status, and whether its time was up.

    The time counts from when the program has torch: then there is a file `begun`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    stopped = False
    with _passing_signals_on() as passed:
        process = subprocess.Popen(command)
        passed.append(process)
        try:
            if seconds is not None:
                _wait_for(begun, process)
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            stopped = True
            process.send_signal(signal.SIGINT)
            status = process.wait()
    return status, stopped


def _wait_for(begun: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the file is there, or the process has ended, or nothing came for long."""
    until = time.monotonic() + STARTING
    while not begun.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


@contextmanager
def _passing_signals_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Signals to this process go to the program; Ctrl-C of a terminal reaches it by itself."""
    processes: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: object) -> None:
        for process in processes:
            if number != signal.SIGINT or not _terminal_signals():
                process.send_signal(number)

    names = [*_FORWARDED, "SIGINT"]
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {}
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` stays what it is
            before[number] = signal.signal(number, pass_on)
    try:
        yield processes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminal_signals() -> bool:
    """Whether Ctrl-C in a terminal goes to this process and thus to the program as well."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _read(answer: Path, order: Order, status: int) -> Result:
    """What the process has told, or what can be said if it could not."""
    own = status if status >= 0 else 128 - status
    try:
        result = result_from(json.loads(answer.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        script = os.path.abspath(order.script) if order.script else f"-m {order.module}"
        result = Result(script=script)
        result.unseen.append(f"the program: it ended {_how(status)} before anything could be seen")
    result.status = own
    return result


def _how(status: int) -> str:
    if status < 0:
        try:
            return f"by {signal.Signals(-status).name}"
        except ValueError:
            return f"by signal {-status}"
    return f"at once with status {status}"


# -------------------------------------------------------------------------------- the fixes


def try_fixes(order: Order, result: Result) -> None:
    """Write the proposed changes as diffs, and try them on a copy where that is harmless."""
    from retrograd.doctor import fixes

    try:
        fixes.propose_all(result.diagnoses)
        if order.verify is False or not result.diagnoses:
            return
        if order.verify is None and result.seconds > VERIFIED_BELOW and not order.apply:
            for diagnosis in result.diagnoses:
                for fix in diagnosis.fixes[:1]:
                    fix.verification = "not tried: the program takes long; --verify tries it"
            return
        if sys.stderr.isatty():  # it takes some seconds
            print("\nretrograd doctor: trying the fixes on a copy ...", file=sys.stderr)
        fixes.verify_all(result.diagnoses, fixes.Request.of(order, result))
    except Exception as error:  # the diagnosis stands without it
        result.unseen.append(f"the doctor failed here: fixes: {type(error).__name__}: {error}")


def apply_fix(order: Order, result: Result) -> None:
    """Write the best fix into the user's file, if it was proven by trying it."""
    from retrograd.doctor import fixes

    best = [fix for diagnosis in result.diagnoses for fix in diagnosis.fixes if fix.verified]
    if best:
        fixes.offer(best[0], yes=order.yes)
    elif result.diagnoses:
        print("retrograd doctor: not applied: no fix was proven by trying it", file=sys.stderr)


# ------------------------------------------------------------------------------- the report


def report(order: Order, result: Result) -> None:
    """The report on standard error, and in files if they were asked for."""
    from retrograd.doctor.report import html, json_form, terminal

    terminal.show(result, sys.stderr)
    if order.json is not None:
        _write(order.json, as_json(json_form.document(result)) + "\n")
    if order.html is not None:
        _write(order.html, html.page(result))


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        print(f"retrograd doctor: {path}: {error.strerror}", file=sys.stderr)
