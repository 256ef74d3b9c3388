"""Checks of the arguments that many creating functions share, with PyTorch's messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import Backend
from retrograd.engine.state import STATE
from retrograd.notices import explained, runtime_error
from retrograd.ops.errors import type_name
from retrograd.ops.kinds import Array
from retrograd.ops.making.pinning import pinned_place
from retrograd.tensor import Tensor
from retrograd.tensor.size import backend_at, layout, strided


def check_place(function: str, layout: layout | None, device: object, pin_memory: bool) -> Backend:
    """The backend of ``device=`` and ``pin_memory=``; refuses other layouts than strided."""
    if layout is not None and layout is not strided:
        raise explained(
            NotImplementedError(f"retrograd does not support layout {layout!r} in {function}()"),
            code="RG901",
        )
    place = backend_at(device)
    return pinned_place(place) if pin_memory else place


def size_argument(
    function: str,
    size: tuple[Any, ...],
    named: dict[str, Any],
    *,
    single: bool = True,
    keyword: str = "size",
) -> tuple[int, ...]:
    """The sizes of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))`` as a tuple of ints."""
    if single and size and not named:
        for n in size:
            if type(n) is not int or n < 0 or n > _MANY:
                break
        else:
            return size  # the usual case
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
            raise TypeError(f"{function}() takes 1 positional argument but {len(size)} were given")
        size = tuple(first)
    elif not single or not _is_integer(first):
        raise TypeError(
            f"{function}(): argument '{keyword}' (position 1) must be tuple of ints, not "
            f"{type_name(first)}"
        )
    found = tuple([_one_size(function, keyword, i, n) for i, n in enumerate(size, 1)])
    if found and min(found) < 0:
        if function == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        wrong = next(n for n in found if n < 0)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {wrong}: {list(found)}"
        )
    if found and math.prod(found) >= _TOO_MANY:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(found)}")
    return found


_MANY = 1 << 30
# elements of four bytes whose addresses no longer fit 64 bits
_TOO_MANY = 1 << 61


def _is_integer(value: float) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer))


def _one_size(function: str, keyword: str, position: int, value: float) -> int:
    if not _is_integer(value) and not (position > 1 and isinstance(value, bool)):
        if position == 1:
            raise TypeError(
                f"{function}(): argument '{keyword}' (position 1) must be tuple of ints, but found "
                f"element of type {type_name(value)} at pos 0"
            )
        raise TypeError(
            f"{function}(): argument '{keyword}' failed to unpack the object at pos {position} "
            f'with error "type must be tuple of ints,but got {type_name(value)}"'
        )
    return int(value)


def as_number(function: str, name: str, position: int, value: object) -> Any:
    """A number argument: a Python or NumPy number, or a 0-d tensor."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item()
    if isinstance(value, Tensor) and value._array.ndim == 0:
        return value.item()
    raise TypeError(
        f"{function}(): argument '{name}' (position {position}) must be Number, not "
        f"{type_name(value)}"
    )


def as_integer(function: str, name: str, position: int, value: float) -> int:
    """An integer argument: a Python or NumPy integer, or an integer tensor of one element."""
    if not _is_integer(value):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be int, not "
            f"{type_name(value)}"
        )
    return int(value)


def as_real(value: float) -> float | int:
    """A number that a real dtype can hold."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return value


def is_finite(value: float | int) -> bool:
    """Whether a real number is neither infinite nor NaN."""
    return isinstance(value, int) or math.isfinite(value)


_C_NAMES = {
    "Byte": "uint8_t",
    "Char": "int8_t",
    "Short": "int16_t",
    "Int": "int",
    "Long": "int64_t",
    "UInt16": "uint16_t",
    "UInt32": "uint32_t",
    "UInt64": "uint64_t",
}
_C_NAMES |= {"Float": "float", "Double": "double", "Half": "c10::Half"}
_C_NAMES |= {"BFloat16": "c10::BFloat16"}


def as_element(value: Any, kind: dtypes.dtype) -> Any:
    """A number as an element of a dtype; raises where it does not fit, as PyTorch does."""
    if isinstance(value, complex) and kind.category < dtypes.COMPLEX:
        if value.imag:
            raise _overflow(kind)
        value = value.real
    if kind.category == dtypes.INTEGER:
        limits = dtypes.iinfo(kind)
        low = limits.min if kind.is_signed else -limits.max
        if not low <= value <= limits.max:
            raise _overflow(kind)
        # a negative number counts from the other end of an unsigned type
        return int(value) if kind.is_signed else int(value) % (limits.max + 1)
    if kind.category == dtypes.FLOAT and kind is not dtypes.float64:
        if abs(value) > _LARGEST[kind] and abs(value) != math.inf:
            raise _overflow(kind)
    return value


_LARGEST = {
    dtypes.float16: 65504.0,
    dtypes.bfloat16: float.fromhex("0x1.fep127"),
    dtypes.float32: float.fromhex("0x1.fffffep127"),
}


def check_limits(array: Array, *limits: object) -> None:
    """Refuse limits that elements of a floating-point array cannot be, also in a kernel."""
    most = _LARGEST[dtypes.float32]
    for limit in limits:
        if type(limit) is float and not -most <= limit <= most:
            as_element(limit, dtypes.from_numpy_dtype(array.dtype))


def _overflow(kind: dtypes.dtype) -> RuntimeError:
    name = _C_NAMES.get(kind.type_name, kind.name)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def _type_name(value: object) -> str:
    name = type(value).__name__
    return f"torch.{name}" if name in _TORCH_TYPES else name


_TORCH_TYPES = frozenset(["device", "dtype", "layout", "memory_format", "Size"])


def invalid_combination(
    function: str, args: tuple[object, ...], forms: str, **named: object
) -> TypeError:
    """Arguments that fit none of the forms of a function; `forms` has one form a line."""
    got = [_type_name(a) for a in args]
    got += [f"{name}={_type_name(value)}" for name, value in named.items()]
    if named and not args:
        got.append("")  # PyTorch's list ends in a comma there
    lines = "".join(f"\n * ({form})" for form in forms.splitlines())
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({', '.join(got)}), but "
        f"expected one of:{lines}"
    )


def refuse_out(function: str, *tensors: object) -> None:
    """``out=`` cannot be recorded: raise if a gradient is wanted."""
    if STATE.grad_enabled and any(isinstance(t, Tensor) and t.requires_grad for t in tensors):
        raise runtime_error(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad.",
            code="RG116",
        )
