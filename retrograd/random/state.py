"""The public generator, the default one, and seeds: `manual_seed`, `get_rng_state`, `fork_rng`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from retrograd.random import generator as streams
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import CPU, Device, device


class Generator(streams.Generator):
    """A source of random numbers with its own seed and state.

    >>> torch.rand(2, generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Device = "cpu") -> None:
        super().__init__(device)
        self._device = CPU

    @property
    def device(self) -> device:
        """Where the numbers are made: always the CPU."""
        return CPU

    @device.setter
    def device(self, value: object) -> None:
        """The base class notes a name; there is nothing to remember here."""

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` and return the generator."""
        super().manual_seed(seed)
        return self

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, which `set_state` (PyTorch's too) continues from."""
        return wrap(self.get_state_array())

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a saved state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.set_state_array(new_state._array)
        return self

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


default_generator = Generator()


class _Uses:
    """How often a call was given a generator: who replays the default one wants to know."""

    others: int = 0


USES = _Uses()


def generator_or_default(generator: Generator | None, function: str) -> Generator:
    """A ``generator=`` argument, or the default generator for None."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{function}(): argument 'generator' must be torch.Generator, not "
            f"{type(generator).__name__}"
        )
    if generator is not default_generator:
        USES.others += 1
    return generator


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator, and return it.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Give the default generator a seed that nobody can predict, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was started with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Make the default generator continue from a saved state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: object = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Leave the default generator as it was, whatever is drawn inside.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     noise = torch.rand(3)
    >>> bool((torch.get_rng_state().numpy() == before.numpy()).all())
    True
    """
    if not enabled:
        yield
        return
    before = default_generator.shared_state()
    try:
        yield
    finally:
        default_generator.set_state_array(before)


def thread_safe_generator() -> Generator | None:
    """The generator of a loader's worker thread: None, as workers are processes here."""
    return None
