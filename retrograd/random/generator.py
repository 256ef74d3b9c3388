"""The random number generator: a Mersenne twister (MT19937), visible word by word.

`kernels.twist` does the arithmetic. It advances a key by whole blocks of 624 words; the words of
the current block lie in an array here, and ``_next`` counts how many of them are used.
So a small draw is a slice, a sampler that needs an unknown number of words looks ahead for free,
and the state that PyTorch stores (the block and the position in it) can be read off at any moment.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels

__all__ = ["DEFAULT_SEED", "STATE_SIZE", "Array", "Generator", "chunks"]

Array: TypeAlias = npt.NDArray[Any]
Position: TypeAlias = tuple[int, bytes, tuple[Any, ...]]

DEFAULT_SEED = 67280421310721
"""The seed of a generator that was never seeded."""

STATE_SIZE = 5056
"""Bytes in a saved state."""

_BLOCK = 624
_CHUNK = 26 * _BLOCK  # large requests are made in pieces that stay in the cache
_LOOK_AHEAD = 64  # uniforms converted at a time for the one-by-one samplers

# The bytes of a saved state, as PyTorch lays them out; the gaps are padding and stay zero.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal", "f", "has_f"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _BLOCK), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_SIZE,
    }
)


def chunks(count: int) -> Iterator[slice]:
    """Slices that cover ``count`` values in pieces small enough to stay in the processor's cache.

    >>> list(chunks(3))
    [slice(0, 3, None)]
    """
    return (slice(i, min(i + _CHUNK, count)) for i in range(0, count, _CHUNK))


def check_seed(seed: object) -> None:
    """Refuse what is no whole number from -2**63 to 2**64 - 1."""
    if isinstance(seed, np.integer):
        raise TypeError("an integer is required")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")


def _tempered(key: Array) -> Array:
    """The words of the block that was made from a key."""
    words: Array = key ^ key >> 11
    words ^= words << 7 & 0x9D2C5680
    words ^= words << 15 & 0xEFC60000
    words ^= words >> 18
    return words


class Generator(kernels.Stream):
    """A source of random numbers on the CPU, the same stream as ``torch.Generator``.

    Every sampler holds ``lock`` for the whole of a call, so that each call gets a contiguous piece
    of the stream however many threads share the generator. ``cached_normal`` is the second half of
    a pair of normals that were made one by one; it belongs to the state.

    >>> Generator().manual_seed(0).random32(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    # what draws in place of the CPU's samplers, for a generator of another device
    samplers: Any = None

    def __init__(self, device: object = "cpu") -> None:
        kind = str(device if device is not None else "cpu").partition(":")[0]
        if kind != "cpu":
            raise RuntimeError(f"Generator supports only the cpu device, but got {device}")
        self.lock = threading.RLock()
        self._key = np.empty(_BLOCK, np.uint32)
        self._start(DEFAULT_SEED)

    @property
    def device(self) -> Any:
        """Where the numbers are made: always the CPU."""
        return "cpu"

    def _start(self, seed: int) -> None:
        self._seed = seed
        self._known = None
        kernels.start_twister(self._key, seed & 0xFFFFFFFF)
        self._words = np.empty(0, np.uint32)
        self._next = self._stop = 0
        self.cached_normal = None
        self._float_normal: float | None = None  # kept for the state only: nothing reads it

    def position(self) -> Position:
        """Where the stream is; equal if nothing was drawn in between."""
        return self._seed, self._key.tobytes(), self._position()

    @contextmanager
    def replayed(self, position: Position) -> Iterator[None]:
        """A block whose draws come from where the stream was; then it goes on where it is now.

        >>> generator = Generator().manual_seed(0)
        >>> begin = generator.position()
        >>> first = generator.random32(2)
        >>> with generator.replayed(begin):
        ...     again = generator.random32(2)
        >>> (first == again).all(), (first == generator.random32(2)).any()
        (np.True_, np.False_)
        """
        with self.lock:
            now = self.position()
            self._go_to(position)
            try:
                yield
            finally:
                self._go_to(now)

    def _go_to(self, position: Position) -> None:
        self._seed, key, place = position
        self._key[:] = np.frombuffer(key, np.uint32)
        self._open(_tempered(self._key))
        self._next, self._stop, self.cached_normal, self._float_normal = place

    # ---- seeds

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of ``seed``, from -2**63 to 2**64 - 1, and return the generator.

        >>> Generator().manual_seed(-1).initial_seed() == 2**64 - 1
        True
        """
        check_seed(seed)
        with self.lock:
            self._start(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start a stream that nobody can predict, and return its seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        with self.lock:
            self._start(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the current stream was started with."""
        return self._seed

    # ---- state

    def get_state_array(self) -> npt.NDArray[np.uint8]:
        """The state as 5056 bytes, interchangeable with those of ``torch.Generator.get_state``.

        >>> state = Generator().get_state_array()
        >>> state.shape, state.dtype
        ((5056,), dtype('uint8'))
        """
        return self.shared_state().copy()

    def shared_state(self) -> npt.NDArray[np.uint8]:
        """The state as `get_state_array` gives it, in memory that nobody may write.

        For those who come back to it later: as long as nothing is drawn they all share one array.
        """
        with self.lock:
            known = self._known_state()
            if known is not None:
                return known
            state = np.zeros(STATE_SIZE, np.uint8)
            record = state.view(_STATE)
            record["seed"] = self._seed
            record["left"] = self._stop - self._next + 1
            record["seeded"] = 1
            record["next"] = self._next
            record["words"] = self._key
            if self.cached_normal is not None:
                record["normal"], record["has_normal"] = self.cached_normal, 1
            if self._float_normal is not None:
                record["f"], record["has_f"] = self._float_normal, 1
            state.flags.writeable = False
            self._known = (*self._position(), state)
            return state

    def _position(self) -> tuple[Any, ...]:
        """What draws from the block change; other draws forget the known state."""
        return self._next, self._stop, self.cached_normal, self._float_normal

    def _known_state(self) -> Array | None:
        """The state if it was read before and nothing was drawn since: reading it takes long."""
        known = self._known
        return known[-1] if known is not None and known[:-1] == self._position() else None

    def set_state_array(self, state: Array) -> Self:
        """Continue from 5056 saved bytes, and return the generator."""
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not state.flags.c_contiguous:
            raise RuntimeError("RNG state must be contiguous")
        if state.size != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} "
                f"but found the input RNG state size to be {state.size}"
            )
        with self.lock:
            known = self._known_state()
            if known is not None and (known is state or known.tobytes() == state.tobytes()):
                return self  # where it stands
        record = state.reshape(-1).view(_STATE)[0]
        position, unused = int(record["next"]), int(record["left"]) - 1
        if not record["seeded"] or unused < 0 or position + unused > _BLOCK:
            raise RuntimeError("Invalid mt19937 state")
        key = record["words"].astype(np.uint32)
        with self.lock:
            self._seed = int(record["seed"])
            self._key[:] = key
            self._open(_tempered(key))
            self._next, self._stop = position, position + unused
            self.cached_normal = float(record["normal"]) if record["has_normal"] else None
            self._float_normal = float(record["f"]) if record["has_f"] else None
        return self

    def clone_state(self) -> Self:
        """A new generator that continues this one's stream on its own."""
        return type(self)().set_state_array(self.get_state_array())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (), self.get_state_array()

    def __setstate__(self, state: Array) -> None:
        self.set_state_array(state)

    # ---- raw draws

    def _refill(self) -> None:
        words = np.empty(_BLOCK, np.uint32)
        kernels.twist(self._key, words)
        self._open(words)

    def _open(self, words: Array) -> None:
        words.flags.writeable = False
        self._words, self._next, self._stop = words, 0, _BLOCK
        self._known = None

    def random32(self, count: int) -> Array:
        """``count`` words of 32 random bits; read only, as they may be the generator's own."""
        with self.lock:
            start = self._next
            end = start + count
            if end <= self._stop:
                self._next = end
                return self._words[start:end]
            return self._across_blocks(count)

    def _across_blocks(self, count: int) -> Array:
        self._known = None
        out = np.empty(count, np.uint32)
        done = self._stop - self._next
        out[:done] = self._words[self._next : self._stop]
        whole = (count - done) // _BLOCK * _BLOCK
        if whole:
            kernels.twist(self._key, out[done : done + whole])
            done += whole
        self._next = self._stop = _BLOCK
        if done < count:
            self._refill()
            self._next = count - done
            out[done:] = self._words[: self._next]
        return out

    def random64(self, count: int) -> Array:
        """``count`` numbers of 64 random bits, two words each, the high half first."""
        words = self.random32(2 * count)
        high = words[0::2].astype(np.uint64)
        high <<= 32
        high |= words[1::2]
        return high

    def float32s(self, count: int) -> Array:
        """``count`` float32 numbers in [0, 1) with 24 random bits, one word each."""
        made = kernels.draw_uniform(self, (count,), np.float32)
        if made is not None:
            return made
        out = np.empty(count, np.float32)
        with self.lock:
            for part in chunks(count):
                out[part] = _to_float32(self.random32(part.stop - part.start))
        return out

    def float64s(self, count: int) -> Array:
        """``count`` float64 numbers in [0, 1) with 53 random bits, two words each."""
        made = kernels.draw_uniform(self, (count,), np.float64)
        if made is not None:
            return made
        out = np.empty(count, np.float64)
        with self.lock:
            for part in chunks(count):
                out[part] = _to_float64(self.random32(2 * (part.stop - part.start)))
        return out

    def each_float64(self) -> Iterator[float]:
        """The numbers of ``float64s`` one by one, for samplers that cannot say how many they need.

        A number is used up when it is handed out, never earlier. Hold ``lock`` while iterating.

        >>> numbers = Generator().manual_seed(0).each_float64()
        >>> [next(numbers)] == Generator().manual_seed(0).float64s(1).tolist()
        True
        """
        while True:
            ahead = min((self._stop - self._next) // 2, _LOOK_AHEAD)
            if ahead == 0:  # the two words lie in different blocks
                yield float(self.float64s(1)[0])
                continue
            words = self._words[self._next : self._next + 2 * ahead]
            for number in _to_float64(words).tolist():
                self._next += 2
                yield number


def _to_float32(words: Array) -> Array:
    # NumPy converts signed integers to floats several times faster than unsigned ones.
    numbers = (words & 0xFFFFFF).view(np.int32).astype(np.float32)
    numbers *= np.float32(2.0**-24)
    return numbers


def _to_float64(words: Array) -> Array:
    # The low 21 bits of the first word and all of the second; both products and the sum are exact.
    numbers = (words[0::2] & 0x1FFFFF) * 2.0**-21
    numbers += words[1::2] * 2.0**-53
    return numbers
