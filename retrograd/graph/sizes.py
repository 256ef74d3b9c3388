"""Sizes in memory, as users give them."""

from __future__ import annotations

import re

_UNITS = {
    **{"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
    **{"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def bytes_of(size: int | str, what: str) -> int:
    """A number of bytes, from the number or from a text; `what` it is, for errors.

    >>> bytes_of("1.5 MB", "limit"), bytes_of("2KiB", "limit"), bytes_of(10, "limit")
    (1500000, 2048, 10)
    """
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        if found is None or found[2].lower() not in _UNITS:
            raise ValueError(f'{what} must be a size such as "200MB", "1.5GB" or "64KiB": {size!r}')
        return round(float(found[1]) * _UNITS[found[2].lower()])
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f'{what} must be a number of bytes or a text such as "200MB": {size!r}')
    if size < 0:
        raise ValueError(f"{what} must not be negative: {size}")
    return size
