"""What an engine must do so that processes can work together, and what follows from it.

An engine sends an array to one other process and receives one. The exchange of all processes is
written here once, on that; an engine that has better ones of its own replaces them.

Arrays are flat and contiguous; those of NumPy every engine takes. Calls return when the array may
be used again. A tag is a number of 31 bits: what was sent under a tag is received under the same
one, or not at all.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrograd.distributed.names import ReduceOp

Flat = NDArray[Any]

COMBINE: dict[ReduceOp, np.ufunc] = {
    ReduceOp.SUM: np.add,
    ReduceOp.AVG: np.add,  # the sum is divided where tensors are known
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and,
    ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}

# How a sum of more than two processes is made depends on its bytes and their number, as measured by
# `python -m benchmarks.exchanges --processes 4`. Below the first one process adds, while those are
# few: all messages to it wait already, where every other way has rounds that wait for each other.
# From the second on no process carries all of it; two processes add in one exchange up to the last.
_BY_ONE_BELOW = 1 << 20
_BY_ONE_UP_TO = 8  # processes
_PARTS_FROM = 1 << 20
_PARTS_OF_TWO_FROM = 1 << 23


class Transport(ABC):
    """The way of one process to the others of its group.

    arrays  the classes of arrays that it takes, where an engine reaches a device's memory
    ops     the ways to reduce that it knows
    of_any  whether it can receive from any process
    tags    whether a message is received under the tag under which it was sent; if not, messages
            between two processes arrive in the order in which they were begun
    """

    arrays: tuple[type[Any], ...] = (np.ndarray,)
    ops: frozenset[ReduceOp] = frozenset(COMBINE)
    of_any = True
    tags = True

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size

    @abstractmethod
    def send(self, array: Flat, to: int, tag: int) -> None:
        """Send an array to another process."""

    @abstractmethod
    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        """Receive an array from a process, or from any; who it was."""

    @abstractmethod
    def set_timeout(self, timeout: timedelta) -> None:
        """How long an exchange may wait for the other process."""

    @abstractmethod
    def close(self) -> None:
        """End all connections; exchanges that wait fail."""

    def ready(self) -> Any:
        """What an exchange that begins now has to wait for, where a device computes beside it."""
        return None

    def perform(self, run: Callable[[], None], ready: Any) -> None:
        """Run an exchange on the thread of its group, after what was `ready` when it began."""
        run()

    def post(self, array: Flat, to: int, tag: int) -> None:
        """Send a program's message: beside the exchanges of all, and others' messages."""
        self.send(array, to, tag)

    def fetch(self, array: Flat, source: int | None, tag: int) -> int:
        """Receive a program's message; who sent it."""
        return self.recv(array, source, tag)

    def waits_end(self) -> float:
        """When the last wait of the engine ends that nothing can end before; a monotonic time."""
        return 0.0

    def end_all(self) -> None:  # noqa: B027 - most have nothing to do
        """End the other processes with this one, where the engine has to."""

    # ------------------------------------------------------------------ exchange of all

    def exchange(self, given: Flat, to: int, taken: Flat, source: int, tag: int) -> None:
        """Send to one process and receive from one, as all do at the same time in a circle.

        A send may last until the other receives. In pairs the lower goes first; in a circle the
        even ones do, and one odd process is enough for it to come around.
        """
        first = self.rank < to if to == source else self.rank % 2 == 0
        if first:
            self.send(given, to, tag)
        self.recv(taken, source, tag)
        if not first:
            self.send(given, to, tag)

    def barrier(self, tag: int) -> None:
        """Wait for all processes."""
        token = np.zeros(1, np.uint8)
        self.allreduce(token, ReduceOp.SUM, tag)

    def allreduce(self, array: Flat, op: ReduceOp, tag: int) -> None:
        """The arrays of all become one, in place and with the same bits everywhere."""
        if self.size == 1 or not array.size:
            return
        parts_from = _PARTS_OF_TWO_FROM if self.size == 2 else _PARTS_FROM
        if array.nbytes >= parts_from and array.size >= self.size:
            whole_power = self.size & (self.size - 1) == 0
            way = self._reduce_halves_of_it if whole_power else self._reduce_in_circle
        elif array.nbytes < _BY_ONE_BELOW and 2 < self.size <= _BY_ONE_UP_TO:
            way = self._reduce_by_one
        else:
            way = self._reduce_by_halves
        way(array, COMBINE[op], tag)

    def _reduce_by_one(self, array: Flat, combine: np.ufunc, tag: int) -> None:
        """The first process receives from all, and gives them the result."""
        if self.rank:
            self.send(array, 0, tag)
            self.recv(array, 0, tag)
            return
        other = np.empty_like(array)
        for rank in range(1, self.size):
            self.recv(other, rank, tag)
            combine(array, other, out=array)
        for rank in range(1, self.size):
            self.send(array, rank, tag)

    def _reduce_by_halves(self, array: Flat, combine: np.ufunc, tag: int) -> None:
        """Every process doubles the number of those it has in its sum, at each step.

        a + b and b + a have the same bits, so all have. Those beyond a power of two give theirs to
        another first, and get the result in the end.
        """
        power = 1 << (self.size.bit_length() - 1)
        other, over = np.empty_like(array), self.size - power
        if self.rank >= power:
            self.send(array, self.rank - power, tag)
            self.recv(array, self.rank - power, tag)
            return
        if self.rank < over:
            self.recv(other, self.rank + power, tag)
            combine(array, other, out=array)
        step = 1
        while step < power:
            partner = self.rank ^ step
            self.exchange(array, partner, other, partner, tag)
            combine(array, other, out=array)
            step *= 2
        if self.rank < over:
            self.send(array, self.rank + power, tag)

    def _reduce_halves_of_it(self, array: Flat, combine: np.ufunc, tag: int) -> None:
        """Each step leaves a process half of what it adds, and the same steps back give it all.

        The number of processes is a power of two. It moves as much as parts in a circle do, in
        twice its logarithm of steps.
        """
        begin, end, step = 0, array.size, self.size // 2
        other = np.empty(array.size - array.size // 2, array.dtype)
        steps: list[tuple[int, Flat, Flat]] = []
        while step:
            partner, middle = self.rank ^ step, (begin + end) // 2
            lower, upper = array[begin:middle], array[middle:end]
            if self.rank < partner:
                kept, given, end = lower, upper, middle
            else:
                kept, given, begin = upper, lower, middle
            taken = other[: kept.size]
            self.exchange(given, partner, taken, partner, tag)
            combine(kept, taken, out=kept)
            steps.append((partner, kept, given))
            step //= 2
        for partner, kept, given in reversed(steps):
            self.exchange(kept, partner, given, partner, tag)

    def _reduce_in_circle(self, array: Flat, combine: np.ufunc, tag: int) -> None:
        """Parts go around in a circle until each is the sum of all, and then once more."""
        parts = np.array_split(array, self.size)
        self._reduce_circle(parts, combine, tag)
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for step in range(self.size - 1):
            given, taken = parts[(self.rank - step) % self.size], (self.rank - step - 1)
            self.exchange(given, right, parts[taken % self.size], left, tag)

    def _reduce_circle(self, parts: Sequence[Flat], combine: np.ufunc, tag: int) -> None:
        """The part with a process's own number becomes the sum of all; others are spoiled."""
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        other = np.empty(max(part.size for part in parts), parts[0].dtype)
        for step in range(1, self.size):
            given = parts[(self.rank - step) % self.size]
            kept = parts[(self.rank - step - 1) % self.size]
            taken = other[: kept.size]
            self.exchange(given, right, taken, left, tag)
            combine(kept, taken, out=kept)

    def reduce_scatter(self, output: Flat, inputs: Sequence[Flat], op: ReduceOp, tag: int) -> None:
        """The arrays with a process's number, of all processes, become its output.

        The inputs are spoiled.
        """
        if self.size > 1:
            self._reduce_circle(inputs, COMBINE[op], tag)
        output[...] = inputs[self.rank]

    def reduce(self, array: Flat, op: ReduceOp, root: int, tag: int) -> None:
        """The arrays of all become one in the process `root`; in others nothing changes."""
        place = (self.rank - root) % self.size
        mine, other, step = array, np.empty_like(array), 1
        if place and not place & step:
            mine = array.copy()
        while step < self.size:
            if place & step:
                self.send(mine, (self.rank - step) % self.size, tag)
                return
            if place + step < self.size:
                self.recv(other, (self.rank + step) % self.size, tag)
                COMBINE[op](mine, other, out=mine)
            step *= 2

    def broadcast(self, array: Flat, root: int, tag: int) -> None:
        """The array of the process `root` becomes that of all."""
        place, step = (self.rank - root) % self.size, 1
        while step < self.size:
            if place < step:
                if place + step < self.size:
                    self.send(array, (self.rank + step) % self.size, tag)
            elif place < 2 * step:
                self.recv(array, (self.rank - step) % self.size, tag)
            step *= 2

    def allgather(self, outputs: Sequence[Flat], array: Flat, tag: int) -> None:
        """The outputs become the arrays of all."""
        outputs[self.rank][...] = array
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for step in range(self.size - 1):
            given = outputs[(self.rank - step) % self.size]
            taken = outputs[(self.rank - step - 1) % self.size]
            self.exchange(given, right, taken, left, tag)

    def gather(self, outputs: Sequence[Flat] | None, array: Flat, root: int, tag: int) -> None:
        """The outputs, in the process `root`, become the arrays of all."""
        if self.rank != root:
            self.send(array, root, tag)
            return
        assert outputs is not None
        outputs[root][...] = array
        for other in range(self.size):
            if other != root:
                self.recv(outputs[other], other, tag)

    def scatter(self, output: Flat, arrays: Sequence[Flat] | None, root: int, tag: int) -> None:
        """The arrays of the process `root` become the outputs, of one process each."""
        if self.rank != root:
            self.recv(output, root, tag)
            return
        assert arrays is not None
        output[...] = arrays[root]
        for other in range(self.size):
            if other != root:
                self.send(arrays[other], other, tag)

    def alltoall(self, outputs: Sequence[Flat], inputs: Sequence[Flat], tag: int) -> None:
        """Each process gives one of its arrays to each."""
        outputs[self.rank][...] = inputs[self.rank]
        for step in range(1, self.size):
            to, source = (self.rank + step) % self.size, (self.rank - step) % self.size
            given, taken = inputs[to], outputs[source]
            # Sizes are each pair's own affair: in the tag, they cannot be taken for others.
            self._pairwise(given, to, taken, source, tag)

    def _pairwise(self, given: Flat, to: int, taken: Flat, source: int, tag: int) -> None:
        sent, received = sized(tag, given), sized(tag, taken)
        # In a circle of this step's length the lowest process receives first, which opens it.
        if self.rank < to:
            self.send(given, to, sent)
        self.recv(taken, source, received)
        if self.rank >= to:
            self.send(given, to, sent)


def sized(tag: int, array: Flat) -> int:
    """A tag that only an array with as many bytes has."""
    return zlib.crc32(b"%d %d" % (tag, array.nbytes)) & 0x7FFFFFFF
