"""The generator of the device `meta`: it draws nothing, and gives arrays of the right length.

Whatever generator a program names for tensors without elements, this one takes its place, so that
no stream moves on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.backend.arrays import DType
from retrograd.backend.meta import meta_backend
from retrograd.random.generator import Array
from retrograd.random.state import Generator
from retrograd.tensor.size import Device, device


class MetaGenerator(Generator):
    """What stands for a source of random numbers where there are no numbers."""

    kind = "meta"
    draws_nothing = True

    def __init__(self, device: Device = "meta") -> None:
        raise RuntimeError("META device type not an accelerator.")

    @classmethod
    def default(cls) -> Generator:
        """The only one."""
        return _ONLY

    @classmethod
    def defaults(cls, devices: Any = None) -> list[Generator]:
        """None that has a state."""
        return []

    @classmethod
    def seed_defaults(cls, seed: int) -> None:
        """There is nothing to seed."""

    @property
    def device(self) -> device:
        """Where nothing is made."""
        return device("meta")

    @device.setter
    def device(self, value: object) -> None:
        """The base class notes a name; there is nothing to remember here."""

    @property
    def samplers(self) -> Samplers:
        """What takes the place of the CPU's samplers."""
        return Samplers()


class Samplers:
    """Flat arrays without elements."""

    def _row(self, count: int, dtype: Any) -> Array:
        made: Array = meta_backend().xp.empty(count, dtype)
        return made

    def of_reals(self, name: str, count: int, *args: Any) -> Array:
        """As many as were asked for."""
        return self._row(count, args[-1])

    def integers(self, count: int, low: int, span: int, dtype: DType) -> Array:
        """As many as were asked for."""
        return self._row(count, dtype)

    def full_range(self, count: int, last: int, dtype: DType) -> Array:
        """As many as were asked for."""
        return self._row(count, dtype)

    def choices_of(self, chances: Array, dtype: DType) -> Array:
        """One for each chance."""
        return self._row(chances.size, dtype)

    def kept(self, count: int, keep: float, width: int) -> Array:
        """Which elements dropout keeps."""
        return self._row(count, bool)

    def order(self, count: int, dtype: DType) -> Array:
        """As many as are to be in order."""
        return self._row(count, dtype)

    def places(self, weights: Array, count: int) -> Array:
        """Indices for every row of weights."""
        made: Array = meta_backend().xp.empty((len(weights), count), dtypes.I64)
        return made

    def on_host(self, increment: int, sample: Callable[..., Array], *args: Array) -> Array:
        """One for each parameter."""
        return args[0].copy()


_ONLY: Generator = Generator.__new__(MetaGenerator)
