"""How an array without elements would lie in memory: its shape, its strides, where it begins.

What is a view, and which strides it has, is NumPy's rule in every case, its errors included.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from retrograd.backend.arrays import DType

NO_DATA = "Cannot copy out of meta tensor; no data!"
ITEM = "Tensor.item() cannot be called on meta tensors"

LARGEST = 2**62
"""So many bytes an array may take."""


class NoNumbers(RuntimeError):
    """A kernel asks for elements that are not there."""


class Inside(threading.local):
    """How many kernels this thread is in."""

    kernels: int = 0


INSIDE = Inside()


def no_item() -> RuntimeError:
    """What to raise where a number is asked for: PyTorch's error, unless a kernel asks."""
    return NoNumbers(ITEM) if INSIDE.kernels else RuntimeError(ITEM)


class Memory:
    """What stands for the memory of one array and of its views.

    address  where it would be, for who tells arrays apart by that
    """

    __slots__ = ("address",)

    _next = 64
    _lock = threading.Lock()

    def __init__(self, size: int) -> None:
        with Memory._lock:
            self.address = Memory._next
            Memory._next += (size // 64 + 1) * 64


class Layout:
    """One way to see a memory.

    offset  how many bytes after the memory's beginning the first element lies
    """

    __slots__ = ("dtype", "memory", "offset", "shape", "strides", "writeable")

    def __init__(
        self,
        memory: Memory,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int = 0,
        writeable: bool = True,
    ) -> None:
        self.memory, self.dtype = memory, dtype
        self.shape, self.strides, self.offset = shape, strides, offset
        self.writeable = writeable

    def __repr__(self) -> str:
        return f"<layout {self.shape} {self.strides} {self.dtype}>"

    # ------------------------------------------------------------------------------------ facts

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def address(self) -> int:
        """Where the first element would lie."""
        return self.memory.address + self.offset

    def is_contiguous(self, axes: Iterable[int]) -> bool:
        """Whether elements lie side by side with these dimensions from the fastest on."""
        if 0 in self.shape:
            return True
        step = self.dtype.itemsize
        for axis in axes:
            length = self.shape[axis]
            if length != 1:
                if self.strides[axis] != step:
                    return False
                step *= length
        return True

    def bounds(self) -> tuple[int, int]:
        """The first byte, and the one after the last."""
        reach = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(x for x in reach if x < 0)
        return low, self.offset + sum(x for x in reach if x > 0) + self.dtype.itemsize

    # ------------------------------------------------------------------------------------ views

    def seen(
        self, shape: Sequence[int], strides: Sequence[int], more: int = 0, dtype: Any = None
    ) -> Layout:
        """The same memory otherwise, from `more` bytes further on."""
        kind = self.dtype if dtype is None else dtype
        offset = self.offset + more
        return Layout(self.memory, kind, tuple(shape), tuple(strides), offset, self.writeable)

    def taken(self, parts: tuple[Any, ...]) -> Layout:
        """What a basic index takes."""
        used = sum(part is not None and part is not Ellipsis for part in parts)
        if used > self.ndim:
            raise IndexError(
                f"too many indices for array: array is {self.ndim}-dimensional, but {used} were "
                "indexed"
            )
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, Ellipsis)
        shape: list[int] = []
        strides: list[int] = []
        axis = more = 0
        for part in parts:
            if part is Ellipsis:
                rest = self.ndim - used
                shape += self.shape[axis : axis + rest]
                strides += self.strides[axis : axis + rest]
                axis += rest
            elif part is None:
                shape.append(1)
                strides.append(0)
            elif isinstance(part, slice):
                start, stop, step = part.indices(self.shape[axis])
                length = len(range(start, stop, step))
                shape.append(length)
                strides.append(self.strides[axis] * (step if length else 1))
                more += self.strides[axis] * (start if length else 0)
                axis += 1
            else:
                length, place = self.shape[axis], int(part)
                if not -length <= place < length:
                    raise IndexError(
                        f"index {place} is out of bounds for axis {axis} with size {length}"
                    )
                more += self.strides[axis] * (place % length)
                axis += 1
        return self.seen(shape, strides, more)

    def transpose(self, *axes: Any) -> Layout:
        """The dimensions in another order."""
        order = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        if order is None or not axes:
            order = range(self.ndim)[::-1]
        if len(order) != self.ndim:
            raise ValueError("axes don't match array")
        places = axes_of(order, self.ndim)
        if len(set(places)) != self.ndim:
            raise ValueError("repeated axis in transpose")
        return self.seen([self.shape[a] for a in places], [self.strides[a] for a in places])

    def swapaxes(self, first: int, second: int) -> Layout:
        """Two dimensions exchanged."""
        one, other = axes_of((first, second), self.ndim)
        order = list(range(self.ndim))
        order[one], order[other] = other, one
        return self.transpose(order)

    def moveaxis(self, source: Any, target: Any) -> Layout:
        """Dimensions moved to other places."""
        sources, targets = axes_of(source, self.ndim), axes_of(target, self.ndim)
        order = [axis for axis in range(self.ndim) if axis not in sources]
        for place, axis in sorted(zip(targets, sources, strict=True)):
            order.insert(place, axis)
        return self.transpose(order)

    def squeeze(self, axis: Any = None) -> Layout:
        """Without dimensions of length 1."""
        if axis is None:
            gone = [place for place, length in enumerate(self.shape) if length == 1]
        else:
            gone = axes_of(axis, self.ndim)
            if any(self.shape[place] != 1 for place in gone):
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to one"
                )
        kept = [place for place in range(self.ndim) if place not in gone]
        return self.seen([self.shape[a] for a in kept], [self.strides[a] for a in kept])

    def expand_dims(self, axis: Any) -> Layout:
        """With dimensions of length 1 at these places."""
        count = 1 if hasattr(axis, "__index__") else len(axis)
        places = axes_of(axis, self.ndim + count)
        shape = iter(self.shape)
        strides = iter(self.strides)
        wide = range(self.ndim + count)
        return self.seen(
            [1 if place in places else next(shape) for place in wide],
            [0 if place in places else next(strides) for place in wide],
        )

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Layout:
        """A diagonal, as the last dimension."""
        one, other = axes_of((axis1, axis2), self.ndim)
        if one == other:
            raise ValueError("axis1 and axis2 cannot be the same")
        right, down = max(offset, 0), max(-offset, 0)
        length = max(min(self.shape[one] - down, self.shape[other] - right), 0)
        more = (down * self.strides[one] + right * self.strides[other]) if length else 0
        kept = [axis for axis in range(self.ndim) if axis not in (one, other)]
        return self.seen(
            [*(self.shape[a] for a in kept), length],
            [*(self.strides[a] for a in kept), self.strides[one] + self.strides[other]],
            more,
        )

    def broadcast_to(self, shape: tuple[int, ...]) -> Layout:
        """Repeated along dimensions; what is seen so may not be written."""
        missing = len(shape) - self.ndim
        fits = missing >= 0 and all(
            have in (1, wanted) for have, wanted in zip(self.shape, shape[missing:], strict=False)
        )
        if not fits:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes "
                f"[original->remapped]: {self.shape} and requested shape {shape}"
            )
        own = [0 if n == 1 else step for n, step in zip(self.shape, self.strides, strict=True)]
        found = self.seen(shape, [0] * missing + own)
        found.writeable = False
        return found

    def viewed(self, dtype: DType) -> Layout:
        """As elements of another dtype."""
        before, after = self.dtype.itemsize, dtype.itemsize
        if before == after:
            return self.seen(self.shape, self.strides, 0, dtype)
        if not self.ndim:
            raise ValueError(
                "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
            )
        last = self.shape[-1]
        if last != 1 and self.size and self.strides[-1] != before:
            raise ValueError(
                "To change to a dtype of a different size, the last axis must be contiguous"
            )
        if (last * before) % after:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in "
                "bytes of the last axis of the array."
            )
        shape = (*self.shape[:-1], last * before // after)
        return self.seen(shape, (*self.strides[:-1], after), 0, dtype)

    def part(self, place: int) -> Layout:
        """The real (0) or imaginary (1) parts of complex numbers."""
        half = self.dtype.itemsize // 2
        return self.seen(self.shape, self.strides, place * half, np.dtype(f"f{half}"))

    def reshaped(self, shape: tuple[int, ...], order: Any = "C") -> Layout | None:
        """In another shape of as many elements; None where that takes a copy."""
        in_rows = self.is_contiguous(range(self.ndim)[::-1])
        by_columns = order == "F" or (
            order == "A" and not in_rows and self.is_contiguous(range(self.ndim))
        )
        if by_columns:
            found = self.transpose().reshaped(shape[::-1])
            return None if found is None else found.transpose()
        if in_rows:
            return self.seen(shape, steps_of(shape, self.dtype.itemsize, bool(self.size)))
        strides = _strides_for(self.shape, self.strides, shape, self.dtype.itemsize)
        return None if strides is None else self.seen(shape, strides)


def made(shape: tuple[int, ...], dtype: DType) -> Layout:
    """A new layout, row by row."""
    unit = dtype.itemsize
    memory = Memory(math.prod(shape) * unit)
    return Layout(memory, dtype, shape, steps_of(shape, unit, 0 not in shape))


def steps_of(shape: tuple[int, ...], unit: int, elements: bool = True) -> tuple[int, ...]:
    """Strides of rows; NumPy gives an array without elements none."""
    if not elements:
        return (0,) * len(shape)
    steps = []
    for length in reversed(shape):
        steps.append(unit)
        unit *= length
    return tuple(reversed(steps))


def _strides_for(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...], unit: int
) -> list[int] | None:
    """The strides of another shape over the same memory, or None: NumPy's way to find them.

    Runs of dimensions with the same number of elements belong together; those of the old shape
    must lie in each other without gaps.
    """
    old = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    found = [0] * len(wanted)
    here, there = 0, 0
    while there < len(wanted) and here < len(old):
        next_here, next_there = here + 1, there + 1
        before, after = old[here][0], wanted[there]
        while before != after:
            if after < before:
                after *= wanted[next_there]
                next_there += 1
            else:
                before *= old[next_here][0]
                next_here += 1
        for place in range(here, next_here - 1):
            if old[place][1] != old[place + 1][0] * old[place + 1][1]:
                return None
        step = old[next_here - 1][1]
        for place in range(next_there - 1, there - 1, -1):
            found[place] = step
            step *= wanted[place]
        here, there = next_here, next_there
    last = found[there - 1] if there else unit
    for place in range(there, len(wanted)):
        found[place] = last
    return found


def axes_of(axes: Any, ndim: int) -> list[int]:
    """Dimensions counted from the front."""
    found = []
    for axis in (axes,) if hasattr(axes, "__index__") else axes:
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(int(axis), ndim)
        found.append(int(axis) % ndim)
    return found


def shares_memory(first: Layout, second: Layout) -> bool:
    """Whether two layouts may share memory, by their bounds."""
    if first.memory is not second.memory or not first.size or not second.size:
        return False
    (low, high), (start, end) = first.bounds(), second.bounds()
    return low < end and start < high


def is_basic(part: object) -> bool:
    """Whether a part of an index asks for a view."""
    if isinstance(part, (bool, np.bool_)):
        return False
    return part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer))


def resolved(size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with the one length that it leaves open."""
    missing = shape.count(-1)
    known = math.prod(n for n in shape if n != -1)
    if missing == 1 and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if missing or known != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape
