"""Deterministic programs: what refuses or warns there, and what fills new memory.

Everything here gives the same result on every run whatever is chosen. But a program that chooses
deterministic algorithms is written for PyTorch, too, and is told there which of its calls are not:
it is told the same here.
"""

from __future__ import annotations

import math
import warnings

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Array


class _Determinism:
    """What `use_deterministic_algorithms` was last told, and whether new memory is filled then."""

    enabled = False
    warn_only = False
    fill = True


DETERMINISM = _Determinism()


def alert_not_deterministic(name: str) -> None:
    """Raise or warn in a deterministic program, for a function that PyTorch has no such way for."""
    if not DETERMINISM.enabled:
        return
    text = f"{name} does not have a deterministic implementation, but you set "
    issues = (
        "at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
        "support for this operation."
    )
    if DETERMINISM.warn_only:
        warnings.warn(
            f"{text}'torch.use_deterministic_algorithms(True, warn_only=True)'. You can file an "
            f"issue {issues}",
            UserWarning,
            stacklevel=user_level(),
        )
        return
    raise RuntimeError(
        f"{text}'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for "
        "this operation, or you can use the 'warn_only=True' option, if that's acceptable for your "
        f"application. You can also file an issue {issues}"
    )


def uninitialized(array: Array) -> Array:
    """New memory on its way to the program: filled in a deterministic one, so that it is the same
    on every run, and its use is noticed: nan, the largest integer, True.
    """
    if DETERMINISM.enabled and DETERMINISM.fill:
        kind = array.dtype.kind
        if kind == "b":
            array.fill(True)
        elif kind in "iu":
            array.fill(dtypes.iinfo(dtypes.from_numpy_dtype(array.dtype)).max)
        else:
            array.fill(math.nan)
    return array
