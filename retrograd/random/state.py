"""The public generator, the default one, and seeds: `manual_seed`, `get_rng_state`, `fork_rng`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

from retrograd.backend import NAMED, Backend
from retrograd.notices import runtime_error
from retrograd.random import generator as streams
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import CPU, Device, device


class Generator(streams.Generator):
    """A source of random numbers with its own seed and state.

    >>> torch.rand(2, generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """

    def __new__(cls, device: Device = "cpu") -> Generator:
        """One of the device's kind, where it has generators of its own."""
        kind = generators_of(_type_of(device)) if cls is Generator else None
        return super().__new__(cls if kind is None else kind)

    def __init__(self, device: Device = "cpu") -> None:
        super().__init__(device)
        self._device = CPU

    @classmethod
    def defaults(cls, devices: Any = None) -> list[Generator]:
        """The default generators of devices, or of all; for `GENERATORS`."""
        return [default_generator]

    @classmethod
    def seed_defaults(cls, seed: int) -> None:
        """Seed the default generators of all devices; for `GENERATORS`."""
        default_generator.manual_seed(seed)

    @property
    def device(self) -> device:
        """Where the numbers are made: always the CPU."""
        return CPU

    @device.setter
    def device(self, value: object) -> None:
        """The base class notes a name; there is nothing to remember here."""

    kind = "cpu"  # the type of its device
    draws_nothing = False  # and so stands for any other where its device's tensors are filled

    @classmethod
    def default(cls) -> Generator:
        """The generator that draws for those who name none."""
        return default_generator

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` and return the generator."""
        super().manual_seed(seed)
        return self

    def get_offset(self) -> int:
        """Where the next draw begins, of generators that count it: the CPU's do not."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Let the next draw begin there, of generators that count it: the CPU's do not."""
        raise RuntimeError("CPU Generator does not use offset")

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


GENERATORS: dict[str, type[Generator]] = {}
"""Generators of devices that have their own, by the type of the device."""


def generators_of(kind: str) -> type[Generator] | None:
    """The class of the generators that a type of device has; None where the CPU's serve it."""
    if kind == "cuda" and kind not in GENERATORS:
        GENERATORS[kind] = import_module("retrograd.random.cuda").CudaGenerator
    if kind == "meta" and kind not in GENERATORS:
        GENERATORS[kind] = import_module("retrograd.random.meta").MetaGenerator
    return GENERATORS.get(kind)


class Seeds:
    """What the program seeded last, for the generators of devices that it uses later."""

    latest: int | None = None


def _seed_devices(seed: int) -> None:
    Seeds.latest = seed
    for own in GENERATORS.values():
        own.seed_defaults(seed)


def _type_of(place: Device) -> str:
    return "cpu" if place is None else str(place).partition(":")[0]


default_generator = Generator()
States: TypeAlias = list[tuple[Generator, streams.Array]]
Positions: TypeAlias = tuple[tuple[Generator, streams.Position], ...]


class _Uses:
    """How often a call was given a generator: who replays the default one wants to know."""

    others: int = 0


USES = _Uses()


def generator_or_default(
    generator: Generator | None, function: str, place: Backend | None = None
) -> Generator:
    """A ``generator=`` argument, or for None the default generator of a device."""
    own = None if place is None else generators_of(place.name)
    if generator is None or (own is not None and own.draws_nothing):
        return default_generator if own is None else own.default()
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{function}(): argument 'generator' must be torch.Generator, not "
            f"{type(generator).__name__}"
        )
    wanted = "cpu" if own is None else own.kind
    if generator.kind != wanted:
        raise runtime_error(
            f"Expected a '{wanted}' device type for generator but found '{generator.kind}'",
            code="RG302",
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
    seed = int(seed)
    default_generator.manual_seed(seed)
    _seed_devices(seed)
    return default_generator


def seed() -> int:
    """Give the default generator a seed that nobody can predict, and return it."""
    seed = default_generator.seed()
    _seed_devices(seed)
    return seed


def initial_seed() -> int:
    """The seed that the default generator was started with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Make the default generator continue from a saved state."""
    default_generator.set_state(new_state)


def _defaults() -> list[Generator]:
    """The default generators of the CPU and of the devices that are in use."""
    own = generators_of("cuda") if "cuda" in NAMED else None
    return [default_generator, *([] if own is None else own.defaults())]


def positions() -> Positions:
    """Where all default generators stand; equal if nothing was drawn in between."""
    return tuple((generator, generator.position()) for generator in _defaults())


@contextlib.contextmanager
def replayed(begin: Positions) -> Iterator[None]:
    """A block that draws from where the default generators were; then they go on where they are."""
    with contextlib.ExitStack() as stack:
        for generator, position in begin:
            stack.enter_context(generator.replayed(position))
        yield


def random_states(generators: Iterable[Generator] | None = None) -> States:
    """The states of some generators, by default of all default ones; in memory nobody may write."""
    chosen = _defaults() if generators is None else generators
    return [(generator, generator.shared_state()) for generator in chosen]


def _go_back(states: States) -> None:
    for generator, state in states:
        generator.set_state_array(state)


@contextlib.contextmanager
def from_random_states(states: States | None) -> Iterator[None]:
    """A block that draws from these states; then the generators go on. None changes nothing."""
    if states is None:
        yield
        return
    now = random_states()
    _go_back(states)
    try:
        yield
    finally:
        _go_back(now)


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
    own = generators_of(device_type)
    forked = [default_generator, *([] if own is None else own.defaults(devices))]
    before, seed = random_states(forked), Seeds.latest
    try:
        yield
    finally:
        _go_back(before)
        if devices is None and own is not None:
            for generator in own.defaults():
                if all(generator is not one for one in forked):  # it was first used inside
                    generator.seed() if seed is None else generator.manual_seed(seed)


def thread_safe_generator() -> Generator | None:
    """The generator of a loader's worker thread: None, as workers are processes here."""
    return None
