"""Sizes given by the user, and the geometry of views: shapes, strides, storage.

A size may be given as ``x.view(2, 3)``, ``x.view((2, 3))`` or ``x.view(torch.Size([2, 3]))``; its
numbers may be ints, NumPy integers or tensors of one integer.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from retrograd.backend import is_array
from retrograd.notices import runtime_error
from retrograd.ops.kinds import Array
from retrograd.tensor import Tensor

Shape = tuple[int, ...]


# ----------------------------------------------------------------------------------- arguments


def as_integer(value: Any, function: str, name: str, position: int) -> int:
    """An integer argument: int, NumPy integer or a tensor with one integer."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    if isinstance(value, Tensor):
        if value._array.size == 1 and value._array.dtype.kind in "iu":
            return int(value._array.item())
    elif kind is not bool and isinstance(value, Integral):
        return int(value)
    raise TypeError(
        f"{function}(): argument '{name}' (position {position}) must be int, not {kind.__name__}"
    )


def as_size(function: str, name: str, given: tuple[Any, ...]) -> Shape:
    """The sizes of ``f(2, 3)`` or ``f((2, 3))``: the collected positional arguments."""
    if given and type(given[0]) is int:
        for value in given:
            if type(value) is not int:
                break
        else:
            return given
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return as_integers(function, name, 1, given[0])
    if not given:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
    if not _is_integer(given[0]):
        raise TypeError(
            f"{function}(): argument '{name}' (position 1) must be tuple of ints, not "
            f"{type(given[0]).__name__}"
        )
    return as_integers(function, name, 1, given)


def as_integers(function: str, name: str, position: int, given: object) -> Shape:
    """A sequence of integers as a tuple of ints."""
    if not isinstance(given, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not "
            f"{type(given).__name__}"
        )
    found: list[int] = []
    for place, value in enumerate(given):
        if type(value) is int:
            found.append(value)
        elif _is_integer(value):
            found.append(int(value if not isinstance(value, Tensor) else value._array.item()))
        else:
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be tuple of ints, "
                f"but found element of type {type(value).__name__} at pos {place}"
            )
    return tuple(found)


def _is_integer(value: object) -> bool:
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_tensor(function: str, value: object, name: str = "input", position: int = 1) -> None:
    """Refuse what is not a tensor in PyTorch's words."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )


def complete_size(shape: Shape, count: int) -> Shape:
    """`shape` with -1 replaced by what `count` elements leave for it."""
    product = math.prod(shape)
    if product == count and (not shape or min(shape) >= 0):
        return shape
    if product == -1 and len(shape) == 1:
        return (count,)
    unknown = -1
    product = 1
    for place, size in enumerate(shape):
        if size >= 0:
            product *= size
        elif size == -1:
            if unknown >= 0:
                raise runtime_error("only one dimension can be inferred", code="RG203")
            unknown = place
        else:
            raise RuntimeError(
                f"invalid shape dimension {size} at index {place} of shape {list(shape)}"
            )
    if unknown < 0:
        if product == count:
            return shape
    elif product > 0:
        if count % product == 0:
            return (*shape[:unknown], count // product, *shape[unknown + 1 :])
    elif count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    raise runtime_error(f"shape '{list(shape)}' is invalid for input of size {count}", code="RG203")


# ------------------------------------------------------------------------------------ geometry


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that arrays of these shapes have together; a ValueError if they do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    ndim = max(map(len, shapes), default=0)
    found = [1] * ndim
    for shape in shapes:
        for place, size in enumerate(shape, ndim - len(shape)):
            if size != 1:
                if found[place] not in (1, size):
                    raise ValueError(f"shapes {shapes} cannot be broadcast together")
                found[place] = size
    return tuple(found)


def view_strides(shape: Shape, strides: Shape, wanted: Shape, itemsize: int) -> Shape | None:
    """Strides that show the same elements in another shape, or None where a copy is needed.

    Old dimensions are taken from the last to the first and joined into blocks that are evenly
    spaced in memory; each block must be made of whole new dimensions.
    """
    if math.prod(shape) == 0:
        return strides if shape == wanted else contiguous_strides(wanted, itemsize)
    found = [0] * len(wanted)
    new = len(wanted) - 1
    spacing = strides[-1] if strides else itemsize
    block = made = 1
    for old in range(len(shape) - 1, -1, -1):
        block *= shape[old]
        joins = old > 0 and (shape[old - 1] == 1 or strides[old - 1] == block * spacing)
        if joins:
            continue
        while new >= 0 and (made < block or wanted[new] == 1):
            found[new] = made * spacing
            made *= wanted[new]
            new -= 1
        if made != block:
            return None
        if old > 0:
            spacing = strides[old - 1]
            block = made = 1
    while new >= 0 and wanted[new] == 1:  # only a 0-d input leaves any
        found[new] = itemsize
        new -= 1
    return tuple(found)


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """Strides of a dense array in row-major order."""
    found: list[int] = []
    step = itemsize
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))


def storage_of(array: Array) -> Array:
    """The array that owns the memory which `array` shows."""
    while True:
        owner = array.base
        if owner is not None and not is_array(owner):
            owner = getattr(owner, "base", None)  # as_strided puts an object in between
        if not is_array(owner):
            return array
        array = owner
