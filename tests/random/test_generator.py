"""The generator itself: seeds, states, copies, threads."""

from __future__ import annotations

import copy
import hashlib
import pickle
import threading

import numpy as np
import pytest

from retrograd.random.generator import DEFAULT_SEED, STATE_SIZE, Generator
from retrograd.random.layout import fill_, in_fill_order, new_like
from retrograd.random.normal import normal
from retrograd.random.uniform import uniform


def test_words_are_those_of_the_mersenne_twister() -> None:
    # The ten-thousandth output for seed 5489, as the C++ standard states it.
    assert Generator().manual_seed(5489).random32(10_000)[-1] == 4123659995


def test_a_new_generator_has_the_default_seed() -> None:
    assert Generator().initial_seed() == DEFAULT_SEED
    state, seeded = Generator().get_state_array(), Generator().manual_seed(DEFAULT_SEED)
    assert np.array_equal(state, seeded.get_state_array())


def test_seeds_count_modulo_2_to_64() -> None:
    assert Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    words = [Generator().manual_seed(seed).random32(5).tolist() for seed in (3, 3 + 2**32)]
    assert words[0] == words[1]  # the stream depends on the low half


@pytest.mark.parametrize(
    ("seed", "kind", "message"),
    [
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
        (1.5, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
    ],
)
def test_seed_errors(seed: int, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Generator().manual_seed(seed)


def test_seed_is_unpredictable_and_known_afterwards() -> None:
    generator = Generator()
    seeds = {generator.seed() for _ in range(4)}
    assert len(seeds) == 4
    assert generator.initial_seed() in seeds


@pytest.mark.parametrize("device", ["cpu", "cpu:0", None])
def test_devices(device: str | None) -> None:
    assert Generator(device).device == "cpu"


def test_other_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        Generator("cuda")


@pytest.mark.parametrize("words", [0, 1, 623, 624, 625, 1248, 5000])
def test_states_are_complete(words: int) -> None:
    generator = Generator().manual_seed(9)
    generator.random32(words)
    normal(generator, 3)  # leaves a second half
    state = generator.get_state_array()
    assert state.dtype == np.uint8 and state.shape == (STATE_SIZE,)
    other = Generator().set_state_array(state)
    assert np.array_equal(other.get_state_array(), state)
    for make in (normal, uniform, normal):
        assert np.array_equal(make(other, 7), make(generator, 7))
    assert np.array_equal(other.get_state_array(), generator.get_state_array())


def test_state_bytes() -> None:
    """The whole layout, against a digest of PyTorch's bytes after the same calls."""
    generator = Generator().manual_seed(5)
    normal(generator, 3)
    uniform(generator, 700)
    digest = hashlib.sha256(generator.get_state_array().tobytes()).hexdigest()
    assert digest.startswith("0ff9f6ede4b570a8")


def test_wrong_states_change_nothing() -> None:
    generator = Generator()
    good = generator.get_state_array()
    for wrong in (good[:-1], good.astype(np.int8), np.zeros_like(good), np.repeat(good, 2)[::2]):
        with pytest.raises((RuntimeError, TypeError)):
            generator.set_state_array(wrong)
    assert np.array_equal(generator.get_state_array(), good)


@pytest.mark.parametrize(
    "duplicate",
    [Generator.clone_state, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))],
)
def test_copies_go_their_own_way(duplicate: object) -> None:
    generator = Generator().manual_seed(2)
    normal(generator, 5)
    twin = duplicate(generator)  # type: ignore[operator]
    assert twin.initial_seed() == 2
    expected = normal(generator, 5)
    assert np.array_equal(normal(twin, 5), expected)
    assert not np.array_equal(normal(twin, 5), expected)


def test_numbers_one_by_one_are_the_same_stream() -> None:
    for skip in (0, 1, 623, 622):
        generator, twin = Generator().manual_seed(1), Generator().manual_seed(1)
        generator.random32(skip)
        twin.random32(skip)
        numbers = twin.each_float64()
        assert generator.float64s(1000).tolist() == [next(numbers) for _ in range(1000)]
        assert np.array_equal(twin.get_state_array(), generator.get_state_array())


def test_words_cannot_be_overwritten() -> None:
    generator = Generator()
    generator.random32(3)
    words = generator.random32(3)
    with pytest.raises(ValueError, match="read-only"):
        words[0] = 0


def test_threads_share_a_generator_call_by_call() -> None:
    """Every call of every thread gets a contiguous piece of the stream, and nothing is lost."""
    size, calls, workers = 700, 30, 4
    generator = Generator().manual_seed(8)
    pieces: list[tuple[float, ...]] = []

    def work() -> None:
        for _ in range(calls):
            pieces.append(tuple(uniform(generator, size).tolist()))

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Generator().manual_seed(8)
    expected = [tuple(uniform(alone, size).tolist()) for _ in range(workers * calls)]
    assert sorted(pieces) == sorted(expected)
    assert np.array_equal(generator.get_state_array(), alone.get_state_array())


def test_values_go_by_stride() -> None:
    target = np.zeros((4, 3, 2)).transpose(1, 2, 0)[:, :, ::2]
    fill_(target, np.arange(12.0))
    assert in_fill_order(target, target).tolist() == list(range(12))
    assert np.argsort([-s for s in target.strides]).tolist() == [2, 0, 1]
    assert target[0, 0].tolist() == [0, 6]
    assert new_like(target).strides == (16, 8, 48)
