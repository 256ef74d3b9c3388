"""How many threads work on large arrays: those of compiled kernels, and those of NumPy's BLAS."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from retrograd.backend import kernels

# In builds of NumPy the library's names carry a prefix, and a suffix for 64-bit integers.
_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


def at_start() -> int:
    """What ``OMP_NUM_THREADS`` says; without it, the cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use(count: int) -> None:
    """Work on large arrays in so many threads from now on.

    >>> from retrograd.backend import threads
    >>> threads.use(threads.at_start())
    """
    kernels.set_threads(count)
    set_count = _of_openblas("set")
    if set_count is not None:
        set_count(count)


def of_blas() -> int | None:
    """How many threads products of matrices may take; None where BLAS is not OpenBLAS."""
    get_count = _of_openblas("get")
    return None if get_count is None else int(get_count())


def _of_openblas(verb: str) -> Callable[..., Any] | None:
    """A function of the OpenBLAS that NumPy brought along; None with another BLAS."""
    for path in Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*"):
        library = ctypes.CDLL(str(path))  # it is loaded already
        for name in _NAMES:
            found: Callable[..., Any] | None = getattr(library, name.format(verb), None)
            if found is not None:
                return found
    return None


kernels.set_threads(at_start())
