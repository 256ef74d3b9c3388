"""Which files are the user's, and which line of theirs is running."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType

from retrograd.diagnostics.report import Place

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # as tracebacks spell it

_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        _HERE,
    }
)

OWN_FOLDERS = tuple(os.path.join(_HERE, room, "") for room in ("watching", "graph", "doctor"))
"""Where the code is that watches: its frames lie between the user's line and the library's."""


def is_user_file(file: str) -> bool:
    """Whether a file belongs to the user, and not to Python, an installed package or retrograd."""
    if file.startswith("<"):
        return file.startswith("<ipython-input")  # a cell of a notebook
    real = os.path.realpath(file)
    if real.startswith(_LIBRARIES):
        return False
    return f"{os.sep}site-packages{os.sep}" not in real


def is_user_file_or_in(own: tuple[str, ...]) -> Callable[[str], bool]:
    """As `is_user_file`, but files below the folders `own` are the user's wherever they are."""
    folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in own)

    def is_user(file: str) -> bool:
        return is_user_file(file) or bool(folders and os.path.realpath(file).startswith(folders))

    return is_user


def user_place() -> Place | None:
    """The innermost line of the user's that is running now, in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            return Place(code.co_filename, frame.f_lineno, code.co_qualname)
        frame = frame.f_back
    return None


def is_user_code(file: str) -> bool:
    """Whether code is the user's: of a file of theirs, or typed at a prompt or in a doctest."""
    if file.startswith("<"):
        return not file.startswith(("<frozen", "<retrograd", "<__array_function__"))
    return is_user_file(file)
