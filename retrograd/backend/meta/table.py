"""The table of functions of NumPy that arrays without elements have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from retrograd.backend.arrays import DType

Function = Callable[..., Any]
FUNCTIONS: dict[str, Any] = {}
I64: DType = np.dtype(np.int64)
F64: DType = np.dtype(np.float64)
TRUTH: DType = np.dtype(bool)


_F = TypeVar("_F", bound=Function)


def function(declared: _F) -> _F:
    """Declare a function under its name, or under the one after an underscore."""
    FUNCTIONS[declared.__name__.lstrip("_")] = declared
    return declared


def dtype_of(dtype: Any, default: DType = F64) -> DType:
    """A ``dtype=`` argument."""
    if dtype is None:
        return default
    return dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)


def lengths_of(shape: Any) -> tuple[int, ...]:
    """A ``shape=`` argument."""
    return (int(shape),) if hasattr(shape, "__index__") else tuple(int(n) for n in shape)


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim
