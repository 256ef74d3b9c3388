"""Running something with the compiled core and without it, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from retrograd import core

needs_core = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """With the core, or with Python doing all of it."""
    before = core._core.switch(on)
    try:
        yield
    finally:
        core._core.switch(before)


def on_both(program: Callable[[], Any]) -> tuple[Any, Any]:
    """What a program gives with the core, and without."""
    with switched(True):
        compiled = program()
    with switched(False):
        python = program()
    return compiled, python


def same(first: Any, second: Any) -> bool:
    """Arrays, or tuples and lists of them, with the same bits, shapes, dtypes and memory order."""
    if isinstance(first, (tuple, list)):
        return (
            type(first) is type(second)
            and len(first) == len(second)
            and all(map(same, first, second))
        )
    if not isinstance(first, np.ndarray):
        return bool(first == second)
    return (
        isinstance(second, np.ndarray)
        and first.dtype == second.dtype
        and first.shape == second.shape
        and first.strides == second.strides
        and np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()
    )
