"""Warnings that are said once in a program, and errors with their explanation."""

from __future__ import annotations

import os
import sys
import warnings

from retrograd.above import above


@above
def explained(error: Exception, cause: object = None, label: str = "", code: str = "") -> Exception:
    """The error with its code and report; without a `code` the catalogue looks for the message.

    cause  what remembers, as `code` and `lasti`, the earlier line that is to blame, if known
    label  what happened there
    """
    raise NotImplementedError


def runtime_error(text: str, cause: object = None, label: str = "", code: str = "") -> Exception:
    """The same for the kind of error that most messages belong to."""
    return explained(RuntimeError(text), cause, label, code=code)


@above
def explained_warning(text: str, *, code: str) -> Warning:
    """The same for a warning, to be passed to `warnings.warn`."""
    raise NotImplementedError


class _Notices:
    always = False
    said: set[str]


_notices = _Notices()
_notices.said = set()


def warn_once(text: str, stacklevel: int = 2) -> None:
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
