"""The definition of PyTorch's generator on CUDA devices: known answers, and where draws stand."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.random import philox
from retrograd.random.philox import Grid, Position

H200 = Grid(132, 2048)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@pytest.mark.parametrize(
    ("seed", "counter", "stream", "answer"),
    # from the article that Philox comes from (Salmon and others, 2011): its known answers
    [
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (ONES, ONES, ONES, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0A4093822,
            0x85A308D3243F6A88,
            0x0370734413198A2E,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(seed, counter, stream, answer):
    found = philox.philox(int(seed), np.uint64(counter), np.uint64(stream))
    assert tuple(int(word) for word in found) == answer


def test_one_word_per_thread_then_the_next_lane():
    at = Position(42, 0, Grid(1, 256))  # one block of 256 threads
    lanes = philox.philox(42, np.uint64(0), np.arange(256, dtype=np.uint64))
    assert (philox.words32(at, 1024).reshape(4, 256) == np.array(lanes)).all()
    # a fifth number of a thread comes from its next four words
    again = philox.philox(42, np.uint64(1), np.arange(256, dtype=np.uint64))
    assert (philox.words32(at, 1280)[1024:] == again[0]).all()


@pytest.mark.parametrize(
    ("count", "lanes", "increment"),
    [(1, 4, 4), (1_081_344, 4, 4), (1_081_345, 4, 8), (540_672, 2, 4), (540_673, 2, 8)],
)
def test_offsets(count, lanes, increment):
    assert H200.increment(count, lanes) == increment


def test_uniform_reaches_the_low_bound_and_not_the_high_one():
    at = Position(3, 8, H200)
    values = philox.uniform(at, 100_000, 1.0, 1.01, np.dtype(np.float16))
    assert sorted(set(values.tolist())) == [1 + i / 1024 for i in range(10)]


@pytest.mark.parametrize("bits", [3, 32])
def test_orders_of_equal_keys_are_shuffled(bits):
    keys = np.array([5, 1, 5, 13, 5, 2, -3], np.int32)
    orders = {
        tuple(philox.order(Position(seed, 4, H200), keys, bits).tolist()) for seed in range(60)
    }
    if bits == 3:  # 5, 13 and -3 are the same there
        assert len(orders) > 30 and all(order[:2] == (1, 5) for order in orders)
    else:
        assert len(orders) == 6 and all(order[:3] == (6, 1, 5) for order in orders)
