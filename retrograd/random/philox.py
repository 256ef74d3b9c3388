"""PyTorch's random numbers on CUDA devices, written down in NumPy: Philox4x32-10 and what reads it.

Nothing has to be stepped through: word `w` of stream `t` is a function of the seed, `t` and `w`.
A launch gives each thread a stream of its own, at the generator's offset, so which number an
element gets depends on how many threads there are: on the size of the tensor, and on the device.
These functions are the definition; `backend/cuda/sources/philox.cu` computes the same.

Words, uniform numbers, whole numbers, choices and orders have PyTorch's bits. Normal, exponential
and other numbers that take a logarithm or a sine have them in the kernels only: the device's fast
functions are not rounded as NumPy's are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from retrograd.random.arithmetic import HALVES, cast, fma32, fma64
from retrograd.random.generator import Array

__all__ = ["Grid", "Position"]

_FLOAT64 = np.dtype(np.float64)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_BLOCK = 256  # threads
_TO_UNIT = np.float32(2.0**-32)
_TO_TURN = np.float32(_TO_UNIT * np.float32(6.2831855))


class Grid(NamedTuple):
    """How many threads a device runs at once: it bounds the streams of a launch."""

    multiprocessors: int
    threads: int
    """of each multiprocessor"""

    def streams(self, count: int) -> int:
        """The threads of a launch for `count` elements."""
        most = self.multiprocessors * (self.threads // _BLOCK)
        return _BLOCK * min(most, -(-count // _BLOCK))

    def rounds(self, count: int, lanes: int) -> int:
        """How often each thread draws `lanes` numbers at once."""
        return (count - 1) // (self.streams(count) * lanes) + 1

    def increment(self, count: int, lanes: int = 4) -> int:
        """How far a launch moves the generator's offset: four words for every round.

        >>> Grid(132, 2048).increment(1000), Grid(132, 2048).increment(3_000_000)
        (4, 12)
        """
        return 4 * self.rounds(count, lanes)


class Position(NamedTuple):
    """Where a launch reads: the seed, the offset of all its streams, and the device's size."""

    seed: int
    offset: int
    grid: Grid
    recorded: int = 0
    """in a recorded graph: the address of the seed, and of what is added to the offset"""


def philox(seed: int, counter: Any, stream: Any) -> tuple[Array, Array, Array, Array]:
    """Four words of 32 random bits for every counter and stream, which are broadcast.

    >>> [int(word) for word in philox(0, np.uint64(0), np.uint64(0))]
    [1713891541, 3781805453, 3159862348, 2600524760]
    """
    a, b = np.broadcast_arrays(counter & _LOW, stream & _LOW)
    c, d = np.broadcast_arrays(counter >> _HALF, stream >> _HALF)
    a, b, c, d = a, c, b, d
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(_ROUNDS):
        first, second = a * _FACTORS[0], c * _FACTORS[1]
        a, b = (second >> _HALF) ^ b ^ np.uint64(keys[0]), second & _LOW
        c, d = (first >> _HALF) ^ d ^ np.uint64(keys[1]), first & _LOW
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, _STEPS, strict=True)]
    return tuple(word.astype(np.uint32) for word in (a, b, c, d))  # type: ignore[return-value]


