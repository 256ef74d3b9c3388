"""Warnings that are said once in a program, and errors with their explanation."""

from __future__ import annotations

import warnings


def explained(error: Exception) -> Exception:
    """The error with its code and report, where the catalogue knows its message."""
    from retrograd.lifecycle import why

    return why.adopt(error)


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


def set_warn_always(b: bool, /) -> None:
    """Say every warning each time, not only the first time in a program."""
    _notices.always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings are said each time."""
    return _notices.always
