"""Exchanges of all as they are written once for every engine: over messages between threads.

A send of these ends when the other side has received, as an engine may do: an order in which
processes wait for each other in a circle does not end.
"""

import threading
from datetime import timedelta
from queue import Queue

import numpy as np
import pytest

from retrograd.distributed.names import ReduceOp
from retrograd.distributed.transports import interface
from retrograd.distributed.transports.interface import Flat, Transport
from tests.limits import LIMIT


class Threads(Transport):
    """A process that is a thread; `mail` is what all of them share."""

    def __init__(self, rank: int, size: int, mail: dict[object, Queue[object]]) -> None:
        super().__init__(rank, size)
        self._mail = mail

    def _box(self, *key: object) -> Queue[object]:
        return self._mail.setdefault(key, Queue())  # no other thread gets another one

    def send(self, array: Flat, to: int, tag: int) -> None:
        self._box(self.rank, to, tag).put(array)
        self._box("taken", self.rank, to, tag).get(timeout=LIMIT)

    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        assert source is not None
        given = self._box(source, self.rank, tag).get(timeout=LIMIT)
        assert isinstance(given, np.ndarray) and given.shape == array.shape
        array[...] = given
        self._box("taken", source, self.rank, tag).put(None)
        return source

    def set_timeout(self, timeout: timedelta) -> None:
        pass

    def close(self) -> None:
        pass


def of_all(size: int, run) -> list[object]:
    """What ``run(transport)`` returns in each of so many processes."""
    mail: dict[object, Queue[object]] = {}
    found: list[object] = [None] * size

    def go(rank: int) -> None:
        found[rank] = run(Threads(rank, size, mail))

    threads = [threading.Thread(target=go, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    return found


@pytest.fixture(params=["one", "halves", "parts"])
def way(request, monkeypatch):
    """Each way to add, whatever the size."""
    limits = {"one": (1 << 40, 1 << 41), "halves": (0, 1 << 40), "parts": (0, 0)}
    by_one, parts = limits[request.param]
    monkeypatch.setattr(interface, "_BY_ONE_BELOW", by_one)
    monkeypatch.setattr(interface, "_PARTS_FROM", parts)
    monkeypatch.setattr(interface, "_PARTS_OF_TWO_FROM", parts)
    return request.param


@pytest.mark.parametrize("size", range(1, 10))
def test_a_sum_is_right_and_has_the_same_bits_everywhere(way, size):
    for count in (0, 1, 2, 7, 8, 9, 64, 101):
        given = np.random.default_rng(count).normal(size=(size, count)).astype(np.float32)
        for op in (ReduceOp.SUM, ReduceOp.MAX):

            def run(transport, given=given, op=op):
                array = given[transport.rank].copy()
                transport.allreduce(array, op, 5)
                return array

            found = of_all(size, run)
            expected = given.sum(0, np.float64) if op is ReduceOp.SUM else given.max(0)
            np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
            assert all(np.array_equal(each, found[0]) for each in found)


def test_the_way_depends_on_the_bytes_and_the_processes():
    class Asked(Threads):
        def __getattribute__(self, name):
            if name.startswith("_reduce"):
                return lambda *args: asked.append(name)
            return super().__getattribute__(name)

    for size, nbytes, name in (
        (2, 1 << 22, "_reduce_by_halves"),
        (2, 1 << 23, "_reduce_halves_of_it"),
        (4, 64, "_reduce_by_one"),
        (4, (1 << 20) - 4, "_reduce_by_one"),
        (4, 1 << 20, "_reduce_halves_of_it"),
        (3, 1 << 20, "_reduce_in_circle"),
        (9, 64, "_reduce_by_halves"),
        (9, 1 << 19, "_reduce_by_halves"),
    ):
        asked = []
        Asked(0, size, {}).allreduce(np.zeros(nbytes, np.uint8), ReduceOp.SUM, 1)
        assert asked == [name]


@pytest.mark.parametrize("size", range(1, 7))
def test_the_other_exchanges(size):
    given = np.arange(size * size * 3.0).reshape(size, size, 3)  # by process and by place

    def run(transport):
        mine, rank = given[transport.rank], transport.rank
        gathered, swapped = np.zeros((size, 3)), np.zeros((size, 3))
        transport.allgather(list(gathered), mine[0].copy(), 1)
        transport.alltoall(list(swapped), list(mine), 2)
        part, copied = np.zeros(3), mine[0].copy()
        transport.reduce_scatter(part, list(mine.copy()), ReduceOp.SUM, 3)
        transport.broadcast(copied, size - 1, 4)
        summed, scattered = mine[0].copy(), np.zeros(3)
        transport.reduce(summed, ReduceOp.SUM, size - 1, 5)
        transport.scatter(scattered, list(mine) if rank == 0 else None, 0, 6)
        held = np.zeros((size, 3))
        transport.gather(list(held) if rank == 0 else None, mine[0].copy(), 0, 7)
        transport.barrier(8)
        return gathered, swapped, part, copied, summed, scattered, held

    for rank, found in enumerate(of_all(size, run)):
        gathered, swapped, part, copied, summed, scattered, held = found
        assert np.array_equal(gathered, given[:, 0]) and np.array_equal(swapped, given[:, rank])
        assert np.array_equal(part, given[:, rank].sum(0))
        assert np.array_equal(copied, given[-1, 0]) and np.array_equal(scattered, given[0, rank])
        assert rank != size - 1 or np.array_equal(summed, given[:, 0].sum(0))
        assert rank or np.array_equal(held, given[:, 0])