def _drawn(at: Position, count: int, lanes: int) -> tuple[Array, Array, Array, Array]:
    """The words of a launch, each of the four as (round, thread)."""
    counter = np.uint64(at.offset // 4) + np.arange(at.grid.rounds(count, lanes), dtype=np.uint64)
    stream = np.arange(at.grid.streams(count), dtype=np.uint64)
    return philox(at.seed, counter[:, None], stream)


def _spread(lanes: list[Array], count: int) -> Array:
    """Numbers by (round, thread) in each lane, in the order of the elements that get them."""
    return np.stack(lanes, axis=1).reshape(-1)[:count]


def words32(at: Position, count: int) -> Array:
    """One word for each element."""
    return _spread(list(_drawn(at, count, 4)), count)


def words64(at: Position, count: int) -> Array:
    """Two words for each element, the high half first."""
    a, b, c, d = (word.astype(np.uint64) for word in _drawn(at, count, 2))
    return _spread([a << _HALF | b, c << _HALF | d], count)


# ---------------------------------------------------------------------------- floating numbers


def _unit32(words: Array) -> Array:
    """float32 numbers in (0, 1]."""
    return words.astype(np.float32) * _TO_UNIT + _TO_UNIT / np.float32(2)


def _unit64(first: Array, second: Array) -> Array:
    """float64 numbers in (0, 1] of 53 bits: the second word is shifted over the first."""
    bits = first.astype(np.uint64) ^ (second.astype(np.uint64) << np.uint64(21))
    return bits.astype(np.float64) * 2.0**-53 + 2.0**-54


def units(at: Position, count: int, dtype: np.dtype) -> Array:
    """Numbers in (0, 1]: float64 for float64, float32 for all others."""
    if dtype != _FLOAT64:
        return _unit32(words32(at, count))
    a, b, c, d = _drawn(at, count, 2)
    return _spread([_unit64(a, b), _unit64(c, d)], count)


def _fma(values: Array, factor: float, addend: float) -> Array:
    return (fma64 if values.dtype == _FLOAT64 else fma32)(values, factor, addend)


def uniform(at: Position, count: int, low: float, high: float, dtype: np.dtype) -> Array:
    """Numbers in [low, high)."""
    first, end = cast(np.array([low, high]), dtype)
    span = end - first  # in the dtype, as the bounds are
    values = cast(_fma(units(at, count, dtype), float(span), float(first)), dtype)
    return np.where(values == end, first, values)


def standard_normals(at: Position, count: int, wide: bool) -> Array:
    """Normal numbers of mean 0 and standard deviation 1: two by two, from a radius and a turn."""
    a, b, c, d = _drawn(at, count, 2 if wide else 4)
    if wide:
        u = _unit64(a, b)
        bits = c.astype(np.uint64) ^ (d.astype(np.uint64) << np.uint64(21))
        turn = (bits.astype(np.float64) * 2.0**-52 + 2.0**-53) * math.pi
        radius = np.sqrt(-2.0 * np.log(u))
        return _spread([np.sin(turn) * radius, np.cos(turn) * radius], count)
    lanes: list[Array] = []
    for length, angle in ((a, b), (c, d)):
        radius = np.sqrt(np.float32(-2) * np.log(_unit32(length)))
        numbers = fma32(angle.astype(np.float32), float(_TO_TURN), float(_TO_TURN) / 2)
        lanes += [np.sin(numbers) * radius, np.cos(numbers) * radius]
    return _spread(lanes, count)


def normal(at: Position, count: int, mean: float, std: float, dtype: np.dtype) -> Array:
    """Normal numbers."""
    return cast(_fma(standard_normals(at, count, dtype == _FLOAT64), std, mean), dtype)


def log_normal(at: Position, count: int, mean: float, std: float, dtype: np.dtype) -> Array:
    """Exponentials of normal numbers."""
    with np.errstate(over="ignore"):
        exponents = _fma(standard_normals(at, count, dtype == _FLOAT64), std, mean)
        return cast(np.exp(exponents), dtype)


def exponential(at: Position, count: int, rate: float, dtype: np.dtype) -> Array:
    """Exponential numbers; a uniform number next to 1 counts as the one below."""
    u = units(at, count, dtype)
    real = u.dtype.type
    tiny = np.finfo(real).eps / real(2)
    logarithm = np.where(u >= real(1) - tiny, -tiny, np.log(u))
    return cast(real(-1) / real(rate) * logarithm, dtype)


def cauchy(at: Position, count: int, median: float, sigma: float, dtype: np.dtype) -> Array:
    """Cauchy numbers."""
    u = units(at, count, dtype)
    real = u.dtype.type
    if real is np.float32:
        tiny = np.finfo(real).eps
        u = np.clip(u, tiny, real(1) - tiny)
    with np.errstate(over="ignore"):
        return cast(_fma(np.tan(real(math.pi) * (u - real(0.5))), sigma, median), dtype)


def geometric(at: Position, count: int, p: float, dtype: np.dtype) -> Array:
    """Numbers of trials until the first success."""
    u = units(at, count, dtype)
    real = u.dtype.type
    trials = np.ceil(np.log(u) / np.log(real(1) - real(p)))
    return cast(trials, dtype) if dtype.kind in "fV" or dtype in HALVES else trials.astype(dtype)


# ------------------------------------------------------------------------- whole numbers, choices


def integers(at: Position, count: int, low: int, span: int, dtype: np.dtype) -> Array:
    """Whole numbers in [low, low + span): a remainder, of two words where the span is large."""
    draw = words32 if span < 2**28 else words64
    numbers = draw(at, count).astype(np.uint64)
    if span < 2**64:
        numbers %= np.uint64(span)
    return stored((numbers + np.uint64(low % 2**64)).view(np.int64), dtype)


def stored(numbers: Array, dtype: np.dtype) -> Array:
    """Whole numbers in a dtype."""
    return cast(numbers.astype(np.float32), dtype) if dtype in HALVES else numbers.astype(dtype)


def full_range(at: Position, count: int, last: int, dtype: np.dtype) -> Array:
    """Whole numbers from 0 to `last`, of one word or, for 64 bits, of two."""
    numbers = words64(at, count) if dtype.name in ("int64", "float64") else words32(at, count)
    return stored((numbers.astype(np.uint64) % np.uint64(last + 1)).view(np.int64), dtype)


def choices(at: Position, count: int, p: float, dtype: np.dtype) -> Array:
    """Ones with probability `p`, else zeros."""
    u = units(at, count, dtype)
    chosen: Array = u < u.dtype.type(p)
    return chosen.astype(dtype)


def _by_fours(at: Position, count: int) -> Array:
    """float32 numbers in (0, 1]: thread t draws for the elements 4t to 4t + 3, and only once."""
    streams = np.arange(-(-count // 4), dtype=np.uint64)
    drawn = philox(at.seed, np.uint64(at.offset // 4), streams)
    return _unit32(np.stack(drawn, axis=-1).reshape(-1)[:count])


CHOICES_INCREMENT = 12  # the draw asks for ten words, of which four are used


def choices_of(at: Position, chances: Array, dtype: np.dtype) -> Array:
    """Ones with a probability each; at 0 a zero is sure, at 1 a one."""
    chances = chances.astype(np.float64 if dtype == _FLOAT64 else np.float32)
    return (_by_fours(at, chances.size) <= chances).astype(dtype)


def kept(at: Position, count: int, keep: float, width: int) -> Array:
    """Which elements dropout keeps. `width` elements in a row belong to a thread, up to eight."""
    if width == 1:
        u = _unit32(words32(at, count))
    else:
        # each thread goes on by `width` times the number of threads, and draws anew: with two
        # elements at a time it uses the first two words, with eight it draws twice
        streams, each = at.grid.streams(count), -(-width // 4)
        rounds = -(-count // (streams * width))
        counter = np.uint64(at.offset // 4) + np.arange(rounds * each, dtype=np.uint64)
        drawn = philox(at.seed, counter[:, None], np.arange(streams, dtype=np.uint64))
        rows = np.stack(drawn, axis=-1).reshape(rounds, each, streams, 4).swapaxes(1, 2)
        rows = rows.reshape(rounds, streams, 4 * each)[:, :, :width]
        u = _unit32(rows.reshape(-1)[:count])
    kept: Array = u < np.float32(keep)
    return kept


def order_bits(count: int) -> int:
    """How many bits the keys of an order have: enough that with 0.9 probability all differ."""
    return min(64, math.ceil(math.log2(count - (6.0 * count * count + 1) / (math.log(0.9) * 12))))


def order(at: Position, keys: Array, bits: int) -> Array:
    """The order of keys by their lowest bits; equal ones are shuffled."""
    lowest = keys
    if bits < 8 * keys.itemsize:
        lowest = keys & np.array((1 << bits) - 1, keys.dtype)
    found = lowest.argsort(kind="stable")
    arranged = lowest[found]
    equal = np.flatnonzero(arranged[1:] == arranged[:-1])
    done = -1
    for start in equal.tolist():
        if start < done:
            continue
        stop = start + 1
        while stop < keys.size and arranged[stop] == arranged[start]:
            stop += 1
        done = stop - 1
        _shuffle(at, found[start:stop], start)
    return found


def _shuffle(at: Position, island: Array, stream: int) -> None:
    """Fisher and Yates, with one word after the other of a stream."""
    count = island.size - 1
    counters = np.uint64(at.offset // 4) + np.arange(-(-count // 4), dtype=np.uint64)
    drawn = np.stack(philox(at.seed, counters, np.uint64(stream)), axis=-1).reshape(-1)
    for i, word in zip(range(count, 0, -1), drawn.tolist(), strict=False):
        other = word % (i + 1)
        island[[i, other]] = island[[other, i]]


def places(at: Position, sums: Array, weights: Array, count: int) -> Array:
    """`count` indices for every row: where uniform numbers fall in its running sums.

    sums     the running sums of each row, up to 1
    """
    rows = len(sums)
    wide = -(-count // 128) * 128  # threads of a row
    streams: Array = np.arange(rows, dtype=np.uint64)[:, None] * np.uint64(wide)
    streams = streams + np.arange(count, dtype=np.uint64)
    u = _unit32(philox(at.seed, np.uint64(at.offset // 4), streams)[0]).astype(sums.dtype)
    found = np.empty((rows, count), np.int64)
    for line, given, drawn, result in zip(sums, weights, u, found, strict=True):
        # no element without weight is drawn, but the one before
        last = np.maximum.accumulate(np.where(given != 0, np.arange(given.size), 0))
        result[...] = last[np.minimum(np.searchsorted(line, drawn), line.size - 1)]
    return found
