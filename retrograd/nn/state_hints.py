"""What to try when a state_dict does not fit: a prefix that its keys have too much or too few."""

from __future__ import annotations

import os
from collections.abc import Iterable


def hinted(error: RuntimeError, wanted: Iterable[str], given: Iterable[str]) -> RuntimeError:
    """The error of a load with a note about the keys, if one prefix explains the difference.

    >>> error = hinted(RuntimeError("..."), ["fc.weight", "fc.bias"], ["module.fc.weight"])
    >>> print(error.__notes__[0])
    help: every key of the state_dict begins with "module.", those of the model do not: load
        {key.removeprefix("module."): value for key, value in state_dict.items()}
    """
    if os.environ.get("RETROGRAD_REPORT") == "short":
        return error
    here, there = list(wanted), list(given)
    extra = _prefix(here, there)
    if extra is not None:
        error.add_note(
            f'help: every key of the state_dict begins with "{extra}", those of the model do not: '
            f'load\n    {{key.removeprefix("{extra}"): value for key, value in state_dict.items()}}'
        )
        return error
    lacking = _prefix(there, here)
    if lacking is not None:
        error.add_note(
            f'help: every key of the model begins with "{lacking}", those of the state_dict do not:'
            f" load it into model.{lacking[:-1]}, or load\n"
            f'    {{"{lacking}" + key: value for key, value in state_dict.items()}}'
        )
    return error


def _prefix(short: list[str], long: list[str]) -> str | None:
    """What all long keys begin with, if without it they are keys of the other kind."""
    if not short or not long:
        return None
    known = set(short)
    parts = long[0].split(".")
    for count in range(1, len(parts)):
        prefix = ".".join(parts[:count]) + "."
        if known.isdisjoint(long) and all(
            key.startswith(prefix) and key.removeprefix(prefix) in known for key in long
        ):
            return prefix
    return None
