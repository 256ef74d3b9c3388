"""Keep large freed blocks in the process instead of returning them to the system.

glibc gives blocks above a threshold back at every `free`; the next large array then pays a page
fault for every 4 kB. That is a large part of the time of elementwise work on large arrays. Two
`mallopt` settings keep such blocks for reuse. The price: the process stays at its peak size.
`give_back` returns what is free to the system, once; ``RETROGRAD_KEEP_MEMORY=0`` in the environment
leaves the allocator alone.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3


@functools.cache
def _library() -> ctypes.CDLL:
    """The C library: opened once, since each time makes classes that only the collector frees."""
    return ctypes.CDLL(None)


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks; False where it is another allocator, or switched off."""
    if os.environ.get("RETROGRAD_KEEP_MEMORY") == "0" or not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = _library().mallopt
    except (OSError, AttributeError):  # a C library without it
        return False
    mallopt.argtypes = (ctypes.c_int, ctypes.c_int)
    mallopt.restype = ctypes.c_int
    return bool(mallopt(_MMAP_THRESHOLD, 1 << 30)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))


class _Allocated(ctypes.Structure):
    """What glibc tells of its blocks; sizes in bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",  # in blocks that have pages of their own
            "usmblks",
            "fsmblks",
            "uordblks",  # in all other blocks that are in use
            "fordblks",
            "keepcost",
        )
    )


def bytes_in_use() -> int:
    """What is allocated and not freed, arrays above all; 0 where the C library does not tell.

    >>> from retrograd.backend import memory
    >>> memory.bytes_in_use() >= 0
    True
    """
    try:
        tell = _library().mallinfo2
    except (OSError, AttributeError, TypeError):  # a C library without it
        return 0
    tell.restype = _Allocated
    told = tell()
    return int(told.hblkhd + told.uordblks)


def give_back() -> bool:
    """Return freed memory to the system now, as after a peak; False where the C library cannot.

    >>> from retrograd.backend import memory
    >>> returned = memory.give_back()
    """
    try:
        _library().malloc_trim(0)
    except (OSError, AttributeError, TypeError):  # a C library without it
        return False
    return True
