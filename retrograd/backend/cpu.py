"""The CPU's backend: NumPy, with compiled functions in place of those that it is slow at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from retrograd.backend import cpu_masking, kernels
from retrograd.backend.arrays import Array
from retrograd.backend.device import Backend, Kernel, register
from retrograd.backend.neutral import memory as neutral

# `Any`: the reductions are called by place, which is quicker and which NumPy's types do not list
_add_reduce: Any = np.add.reduce
_maximum_reduce: Any = np.maximum.reduce
_minimum_reduce: Any = np.minimum.reduce
_multiply_reduce: Any = np.multiply.reduce


# NumPy's functions of these names spend most of a small call on their way to the ufunc.


def sum(
    a: Array, axis: object = None, dtype: object = None, out: object = None, keepdims: bool = False
) -> Any:
    return _add_reduce(a, axis, dtype, out, keepdims)


def max(a: Array, axis: object = None, out: object = None, keepdims: bool = False) -> Any:
    return _maximum_reduce(a, axis, None, out, keepdims)


def min(a: Array, axis: object = None, out: object = None, keepdims: bool = False) -> Any:
    return _minimum_reduce(a, axis, None, out, keepdims)


def _prod(
    a: Array, axis: object = None, dtype: object = None, out: object = None, keepdims: bool = False
) -> Any:
    return _multiply_reduce(a, axis, dtype, out, keepdims)


def _argmax(a: Array, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.argmax(axis, keepdims=keepdims)


def _argmin(a: Array, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.argmin(axis, keepdims=keepdims)


def _strided(array: Array, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Array:
    """`neutral.memory.strided`: ten times faster where NumPy takes the array as a buffer."""
    if array.flags.forc:
        return np.ndarray(shape, array.dtype, array, offset, strides)  # it checks the bounds too
    # NumPy's own hides the memory behind an object that does not say whether it may be written
    whole = array.base if isinstance(array.base, np.ndarray) else array
    rows = whole.transpose(sorted(range(whole.ndim), key=lambda dim: -whole.strides[dim]))
    if rows.flags.c_contiguous:
        place = offset + array.ctypes.data - rows.ctypes.data
        return np.ndarray(shape, array.dtype, rows, place, strides)
    found: Array = neutral.strided(CPU.xp, array, shape, strides, offset)
    return found


def _reduce_at(name: str, target: Array, index: Array, values: Array) -> None:
    getattr(np, name).at(target, index, values)


def _writable(view: Array, source: Array) -> Array:
    if not view.flags.writeable and source.flags.writeable:
        view = view.view()
        view.flags.writeable = True
    return view


def _read_only(view: Array) -> Array:
    view.flags.writeable = False
    return view


_COMPILED = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "square", "sqrt"),
    *("exp", "log", "tanh", "sin", "cos"),
    *("add_matching", "filled", "iadd", "matmul2d", "sum_all", "sum_to"),
)


class CpuBackend(Backend):
    """NumPy's arrays in the memory of the process."""

    relatives: tuple[type[Any], ...] = (np.generic,)

    # told of an op's new kernel: callers, in Python and in C, bind the CPU's kernels
    rebind: Callable[[str, Kernel], None] | None = None

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.also_short: set[str] = set()

    def override(self, name: str, *, short: bool = False) -> Callable[[Kernel], Kernel]:
        """As for any device; an override stands beside its op, before the op's first call.

        short  for short arrays it runs the neutral kernel, so what the core has for these stays
        """
        take = super().override(name)
        if short:
            self.also_short.add(name)

        def taken(kernel: Kernel) -> Kernel:
            if self.rebind is not None:
                self.rebind(name, kernel)
            return take(kernel)

        return taken

    def address(self, array: Array) -> int:
        found: int = array.__array_interface__["data"][0]  # quicker than `ctypes.data`
        return found

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        return array

    def to_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        return array


CPU = register(
    CpuBackend(
        "cpu",
        np.ndarray,
        np,
        {name: getattr(kernels, name) for name in _COMPILED}
        | {
            "argmax": _argmax,
            "argmin": _argmin,
            "sum": sum,
            "max": max,
            "min": min,
            "prod": _prod,
            "keep_where": cpu_masking.keep_where,
            "not_below_zero": cpu_masking.not_below_zero,
            "strided": _strided,
            "writable": _writable,
            "read_only": _read_only,
            "add_at": np.add.at,
            "reduce_at": _reduce_at,
            "take_rows": partial(np.take, axis=0, mode="clip"),  # `clip` checks nothing again
            "maximum_accumulate": np.maximum.accumulate,
            "minimum_accumulate": np.minimum.accumulate,
            "logaddexp_accumulate": np.logaddexp.accumulate,
        },
    )
)
