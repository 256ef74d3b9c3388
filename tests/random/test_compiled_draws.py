"""Compiled draws give the numbers, and the place in the stream, of the Python code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrograd.backend import kernels
from retrograd.backend.kernels import twins
from retrograd.random import (
    continuous,
    discrete,
    integers,
    multinomial,
    normal,
    permutation,
    uniform,
)
from retrograd.random.generator import Generator

pytestmark = pytest.mark.skipif(not kernels.AVAILABLE, reason="the compiled kernels are missing")

NAMES = [name for name in kernels.__all__ if name.startswith("draw_")] + ["largest_places"]
COUNTS = [0, 1, 2, 3, 7, 15, 16, 17, 31, 48, 100, 624, 1300, 5000]
REALS = [np.dtype(np.float32), np.dtype(np.float64)]

Draw = Callable[[Generator], Any]

WRONG: dict[str, list[tuple[Any, ...]]] = {
    "uniform": [(2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (0, 1), (0.5,)],
    "normal": [(0.0, -1.0), (0.0, np.nan), (np.inf, 1.0), (1e31, 1.0), (0.0, 1), (0.5,)],
    "ones": [(1.5,), (-0.1,), (np.nan,), (1,)],
    "cauchy": [(0.0, 0.0), (np.nan, 1.0), (0.0, -1.0), (0, 1.0), (np.inf, 1.0)],
    "log_normal": [(0.0, 0.0), (np.nan, 1.0), (0.0, -1.0), (0, 1.0), (np.inf, 1.0)],
    "geometric": [(0.0,), (1.0,), (-0.5,), (np.nan,), (1,)],
    "exponential": [(0.0,), (-1.0,), (np.nan,), (np.inf,), (1,)],
}


def both(draw: Draw, monkeypatch: pytest.MonkeyPatch, used: int = 0) -> None:
    """A draw compiled and in Python, after `used` words of the stream."""
    results = []
    for compiled in (True, False):
        generator = Generator().manual_seed(11)
        generator.random32(used)
        with monkeypatch.context() as patch:
            for name in () if compiled else NAMES:
                patch.setattr(kernels, name, getattr(twins, name))
            made = [draw(generator) for _ in range(3)]
            state = generator.get_state_array()
        results.append(([(m.dtype, m.shape, m.tobytes()) for m in made], state.tobytes()))
    assert results[0] == results[1]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_real_numbers(count: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both(lambda g: uniform.uniform(g, count, 0.0, 1.0, dtype), monkeypatch, 600)
    both(lambda g: normal.normal(g, count, 0.0, 1.0, dtype), monkeypatch, 601)
    both(lambda g: normal.normal(g, count, 1.5, 0.1, dtype), monkeypatch)
    both(lambda g: normal.normal(g, count, 0.0, 3.0, dtype), monkeypatch, 623)
    both(lambda g: normal.normal_(g, np.empty(count, dtype), -2.0, 1.0), monkeypatch)
    both(lambda g: normal.serial_normals(g, count, 0.5, 2.0, dtype), monkeypatch)
    mean, std = np.linspace(-2, 3, count, dtype=dtype), np.linspace(0, 7, count, dtype=dtype)
    both(lambda g: normal.normal_from_arrays(g, mean, std), monkeypatch, 601)
    for low, high in ((-1.0, 1.0), (0.0, 3.0), (1.0, 1.0 + 2.0**-20), (1e-30, 1e30), (2.0, 2.0)):
        both(lambda g, a=low, b=high: uniform.uniform(g, count, a, b, dtype), monkeypatch)
        made = np.empty(count, dtype)
        both(lambda g, a=low, b=high, m=made: uniform.uniform_(g, m, a, b), monkeypatch, 5)
    for rate in (1.0, 0.3, 1e20):
        made = np.empty(count, dtype)
        both(lambda g, r=rate, m=made: continuous.exponential_(g, m, r), monkeypatch, 5)
    for centre, width in ((0.0, 1.0), (1.0, 2.0), (-3.0, 1e-3), (60.0, 15.0), (100.0, 300.0)):
        made = np.empty(count, dtype)
        both(lambda g, c=centre, w=width, m=made: continuous.cauchy_(g, m, c, w), monkeypatch, 5)
        both(
            lambda g, c=centre, w=width, m=made: continuous.log_normal_(g, m, c, w), monkeypatch, 5
        )
    for chance in (0.5, 1e-9, 0.999):
        made = np.empty(count, dtype)
        both(lambda g, p=chance, m=made: discrete.geometric_(g, m, p), monkeypatch, 623)
    for chance in (0.3, 0.0, 1.0, 2.0**-60, 0.5):
        both(lambda g, p=chance: discrete.bernoulli(g, count, p, dtype), monkeypatch)
        both(lambda g, p=chance: discrete.bernoulli_(g, np.empty(count, dtype), p), monkeypatch)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_targets_are_filled_in_the_order_of_memory(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shape in ((2, 3), (5, 8), ()):
        both(lambda g, s=shape: normal.normal_(g, np.empty(s, dtype)), monkeypatch)
        both(lambda g, s=shape: uniform.uniform_(g, np.empty(s, dtype).T), monkeypatch)
    both(lambda g: uniform.uniform_(g, np.empty((4, 6), dtype)[:, ::2]), monkeypatch)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 17), (8, 4), (3, 700), (40, 130)], ids=str)
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_indices(shape: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).random(shape).astype(dtype)
    rows[:, 1:2] = 0
    both(lambda g: multinomial.multinomial(g, rows, 1), monkeypatch)
    both(lambda g: multinomial.multinomial(g, rows, 1, True), monkeypatch)
    both(lambda g: multinomial.multinomial(g, rows, 9, True), monkeypatch)
    both(lambda g: multinomial.multinomial(g, rows[0], 3, True), monkeypatch)
    for count in range(2, min(shape[1] + 1, 70), 5):
        both(lambda g, n=count: multinomial.multinomial(g, rows, n), monkeypatch, 600)
        both(lambda g, n=count: multinomial.multinomial(g, rows[0], n), monkeypatch)
        ties = np.where(rows > rows.max(axis=1, keepdims=True) / 2, rows, 0)
        both(lambda g, n=count, w=ties: multinomial.multinomial(g, w, n), monkeypatch)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_the_largest_places_leave_equals_to_python(dtype: Any) -> None:
    row = np.array([3, 1, 2, 2, 5, 0], dtype)
    assert kernels.largest_places(row, 2).tolist() == [4, 0]
    assert kernels.largest_places(np.stack([row, -row]), 1).tolist() == [[4], [5]]
    for count in (3, 4, 6, 0, 7):
        assert kernels.largest_places(row, count) is None
    assert kernels.largest_places(row[[0, 1, 2]], 3).tolist() == [0, 2, 1]
    for odd in (np.nan, np.inf, -np.inf):
        assert kernels.largest_places(np.array([1, odd, 2], dtype), 1) is None
    assert kernels.largest_places(row[::2], 1) is None
    assert kernels.largest_places(row.astype(int), 1) is None


@pytest.mark.parametrize("bad", [np.inf, np.nan, -1.0])
def test_weights_that_are_none_draw_nothing_compiled(bad: float) -> None:
    generator = Generator().manual_seed(0)
    rows = np.array([[1.0, 2.0], [1.0, bad]])
    assert kernels.draw_indices(generator, rows) is None
    assert kernels.draw_scores(generator, rows) is None
    assert kernels.draw_again(generator, np.zeros((1, 2)), 3) is None
    assert generator.get_state_array().tobytes() == (
        Generator().manual_seed(0).get_state_array().tobytes()
    )


def test_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in COUNTS:
        both(lambda g, n=count: permutation.randperm(g, n), monkeypatch, 620)
        for low, high in ((0, 10), (-5, 3), (0, 2**28 - 1), (0, 2**28), (-(2**62), 7)):
            both(lambda g, n=count, a=low, b=high: integers.randint(g, n, a, b), monkeypatch, 620)
        for kind in (np.int64, np.float32, np.float64, np.int32):
            for low, high in ((0, 10), (-5, 3), (-(2**24), 2**24), (-7, -6)):
                made = np.empty(count, kind)
                both(
                    lambda g, m=made, a=low, b=high: integers.randint_(g, m, a, b), monkeypatch, 620
                )


@pytest.mark.parametrize("name", [*WRONG])
def test_arguments_that_python_explains_draw_nothing(name: str) -> None:
    generator, target = Generator().manual_seed(0), np.empty(3)
    draw = getattr(kernels, f"draw_{name}")
    for arguments in WRONG[name]:
        assert draw(generator, target, target.dtype, *arguments) is None
    for other in (np.empty((4, 4)).T[:, 1:], np.empty(3, np.float16), np.empty(3, int)):
        assert draw(generator, other, other.dtype, *((1.0,) * (len(WRONG[name][0])))) is None
    fresh = Generator().manual_seed(0)
    assert generator.get_state_array().tobytes() == fresh.get_state_array().tobytes()


def test_the_compiled_twister_makes_the_words_of_numpy() -> None:
    for seed in (0, 1, 2**32 - 1, 12345):
        ours, theirs = (np.empty(624, np.uint32) for _ in range(2))
        kernels.start_twister(ours, seed)
        twins.start_twister(theirs, seed)
        assert np.array_equal(ours, theirs)
        for blocks in (1, 0, 2, 7):
            found, expected = (np.empty(624 * blocks, np.uint32) for _ in range(2))
            kernels.twist(ours, found)
            twins.twist(theirs, expected)
            assert np.array_equal(found, expected) and np.array_equal(ours, theirs)


def test_the_twister_takes_whole_blocks_of_words() -> None:
    key, words = np.zeros(624, np.uint32), np.zeros(1248, np.uint32)
    for wrong in (
        words[:1000],
        words[::2],
        words.astype(np.int32),
        words.tolist(),
        words.view(">u4"),
    ):
        with pytest.raises(TypeError, match="whole blocks of 624 words"):
            kernels.twist(key, wrong)
        with pytest.raises(TypeError, match="whole blocks of 624 words"):
            kernels.twist(wrong, words)
    for mistaken in (words, words[624:]):
        with pytest.raises(ValueError, match="a key of one block, apart from the words"):
            kernels.twist(mistaken, words)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_words", np.zeros(624, np.int64)),
        ("_words", np.zeros(1248, np.uint32)[::2]),
        ("_words", [1, 2, 3]),
        ("_words", np.zeros(3, np.uint32)),
        ("_next", -1),
        ("_stop", 3),
        ("_key", np.zeros(600, np.uint32)),
        ("_key", None),
    ],
)
def test_words_that_no_generator_makes_are_not_read(name: str, value: Any) -> None:
    """And the generator's lock, which is held while words are taken, is let go after the error."""
    generator = Generator().manual_seed(0)
    generator.random32(5)
    setattr(generator, name, value)
    with pytest.raises(RuntimeError, match="words of a generator"):
        kernels.draw_uniform(generator, (700,), np.dtype(np.float32))
    assert generator.lock.acquire(blocking=False)
    generator.lock.release()


def test_draws_take_generators_only() -> None:
    for other in (object(), None, kernels.Stream()):
        with pytest.raises(TypeError, match="a draw takes a generator"):
            kernels.draw_uniform(other, (3,), np.dtype(np.float32))


def test_words_that_were_handed_out_stay() -> None:
    generator = Generator().manual_seed(0)
    generator.random32(10)
    words = generator.random32(600)  # of the generator's own block
    before = words.copy()
    for _ in range(3):
        kernels.draw_uniform(generator, (500,), np.dtype(np.float32))
    assert np.array_equal(words, before) and not words.flags.writeable
