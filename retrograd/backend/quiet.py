"""Arithmetic without NumPy's warnings: a division by zero is an infinity here, as in PyTorch.

`numpy.errstate` costs about a microsecond, more than a small op. NumPy keeps the same setting in a
context variable; setting that directly costs a tenth. Where the variable is not to be found (it is
private to NumPy) `errstate` does the work.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

try:
    _umath: Any = importlib.import_module("numpy._core.umath")
    enter_quiet: Any = _umath._extobj_contextvar.set
    leave_quiet: Any = _umath._extobj_contextvar.reset
    QUIET: Any = _umath._make_extobj(all="ignore")
    # the mode that is on, and a way to put it back that needs no token of the change
    current_mode: Any = _umath._extobj_contextvar.get
    restore_mode: Any = _umath._extobj_contextvar.set
except (ImportError, AttributeError):  # a NumPy that keeps it elsewhere
    QUIET = None

    def enter_quiet(_: object) -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def leave_quiet(state: Any) -> None:
        state.__exit__(None, None, None)

    current_mode = np.geterr

    def restore_mode(mode: Any) -> None:
        np.seterr(**mode)


class quiet:
    """``with quiet():`` no floating point warnings inside."""

    __slots__ = ("token",)

    def __enter__(self) -> None:
        self.token = enter_quiet(QUIET)

    def __exit__(self, *exception: object) -> None:
        leave_quiet(self.token)
