"""The shape of what an index takes, arrays among its parts included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backend.meta.layout import Layout, is_basic


def indexed(held: Layout, index: Any) -> tuple[tuple[int, ...], bool, Layout | None]:
    """The shape of ``array[index]``, whether it is unsure, and the view if it is one."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(map(is_basic, parts)):
        view = held.taken(parts)
        return view.shape, False, view
    return _taken(held, parts)


def _taken(held: Layout, parts: tuple[Any, ...]) -> tuple[tuple[int, ...], bool, None]:
    """The same where arrays are among the indices."""
    unsure = False
    key: list[Any] = []  # what views can do, with whole dimensions where arrays index
    places: list[int | None] = []  # for each part the number of dimensions that arrays index
    taken: list[tuple[int, ...]] = []  # the arrays' shapes
    for part in parts:
        if is_basic(part) and not isinstance(part, (int, np.integer)):
            key.append(part)
            places.append(None)
            continue
        found: Any = part
        if not hasattr(found, "table") or found.table is not None:
            found = np.asarray(getattr(found, "table", found))
            if found.dtype.kind == "b":  # its elements are known
                count = found.ndim
                taken.append((int(np.count_nonzero(found)),))
                key += [slice(None)] * count
                places.append(count)
                continue
        if found.dtype.kind == "b":
            unsure = True
            taken.append((found.size,))
            key += [slice(None)] * found.ndim
            places.append(found.ndim)
        else:
            unsure = unsure or getattr(found, "unsure", False)
            taken.append(found.shape)
            key.append(slice(None))
            places.append(1)
    used = sum(1 if count is None else count for count, p in zip(places, parts, strict=True)
               if p is not None and p is not Ellipsis)  # fmt: skip
    if used > held.ndim:
        raise IndexError(
            f"too many indices for array: array is {held.ndim}-dimensional, but {used} were indexed"
        )
    # lengths that nobody knows fit each other
    together = max(taken, key=math.prod) if unsure else np.broadcast_shapes(*taken)
    rest = held.taken(tuple(key)).shape
    kept: list[int] = []
    at: list[int] = []  # where in the result arrays stood
    numbers: list[int] = []  # and which of the parts they were
    place = 0
    for number, (part, count) in enumerate(zip(parts, places, strict=True)):
        if count is not None:
            at.append(len(kept))
            numbers.append(number)
            place += count
        elif part is Ellipsis:
            length = held.ndim - used
            kept += rest[place : place + length]
            place += length
        else:
            kept.append(rest[place])
            place += 1
    kept += rest[place:]
    beside = numbers[-1] - numbers[0] == len(numbers) - 1
    start = at[0] if beside else 0
    return (*kept[:start], *together, *kept[start:]), unsure, None
