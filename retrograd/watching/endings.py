"""How a program that is watched has ended: its status, its error without our own frames in it."""

from __future__ import annotations

import sys
from types import TracebackType

from retrograd.watching.places import OWN_FOLDERS


def reason_of_exit(error: SystemExit) -> BaseException | None:
    """The error that a program has printed itself before it left with a status that says so."""
    reason = error.__context__
    if error.code in (None, 0) or not isinstance(reason, Exception):
        return None
    return strip_own_frames(reason)


def status_of(error: SystemExit) -> int:
    """The exit status that a SystemExit asks for; a message is printed, as Python does it."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


def strip_own_frames(error: BaseException) -> BaseException:
    """Take our own frames out of the traceback, and of the errors that led to this one."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        found.__traceback__ = _without_own(found.__traceback__)
        waiting += [found.__cause__, found.__context__, *getattr(found, "exceptions", ())]
    return error


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OWN_FOLDERS):
            kept.append(trace)
        trace = trace.tb_next
    if not kept:
        return None  # a SyntaxError of the program itself
    for outer, inner in zip(kept, [*kept[1:], None], strict=True):
        if outer.tb_next is not inner:
            outer.tb_next = inner
    return kept[0]


def is_from_outside(error: BaseException) -> bool:
    """Whether a program was ended by its surroundings: Ctrl-C, no time left, no memory left.

    It is no mistake of the last line, but what was seen before may be what filled the memory.
    """
    if isinstance(error, (KeyboardInterrupt, MemoryError)):
        return True
    text = str(error).lower()
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in text


def first_line(error: BaseException) -> str:
    """`RuntimeError: the first line`."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
