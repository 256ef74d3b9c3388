"""Compiled kernels for whole rows in place of the neutral ones, on the CPU, where they are built.

The neutral kernel of an op is its definition. `_rows` has some of them in C, in one pass over the
memory where NumPy takes ten: each function returns None for arrays that it does not take (another
dtype, strides that elementwise loops cannot follow), and then the neutral kernel runs. An op says
beside its declaration which function is its own, with `compiled_first`.

The results are not NumPy's bits: docs/design.md says what is promised instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from retrograd.backend.arrays import Array
from retrograd.backend.cpu import CPU
from retrograd.backend.device import KERNELS, Kernel
from retrograd.backend.kernels.built import check_sources
from retrograd.backend.neutral import special_logistic

_status: str
rows: Any
"""The compiled module; None where it is not in use."""

try:
    if os.environ.get("RETROGRAD_KERNELS") == "0":
        raise ImportError("switched off by RETROGRAD_KERNELS=0")
    from retrograd.backend.kernels import _rows as rows

    check_sources(rows, "rows")
except (ImportError, RuntimeError) as error:  # RuntimeError: built for a newer NumPy than this one
    rows = None
    _status = f"not in use ({error}); NumPy does the same to rounding, more slowly"
else:
    _status = f"in use, built for {rows.builds()[0]}"


def status() -> str:
    """Whether the compiled kernels for rows are in use, and why not.

    >>> "in use" in status()
    True
    """
    return _status


def compiled_first(name: str, function: str | Callable[..., Any], *, short: bool = False) -> None:
    """Let the CPU's kernel of an op be a function of `_rows`, where the function takes the arrays.

    name      of the op, or of another entry of the table that rules run on
    function  its name in `_rows`, or what calls it with the kernel's arguments, without `xp`
    short     the function leaves short arrays to the neutral kernel: so the core may do these
    """
    if rows is None:
        return
    compiled = getattr(rows, function) if isinstance(function, str) else function
    neutral = KERNELS[name][0]

    def kernel(xp: Any, *arguments: Any, **options: Any) -> Any:
        found = compiled(*arguments, **options)
        return neutral(xp, *arguments, **options) if found is None else found

    kernel.__name__ = f"{name}_by_rows"
    typed: Kernel = kernel
    CPU.override(name, short=short)(typed)


def _expit(x: Array) -> Array:
    found: Array | None = rows.sigmoid(x)
    return special_logistic.expit(CPU.xp, x) if found is None else found


if rows is not None:
    CPU.xp.__dict__["expit"] = _expit
