"""Generators of CUDA devices: a seed and an offset, in PyTorch's layout, and the draws from them.

Numbers are made on the device where kernels are (`Maker` of the backend), else by the definition
in `philox`. What PyTorch draws by stepping through a stream of cuRAND one value after the
other (`poisson`, `binomial`, gamma, Dirichlet) comes from the CPU's algorithm, seeded
by the device's position: other numbers than PyTorch's of the same distributions.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from retrograd.backend import NAMED, Backend
from retrograd.random import generator as streams
from retrograd.random import philox
from retrograd.random.generator import DEFAULT_SEED, Array
from retrograd.random.philox import CHOICES_INCREMENT, Grid, Position
from retrograd.random.state import GENERATORS, Generator, Seeds
from retrograd.tensor.size import Device, backend_at
from retrograd.tensor.size import device as Place

STATE_SIZE = 16
"""Bytes in a saved state: the seed, and the offset of all streams."""

_WIDE = np.dtype(np.float64)


class CudaGenerator(Generator):
    """A source of random numbers on a CUDA device, the same numbers as PyTorch's.

    Every launch reads words of its own: the offset is where the next one begins.
    """

    def __init__(self, device: Device = "cuda") -> None:
        # the twister of the base class is never started: nothing here draws from it
        self._device = Place(device)
        self._backend: Any = backend_at(self._device)
        self._mutex = threading.RLock()
        self._grid: Grid | None = None
        self._seed, self._offset = DEFAULT_SEED, 0
        self.recorder: Any = None  # the graph that is captured: it keeps the offset meanwhile
        self.samplers = Samplers(self, self._backend)

    kind = "cuda"

    @classmethod
    def default(cls, index: int | None = None) -> CudaGenerator:
        """The generator of a device, or of the current one, that all draws share."""
        backend: Any = backend_at("cuda")
        if index is None:
            index = int(backend.current)
        found = _DEFAULTS.get(index)
        if found is None or found._backend is not backend:
            found = _DEFAULTS[index] = cls(Place("cuda", index))
            if Seeds.latest is None:
                found.seed()
            else:
                found.manual_seed(Seeds.latest)
        return found

    @classmethod
    def defaults(cls, devices: Any = None) -> list[Generator]:
        """The default generators of some devices, or of all."""
        backend: Any = NAMED.get("cuda")
        if backend is None:
            return []  # nothing was drawn there yet
        places = range(backend.count) if devices is None else map(index_of, devices)
        return [cls.default(place) for place in places]

    @classmethod
    def seed_defaults(cls, seed: int) -> None:
        """Seed the default generators of all devices, also of those not in use yet."""
        for generator in _DEFAULTS.values():
            generator.manual_seed(seed)

    @property
    def device(self) -> Place:
        """Where the numbers are made."""
        return self._device

    @device.setter
    def device(self, value: object) -> None:
        """The base class notes a name; there is nothing to remember here."""

    @property
    def grid(self) -> Grid:
        """What bounds the launches: the device's size."""
        return self._grid or _grid(self._backend, self._backend.current)

    @contextmanager
    def of_size(self, grid: Grid) -> Iterator[None]:
        """A block in which numbers come as on a device of another size."""
        self._grid = grid
        try:
            yield
        finally:
            self._grid = None

    def take(self, increment: int) -> Position:
        """Where a launch reads that moves the offset by `increment`."""
        increment = -(-increment // 4) * 4
        with self._mutex:
            if self.recorder is not None:
                found: Position = self.recorder.take(self, increment)
                return found
            begin = self._offset
            self._offset += increment
        return Position(self._seed, begin, self.grid)

    # ---- seeds

    def manual_seed(self, seed: int) -> Self:
        """Start the numbers of `seed` and return the generator."""
        streams.check_seed(seed)
        self._go_to((seed % 2**64, b"", (0,)))
        return self

    def seed(self) -> int:
        """Start numbers that nobody can predict, and return their seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    # ---- state

    def get_offset(self) -> int:
        """Where the next launch begins in all streams."""
        return self._offset

    def set_offset(self, offset: int) -> Self:
        """Let the next launch begin there, a multiple of 4, and return the generator."""
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset % 2**64
        return self

    def get_state_array(self) -> npt.NDArray[np.uint8]:
        """The state as 16 bytes, interchangeable with those of PyTorch."""
        return np.array([self._seed, self._offset], np.uint64).view(np.uint8)

    shared_state = get_state_array

    def set_state_array(self, state: Array) -> Self:
        """Continue from saved bytes; from eight, which are a seed, at offset 0."""
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size not in (STATE_SIZE // 2, STATE_SIZE):
            raise RuntimeError("RNG state is wrong size")
        seed, *rest = np.ascontiguousarray(state).reshape(-1).view(np.uint64).tolist()
        offset = rest[0] if rest else 0
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._go_to((seed, b"", (offset,)))
        return self

    def clone_state(self) -> Self:
        """A new generator that goes on from here on its own."""
        return type(self)(self.device).set_state_array(self.get_state_array())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.device,), self.get_state_array()

    def position(self) -> streams.Position:
        """Where the generator stands; equal if nothing was drawn in between."""
        return self._seed, b"", (self._offset,)

    def _go_to(self, position: streams.Position) -> None:
        with self._mutex:
            self._seed, _, (self._offset,) = position

    @contextmanager
    def replayed(self, position: streams.Position) -> Iterator[None]:
        """A block whose draws come from where the generator was; then it goes on where it is."""
        with self._mutex:
            now = self.position()
            self._go_to(position)
            try:
                yield
            finally:
                self._go_to(now)


@functools.cache
def _grid(backend: Backend, index: int) -> Grid:
    return Grid(*backend.grid(index))


_DEFAULTS: dict[int, CudaGenerator] = {}


GENERATORS[CudaGenerator.kind] = CudaGenerator


def index_of(place: Any) -> int | None:
    """The number of a device: given as such, or as a device of CUDA's; None for the current one."""
    return place if isinstance(place, int) else Place(place).index


class Defined:
    """Numbers by the definition, made on the host and moved to the device."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Callable[..., Array]:
        define = getattr(philox, name)
        backend = self._backend

        def make(*args: Any) -> Array:
            own = backend.array
            there = (backend.to_numpy(x) if isinstance(x, own) else x for x in args)
            return backend.from_numpy(define(*there))

        return make


class Samplers:
    """What takes the place of the CPU's samplers: flat arrays of the device."""

    def __init__(self, generator: CudaGenerator, backend: Any) -> None:
        self._generator = generator
        self._backend = backend

    @property
    def kernels(self) -> bool:
        """Whether the device makes its numbers itself."""
        return self._backend.maker is not None

    @property
    def _make(self) -> Any:
        return self._backend.maker or Defined(self._backend)

    def _empty(self, dtype: np.dtype) -> Array:
        found: Array = self._backend.xp.empty(0, dtype)
        return found

    def _launched(self, name: str, count: int, lanes: int, *args: Any) -> Array:
        """The numbers of one launch; of an empty one there is none."""
        if count == 0:
            return self._empty(args[-1])
        at = self._generator.take(self._generator.grid.increment(count, lanes))
        made: Array = getattr(self._make, name)(at, count, *args)
        return made

    def of_reals(self, name: str, count: int, *args: Any) -> Array:
        """`uniform`, `normal` and the others that take two words for float64, else one."""
        return self._launched(name, count, 2 if args[-1] == _WIDE else 4, *args)

    def integers(self, count: int, low: int, span: int, dtype: np.dtype) -> Array:
        """Whole numbers in [low, low + span)."""
        return self._launched("integers", count, 4 if span < 2**28 else 2, low, span, dtype)

    def full_range(self, count: int, last: int, dtype: np.dtype) -> Array:
        """Whole numbers from 0 to `last`."""
        lanes = 2 if dtype.name in ("int64", "float64") else 4
        return self._launched("full_range", count, lanes, last, dtype)

    def choices_of(self, chances: Array, dtype: np.dtype) -> Array:
        """Ones with a probability each."""
        at = self._generator.take(CHOICES_INCREMENT)
        if chances.size == 0:
            return self._empty(dtype)
        made: Array = self._make.choices_of(at, chances, dtype)
        return made

    def kept(self, count: int, keep: float, width: int) -> Array:
        """Which elements dropout keeps."""
        return self._launched("kept", count, 4, keep, width)

    def order(self, count: int, dtype: np.dtype) -> Array:
        """The numbers 0 .. count - 1 in random order: sorted by random keys."""
        if count == 0:
            return self._empty(dtype)
        bits = philox.order_bits(count)
        wide = bits > 32
        half = 2**63 if wide else 2**31
        kind = np.dtype(np.int64 if wide else np.int32)
        keys = self.integers(count, -half, 2 * half - 1, kind)
        at = self._generator.take(count)
        found: Array = self._make.order(at, keys, bits)
        return found.astype(dtype)

    def places(self, weights: Array, count: int) -> Array:
        """Indices for every row of weights, drawn with replacement."""
        rows = len(weights)
        at = self._generator.take(4 * ((rows - 1) // 65535 + 1))
        sums = self._backend.xp.cumsum(weights / weights.sum(-1, keepdims=True), -1)
        found: Array = self._make.places(at, sums, weights, count)
        return found

    def on_host(self, increment: int, sample: Callable[..., Array], *args: Array) -> Array:
        """What the CPU's sampler makes of a stream that the position here decides."""
        at = self._generator.take(increment)
        source = streams.Generator().manual_seed(
            int(philox.philox(at.seed, np.uint64(at.offset // 4), np.uint64(0))[0])
        )
        made: Array = sample(source, *(self._backend.to_numpy(x) for x in args))
        moved: Array = self._backend.from_numpy(made)
        return moved
