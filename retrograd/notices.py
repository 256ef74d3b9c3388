"""Warnings that are said once in a program, and errors with their explanation.

An error has a code where a reader gains by a page: the life of the graph, shapes, indices, dtypes,
layouts and devices that no operation takes, custom Functions, numbers, transforms. What a function
asks of its own arguments (their type or number, a word among those allowed, a number in a range,
shapes that only this function puts together) has none, and is raised as it is: its one line names
the function, the argument and what it takes, and PyTorch says no more either.
"""

from __future__ import annotations

import os
import sys
import warnings

from retrograd.above import above


@above
def explained(error: Exception, cause: object = None, label: str = "", *, code: str) -> Exception:
    """The error with its code and report.

    cause  what remembers, as `code` and `lasti`, the earlier line that is to blame, if known
    label  what happened there
    """
    raise NotImplementedError


def runtime_error(text: str, cause: object = None, label: str = "", *, code: str) -> Exception:
    """The same for the kind of error that most messages belong to."""
    return explained(RuntimeError(text), cause, label, code=code)


@above
def adopted(error: Exception) -> Exception:
    """The same for an error in the words of a kernel, which knows no codes.

    The catalogue looks for its message; one that it does not know comes back as it is.
    """
    raise NotImplementedError


@above
def explained_warning(text: str, *, code: str) -> Warning:
    """The same for a warning, to be passed to `warnings.warn`."""
    raise NotImplementedError


class _Notices:
    always = False
    said: set[str]


_notices = _Notices()
_notices.said = set()


def warn_once(text: str, stacklevel: int) -> None:
    """Warn, unless this text was said before; `stacklevel` counts as in `warnings.warn`."""
    if text not in _notices.said or _notices.always:
        _notices.said.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


def notice(name: str, text: str) -> None:
    """Say on standard error, once in a process, that a name of PyTorch's changes nothing here.

    The environment variable ``RETROGRAD_NOTICES=0`` silences these lines.
    """
    key = f"retrograd: {name}: {text}"
    if key in _notices.said or os.environ.get("RETROGRAD_NOTICES") == "0":
        return
    _notices.said.add(key)
    print(key, file=sys.stderr)


def set_warn_always(b: bool, /) -> None:
    """Say every warning each time, not only the first time in a program."""
    _notices.always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings are said each time."""
    return _notices.always
