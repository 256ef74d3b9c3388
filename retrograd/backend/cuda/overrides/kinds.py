"""What overrides know of types: their names in CUDA C, and what is computed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.cuda.launch import Source
from retrograd.backend.cuda.written import C_TYPES, HALVES
from retrograd.backend.device import KERNELS, Backend, Kernel

_F32 = np.dtype(np.float32)
WIDE = {"float32": "float", "float64": "double", "float16": "float", "bfloat16": "float"}
"""The types of real numbers, and what is computed with."""


@cache
def source(file: str, dtype: DType, scale: DType | None = None) -> Source:
    """A source for real numbers of one type; `scale` is that of factors beside them."""
    name = dtype.name
    more = {} if scale is None or scale == dtype else {"SCALE": C_TYPES[scale.name]}
    return Source(file, REAL=C_TYPES[name], WIDE=WIDE[name], **more)


def wide_dtype(dtype: DType) -> DType:
    """The type that sums of such numbers are kept in."""
    return _F32 if dtype.name in HALVES else dtype


def widened(value: Any) -> Any:
    """An array of half precision in float32, also among several; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(map(widened, value))
    half = getattr(getattr(value, "dtype", None), "name", "") in HALVES
    return value.astype(_F32) if half else value


def half_among(values: Sequence[Any]) -> tuple[bool, DType | None]:
    """Whether arrays of half precision are among values, and the type of what comes of them.

    None where it is a wider one, because an array of that is among them too.
    """
    half: DType | None = None
    wider = False
    for value in values:
        dtype = getattr(value, "dtype", None)
        name = getattr(dtype, "name", "")
        if name in HALVES:
            half = half or dtype
        elif name in _WIDER:
            wider = True
    return half is not None, None if wider else half


_WIDER = ("float32", "float64", "complex64", "complex128")


def rounded(result: Any, half: DType | None) -> Any:
    """What was computed in float32 in the type that it has."""
    if half is None:
        return result
    if isinstance(result, tuple):
        return tuple([rounded(part, half) for part in result])
    return result.astype(half) if getattr(result, "dtype", None) == _F32 else result


def own_first(
    backend: Backend, name: str, function: Callable[..., Any], *, halves: bool = False
) -> None:
    """Let an op's kernel be a function, which gives None for what it does not take.

    function  takes the kernel's arguments without `xp`
    halves    it takes half precision as it is, and so do the op's derivative rules
    """
    neutral = KERNELS[name][0]
    if halves:
        backend.halves.add(name)
        backend.half_rules.add(name)

    def kernel(xp: Any, *arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        if found is not None:
            return found
        if name in backend.halves:
            arguments = tuple([widened(argument) for argument in arguments])
        return neutral(xp, *arguments, **options)

    kernel.__name__ = f"{name}_on_cuda"
    typed: Kernel = kernel
    backend.override(name)(typed)
