"""The process of a program that is watched: started, waited for, signals passed on to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STARTING = 120.0  # seconds that a program may need to import torch
PATIENCE = 30.0  # seconds in which a program ends that was told to

_INTERRUPTED = signal.SIGINT
_OUT_OF_TIME = getattr(signal, "SIGXCPU", signal.SIGINT)  # where interrupts are ignored

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def command_of(module: str, config: Path) -> list[str]:
    """The command of a process in which `module.main(config)` runs, as this Python was started."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    process = Path(__file__).with_name("process.py")
    return [sys.executable, *flags, os.fspath(process), module, os.fspath(config)]


def wait(command: list[str], seconds: float | None, begun: Path) -> tuple[int, bool]:
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
            status = _stop(process, begun.with_name(ENDED))
    return status, stopped


ENDED = "ended"  # a file that is there when the program has ended, and only the report is made


def _interrupts_are_ignored() -> bool:
    """A shell starts programs so that it puts in the background; those they start inherit it."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def obey_the_clock() -> None:
    """In the program's process: end by KeyboardInterrupt when time is up, whoever ignores SIGINT.

    Interrupts stay ignored: another signal says that the time is up.
    """
    if _interrupts_are_ignored() and _OUT_OF_TIME != _INTERRUPTED:
        signal.signal(_OUT_OF_TIME, signal.default_int_handler)


def _stop(process: subprocess.Popen[bytes], ended: Path) -> int:
    """Interrupt a process; one that goes on with its program is ended by force."""
    process.send_signal(_OUT_OF_TIME if _interrupts_are_ignored() else _INTERRUPTED)
    for force in (process.terminate, process.kill):
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not ended.exists() and time.monotonic() < until:
            time.sleep(0.02)
        if process.poll() is None and not ended.exists():
            force()
    return process.wait()


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


def how_it_ended(status: int) -> str:
    """In words, for a process that told nothing."""
    if status < 0:
        try:
            return f"by {signal.Signals(-status).name}"
        except ValueError:
            return f"by signal {-status}"
    return f"with status {status}"
