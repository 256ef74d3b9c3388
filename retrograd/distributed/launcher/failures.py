"""How processes of a launcher ended, and what is said of it.

A process that ends by an error writes it to the file that the launcher named; `record` does so for
the function it marks, and the end of a process in a group does so, too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_FILE = "TORCHELASTIC_ERROR_FILE"
_HOW_TO_KNOW = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def record(fn: Callable[_P, _R], error_handler: object | None = None) -> Callable[_P, _R | None]:
    """Mark the main function of a program: its error is in the launcher's last words.

    >>> @torch.distributed.elastic.multiprocessing.errors.record
    ... def main():
    ...     return 1
    >>> main()
    1
    """

    @functools.wraps(fn)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code not in (None, 0):
                write_error(error)
            raise
        except Exception as error:
            write_error(error)
            raise

    return wrapper


def write_error(error: BaseException) -> None:
    """Write an error for the launcher, if there is one, unless there is an earlier one."""
    path = os.environ.get(_FILE)
    if not path or os.path.exists(path):
        return
    told = {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {
            "py_callstack": "".join(traceback.format_exception(error)),
            "timestamp": str(int(time.time())),
        },
        # an exchange that failed because another process did
        "consequence": getattr(error, "_of_exchange", False),
    }
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = f"{path}.{os.getpid()}"
        with open(part, "w", encoding="utf-8") as file:
            json.dump({"message": told}, file)
        os.replace(part, path)


@dataclass
class ProcessFailure:
    """How one process failed."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    at: float = 0.0  # when, in seconds since 1970

    def __post_init__(self) -> None:
        self.timestamp = int(self.at)
        self.message = _HOW_TO_KNOW
        self.consequence = False
        found = _read(self.error_file)
        if found is None:
            self.error_file = "<N/A>"
            if self.exitcode < 0:
                self.message = (
                    f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
                )
            return
        extra = found.get("extraInfo")
        stack = extra.get("py_callstack") if isinstance(extra, dict) else None
        self.message = str(stack or found.get("message"))
        self.consequence = bool(found.get("consequence"))

    def signal_name(self) -> str:
        """The name of the signal that ended the process, if one did."""
        try:
            return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"
        except ValueError:
            return f"<Unknown signal {-self.exitcode}>"

    def timestamp_isoformat(self) -> str:
        """When it was, for people."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.at))


def _read(path: str) -> dict[str, object] | None:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["message"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else {"message": found}


class ChildFailedError(Exception):
    """Processes of a launcher failed: which, how, and which was the first."""

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure], host: str = "localhost"):
        self.name = name
        self.failures = dict(failures)
        self._host = host
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how.

        One whose exchange failed because another process did comes after that one, even where it
        was faster to end.
        """
        own = {rank: each for rank, each in self.failures.items() if not each.consequence}
        return min((own or self.failures).items(), key=lambda entry: entry[1].at)

    def format_msg(self) -> str:
        """What is said."""
        root, _ = self.get_first_failure()
        others = [rank for rank in sorted(self.failures) if rank != root]
        wide, thin, title = "=" * 60, "-" * 60, f"{self.name} FAILED"
        lines = ["", wide, title, thin, "Failures:"]
        lines += [text for at, rank in enumerate(others, 1) for text in self._told(at, rank)]
        if not others:
            lines.append("  <NO_OTHER_FAILURES>")
        lines += [thin, "Root Cause (first observed failure):", *self._told(0, root), wide]
        return "\n".join(lines)

    def _told(self, number: int, rank: int) -> list[str]:
        each = self.failures[rank]
        ended = f" ({each.signal_name()})" if each.exitcode < 0 else ""
        message = each.message.rstrip().replace("\n", "\n  ")
        return [
            f"[{number}]:",
            f"  time      : {each.timestamp_isoformat()}",
            f"  host      : {self._host}",
            f"  rank      : {rank} (local_rank: {each.local_rank})",
            f"  exitcode  : {each.exitcode} (pid: {each.pid}) {ended}".rstrip(),
            f"  error_file: {each.error_file}",
            f"  traceback : {message}",
        ]
