"""What the machine has: devices, their memory, and which device each thread uses."""

from __future__ import annotations

import threading
import weakref

MOST_DEVICES = 2
MEMORY = 1 << 28  # bytes of each device
BLOCK = 512  # the allocator gives whole blocks, as CuPy's and PyTorch's do

_current = threading.local()
_owners: dict[int, tuple[int, int]] = {}  # device and bytes of what owns memory, by its id
used = [0] * MOST_DEVICES
held = [0] * MOST_DEVICES  # what the pool has, in use or not
allocations = [0] * MOST_DEVICES
count = 1


def room_for(size):
    """What the pool does: it refuses what does not fit."""
    if used[current()] + size > MEMORY:
        raise OutOfMemoryError(size, used[current()])


allocator = room_for
waits: list[str] = []  # what the host waited for
hooks: list[object] = []


class OutOfMemoryError(MemoryError):
    """CuPy's error, in its words."""

    def __init__(self, size, total):
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes)."
        )


def start(devices):
    """A machine on which nothing has happened."""
    global count, allocator
    count, allocator = devices, room_for
    _current.__dict__.clear()
    waits.clear()
    hooks.clear()
    for index in range(MOST_DEVICES):
        used[index] = held[index] = allocations[index] = 0
    _owners.clear()


def current():
    return getattr(_current, "index", 0)


def use(index):
    if not 0 <= index < count:
        raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
    _current.index = index


def _root(held_array):
    while True:
        owner = held_array.base
        if owner is None:
            return held_array
        held_array = getattr(owner, "base", None) if not hasattr(owner, "dtype") else owner
        if held_array is None:
            return owner


def device_of(held_array):
    """The device of a NumPy array that stands for memory there; new memory is the current's."""
    root = _root(held_array)
    found = _owners.get(id(root))
    return current() if found is None else found[0]


def note(held_array):
    """Count memory that was not seen before."""
    root = _root(held_array)
    if id(root) in _owners:
        return
    index, size = current(), -(-root.nbytes // BLOCK) * BLOCK
    allocator(size)
    _owners[id(root)] = index, size
    used[index] += size
    allocations[index] += 1
    held[index] = max(held[index], used[index])
    weakref.finalize(root, _release, id(root), index, size).atexit = False


def _release(key, index, size):
    if _owners.pop(key, None) is not None:
        used[index] -= size
