"""Compiled kernels in place of the neutral ones, on the CPU, where they are built.

The neutral kernel of an op is its definition. `_rows` (whole rows) and `_windows` (convolution,
pooling, normalization of images) have some of them in C, in one pass over the memory where NumPy
takes ten: each function returns None for arrays that it does not take (another dtype, strides that
its loops cannot follow), and then the neutral kernel runs. An op says beside its declaration which
function is its own, with `compiled_first`.

The results are not NumPy's bits: docs/design.md says what is promised instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from retrograd.backend import cpu, cpu_masking, kernels
from retrograd.backend.arrays import Array
from retrograd.backend.cpu import CPU
from retrograd.backend.device import KERNELS, Kernel
from retrograd.backend.kernels.built import check_sources
from retrograd.backend.neutral import scatter, special_logistic

STATUS: dict[str, str] = {}
"""Whether the compiled kernels for rows and for windows are in use, and why not."""


def _found(name: str) -> Any:
    """A compiled module; None where it is not in use."""
    try:
        if os.environ.get("RETROGRAD_KERNELS") == "0":
            raise ImportError("switched off by RETROGRAD_KERNELS=0")
        module = import_module(f"retrograd.backend.kernels._{name}")
        check_sources(module, name)
    except (ImportError, RuntimeError) as error:  # RuntimeError: built for a newer NumPy
        STATUS[name] = f"not in use ({error}); NumPy does the same to rounding, more slowly"
        return None
    STATUS[name] = f"in use, built for {module.builds()[0]}"
    return module


COMPILED: dict[str, Callable[..., Any]] = {}
"""What compiled functions do, by op: replay calls them without a frame of Python in between."""

rows = _found("rows")
windows = _found("windows")


def compiled_first(name: str, function: str | Callable[..., Any], *, short: bool = False) -> None:
    """Let the CPU's kernel of an op be a compiled function, where the function takes the arrays.

    name      of the op, or of another entry of the table that rules run on
    function  its name in `_rows` or `_windows`, or what calls it with the kernel's arguments,
              without `xp`
    short     the function leaves short arrays to the neutral kernel: so the core may do these
    """
    if isinstance(function, str):
        compiled = getattr(rows, function, None) or getattr(windows, function, None)
    else:
        compiled = None if rows is None else function
    if compiled is None:
        return
    neutral = KERNELS[name][0]
    COMPILED[name] = compiled

    def kernel(xp: Any, *arguments: Any, **options: Any) -> Any:
        found = compiled(*arguments, **options)
        return neutral(xp, *arguments, **options) if found is None else found

    kernel.__name__ = f"{name}_compiled"
    typed: Kernel = kernel
    CPU.override(name, short=short)(typed)


def _expit(x: Array) -> Array:
    found: Array | None = rows.sigmoid(x)
    return special_logistic.expit(CPU.xp, x) if found is None else found


def _not_below_zero(x: Array) -> Array:
    found: Array | None = rows.relu(x)
    return cpu_masking.not_below_zero(x) if found is None else found


def _where(condition: Any, *choices: Any) -> Any:
    found = rows.where(condition, *choices) if len(choices) == 2 else None
    return CPU.xp._library.where(condition, *choices) if found is None else found


def _keep_where(values: Array, mask: Array) -> Array:
    found: Array | None = rows.chosen_or_number(mask, values, 0)
    return cpu_masking.keep_where(values, mask) if found is None else found


def _add_rows(flat: Array, places: Array, values: Array) -> None:
    if not rows.add_rows(flat, places, values):
        scatter.add_rows(CPU.xp, flat, places, values)


def _sum(
    a: Array, axis: object = None, dtype: object = None, out: object = None, keepdims: bool = False
) -> Any:
    found = rows.sum_over(a, axis, keepdims, False) if dtype is None and out is None else None
    return cpu.sum(a, axis, dtype, out, keepdims) if found is None else found


def _max(a: Array, axis: object = None, out: object = None, keepdims: bool = False) -> Any:
    found = rows.largest_over(a, axis, keepdims) if out is None else None
    return cpu.max(a, axis, out, keepdims) if found is None else found


def _min(a: Array, axis: object = None, out: object = None, keepdims: bool = False) -> Any:
    found = rows.smallest_over(a, axis, keepdims) if out is None else None
    return cpu.min(a, axis, out, keepdims) if found is None else found


def _matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    found: Array | None = rows.product(a, b) if out is None else None
    return np.matmul(a, b, out=out) if found is None else found


def _matmul2d(a: Array, b: Array) -> Array:
    found: Array | None = rows.product(a, b)
    return kernels.matmul2d(a, b) if found is None else found


if rows is not None:
    COMPILED["xp.matmul"] = rows.product
    CPU.xp.__dict__.update(
        add_rows=_add_rows,
        copy_in_rows=rows.copy_in_rows,
        expit=_expit,
        keep_where=_keep_where,
        matmul=_matmul,
        matmul2d=_matmul2d,
        max=_max,
        min=_min,
        not_below_zero=_not_below_zero,
        sum=_sum,
        sum_all=rows.sum_all,
        where=_where,
    )
