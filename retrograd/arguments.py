"""Checks of the arguments that many creating functions share, with PyTorch's messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.ops import errors
from retrograd.size import require_cpu, strided
from retrograd.tensor import Tensor


def refuse_pinned(pin_memory: Any) -> None:
    """Pinned memory exists for accelerators only."""
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def check_place(function: str, layout: Any, device: Any, pin_memory: Any) -> None:
    """``layout=``, ``device=`` and ``pin_memory=``: only the strided CPU kind exists."""
    if layout is not None and layout is not strided:
        raise errors.unsupported(f"layout {layout!r} in {function}()")
    require_cpu(device)
    refuse_pinned(pin_memory)


def size_argument(
    function: str,
    size: tuple[Any, ...],
    named: dict[str, Any],
    *,
    single: bool = True,
    keyword: str = "size",
) -> tuple[int, ...]:
    """The sizes of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))`` as a tuple of ints."""
    if named:
        sizes = named.pop(keyword, None)
        if named:
            unknown = next(iter(named))
            raise TypeError(f"{function}() got an unexpected keyword argument '{unknown}'")
        size = (sizes,)
    elif not size:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{keyword}"')
    first = size[0]
    if isinstance(first, (tuple, list)):
        if len(size) > 1:
            raise TypeError(
                f"{function}() takes 1 positional argument but {len(size)} were given"
            )
        size = tuple(first)
    elif not single or not _is_integer(first):
        raise TypeError(
            f"{function}(): argument '{keyword}' (position 1) must be tuple of ints, not "
            f"{type(first).__name__}"
        )
    return tuple([_one_size(function, keyword, i, n) for i, n in enumerate(size, 1)])


def _is_integer(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer))


def _one_size(function: str, keyword: str, position: int, value: Any) -> int:
    if not _is_integer(value):
        raise TypeError(
            f"{function}(): argument '{keyword}' failed to unpack the object at pos {position} "
            f'with error "type must be tuple of ints,but got {type(value).__name__}"'
        )
    found = int(value)
    if found < 0:
        raise RuntimeError(f"{function}: Dimension size must be non-negative.")
    return found


def as_number(function: str, name: str, position: int, value: Any) -> Any:
    """A number argument: a Python or NumPy number, or a 0-d tensor."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item()
    if isinstance(value, Tensor) and value._array.ndim == 0:
        return value.item()
    raise TypeError(
        f"{function}(): argument '{name}' (position {position}) must be Number, not "
        f"{type(value).__name__}"
    )


def as_integer(function: str, name: str, position: int, value: Any) -> int:
    """An integer argument: a Python or NumPy integer, or an integer tensor of one element."""
    if not _is_integer(value):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be int, not "
            f"{type(value).__name__}"
        )
    return int(value)


def as_real(value: Any) -> float | int:
    """A number that a real dtype can hold."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return value  # type: ignore[no-any-return]


def is_finite(value: float | int) -> bool:
    """Whether a real number is neither infinite nor NaN."""
    return isinstance(value, int) or math.isfinite(value)
