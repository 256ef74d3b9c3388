"""Functions that CuPy lacks, or has otherwise than NumPy: what kernels call as `xp.name`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from retrograd.backend.arrays import Array

Function = Callable[..., Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)

# cuSOLVER finds out whether a matrix was singular or not positive definite; CuPy looks only then
_CHECKED = frozenset("cholesky det eig eigh eigvals eigvalsh inv lstsq qr slogdet svd".split())

_LOGICAL = "logical_and logical_not logical_or logical_xor"


def functions(cupy: Any) -> dict[str, Any]:
    """The functions that take the place of CuPy's, by name."""
    made: list[Function] = [_strided, _add_at, _take_rows, _shares_memory, _where, _copysign]
    made += [_vecdot]
    found: dict[str, Any] = {
        function.__name__.strip("_"): functools.partial(function, cupy) for function in made
    }
    found |= {name: _of_truths(getattr(cupy, name)) for name in _LOGICAL.split()}
    found |= {name: functools.partial(_first, cupy, name) for name in ("argmax", "argmin")}
    return found | {"linalg": _Matrices(cupy)}


# ------------------------------------------------------------------------------------- memory


def _strided(
    cupy: Any, array: Any, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> Array:
    """`neutral.memory.strided`: CuPy's own makes an array that does not name its owner."""
    view = array.view()
    if offset:
        unit = array.itemsize
        view._set_shape_and_strides((offset // unit + 1,), (unit,), True, True)
        view = view[-1:]
    view._set_shape_and_strides(tuple(shape), tuple(strides), True, True)
    found: Array = view
    return found


def _take_rows(cupy: Any, table: Any, rows: Any) -> Array:
    found: Array = table.take(rows, axis=0)
    return found


def _shares_memory(cupy: Any, first: Any, second: Any) -> bool:
    return bool(cupy.may_share_memory(first, second))


# ------------------------------------------------------------------------------------ scatter

# What CUDA's atomic additions know, for those that they do not know.
_WIDER = {"b": "i", "h": "i", "B": "I", "H": "I", "?": "i"}
_SAME_BITS = {"l": "Q", "q": "Q", "L": "Q"}
_PARTS = {"F": "f", "D": "d"}


def _add_at(cupy: Any, target: Any, index: Any, values: Any) -> None:
    """Add to the places of a flat array, also to those named twice."""
    kind = target.dtype.char
    values = cupy.asarray(values, dtype=target.dtype)
    if kind in _PARTS:
        _add_parts(cupy, target, index, values, _PARTS[kind])
        return
    if kind in _SAME_BITS:  # whole numbers add alike with and without a sign
        whole = _SAME_BITS[kind]
        cupy.add.at(target.view(whole), index, values.view(whole))
        return
    wide = _WIDER.get(kind) or (None if kind in "iIfdeQ" else "f")  # the last is bfloat16's
    if wide is None:
        cupy.add.at(target, index, values)
        return
    work = target.astype(wide)
    cupy.add.at(work, index, values.astype(wide))
    target[...] = work.astype(target.dtype)


def _add_parts(cupy: Any, target: Any, index: Any, values: Any, part: str) -> None:
    """Real and imaginary parts, one after the other: together they are not added as one."""
    if target.ndim != 1 or not target.flags.c_contiguous:
        raise NotImplementedError("complex values are added into flat arrays without gaps")
    numbers = target.view(part)
    for offset, added in enumerate((values.real, values.imag)):
        cupy.add.at(numbers[offset::2], index, cupy.ascontiguousarray(added))


# --------------------------------------------------------------------------------- elementwise


def _where(cupy: Any, condition: Any, *choices: Any) -> Any:
    """`where`, which CuPy computes in float32 for bfloat16."""
    found = cupy.where(condition, *choices)
    if choices and found.dtype is F32 and _all_half(choices):
        return found.astype(BF16)
    return found


def _all_half(values: Sequence[Any]) -> bool:
    """Whether bfloat16 is what operands, arrays or numbers, have in common."""
    kinds = [value.dtype for value in values if hasattr(value, "dtype")]
    return bool(kinds) and all(kind == BF16 for kind in kinds)


def _copysign(cupy: Any, size: Any, sign: Any, **options: Any) -> Any:
    """`copysign`: the sign of a number that is -0.0 gets lost on CuPy's way to the kernel."""
    if not hasattr(sign, "dtype"):
        sign = cupy.full((), sign, size.dtype)
    return cupy.copysign(size, sign, **options)


def _of_truths(function: Function) -> Function:
    """A function of truth values for complex numbers too, whose truth CuPy does not know."""

    @functools.wraps(function)
    def call(*values: Any, **options: Any) -> Any:
        truths = [v != 0 if getattr(v, "dtype", None) in _COMPLEX else v for v in values]
        return function(*truths, **options)

    return call


_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))


def _first(cupy: Any, name: str, x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`argmax` or `argmin`, which of several nans take the first as NumPy does."""
    search = getattr(cupy, name)
    found = search(x, axis=axis, keepdims=keepdims)
    if x.dtype.kind not in "fV" or not x.size:
        return found
    missing = cupy.isnan(x)
    first = cupy.argmax(missing, axis=axis, keepdims=keepdims)
    return cupy.where(missing.any(axis=axis, keepdims=keepdims), first, found)


# ------------------------------------------------------------------------------------ matrices


def _vecdot(cupy: Any, a: Any, b: Any) -> Any:
    """Products of the vectors that lie along the last dimension; CuPy has no such function."""
    return (a * b if a.dtype.kind != "c" else a.conj() * b).sum(axis=-1)


class _Matrices:
    """`linalg` whose functions raise where NumPy's do."""

    def __init__(self, cupy: Any) -> None:
        self._own = cupy.linalg
        self._errstate = importlib.import_module("cupyx").errstate
        self.solve = functools.partial(_solve, cupy, self._checked(self._own.solve))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._own, name)
        if name in _CHECKED:
            found = self._checked(found)
        self.__dict__[name] = found
        return found

    def _checked(self, function: Function) -> Function:
        def call(*args: Any, **options: Any) -> Any:
            with self._errstate(linalg="raise"):
                return function(*args, **options)

        return call


def _solve(cupy: Any, solve: Function, a: Any, b: Any) -> Any:
    """Solutions of many systems, whose numbers of systems are broadcast."""
    if b.ndim > 1 and a.shape[:-2] != b.shape[:-2]:
        many = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = cupy.broadcast_to(a, (*many, *a.shape[-2:]))
        b = cupy.broadcast_to(b, (*many, *b.shape[-2:]))
    return solve(a, b)
