"""What a type of device is to the library: its arrays, their functions, and the way there and back.

A second array library is one more `Backend`, given to `register`. Nothing else asks which library
an array belongs to: the backend of the array in hand has what is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeGuard, TypeVar

from retrograd.backend.arrays import Array, DType
from retrograd.backend.namespace import Namespace

Kernel = Callable[..., Any]

# What the ops' declarations say, by op: the kernel, which takes `xp` first; or the name of the
# `xp` function that does the same, where there is one.
KERNELS: dict[str, tuple[Kernel, str | None]] = {}
# The elementwise ones, and what half precision means to them: see `half` of `ops.registry.Op`.
ELEMENTWISE: dict[str, str] = {}


class RawTable:
    """The ops on arrays of one backend, by name: what derivative rules run on as `m`.

    >>> from retrograd.backend import CPU
    >>> import retrograd
    >>> CPU.raw.mul(CPU.xp.ones(2), 3.0)
    array([3., 3.])
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.xp = backend.xp

    def __getattr__(self, name: str) -> Kernel:
        try:
            kernel, function = KERNELS[name]
        except KeyError:
            raise AttributeError(f"there is no op {name!r}") from None
        backend = self._backend
        # a partial object adds less to a call than a function in Python would
        found: Kernel = (
            partial(backend.overrides.get(name, kernel), backend.xp)
            if function is None or name in backend.overrides
            else getattr(backend.xp, function)
        )
        self.__dict__[name] = found
        return found


class Backend:
    """The arrays of one type of device.

    name     the device's type, as in ``tensor.device.type``
    array    the class of its arrays
    xp       the functions that kernels call
    raw      the ops on its arrays
    """

    # what else counts as its arrays: the numbers that its functions give in place of arrays without
    # dimensions, and arrays in sparse layouts
    relatives: tuple[type[Any], ...] = ()

    # how generated code asks whether an array lies row by row
    contiguous = ".flags.c_contiguous"

    # makes random numbers there, where kernels are: the functions of `random.philox`
    maker: Any = None

    # whether its arrays have elements
    holds = True

    # whether its `xp.sum_to` sums half precision in float32 and rounds once
    sums_halves = False

    # the graph that is recorded now, where a device can record its work
    recording: Any = None

    # runs all steps of a layer of LSTM or GRU at once, where a device can: see `cpu_recurrent`
    recurrent: Any = None

    @property
    def current(self) -> int:
        """The number of the device in use, among those of its type."""
        return 0

    @property
    def counts_bases(self) -> bool:
        """Whether counts of references to its arrays' `base` tell who else shows the memory."""
        return False

    def __init__(
        self,
        name: str,
        array: type[Array],
        library: object,
        own: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.array = array
        self.xp = Namespace(library, own or {})
        self.raw = self.xp.raw = RawTable(self)  # a kernel finds other ops there
        self.xp.on_host = self._on_host
        self.overrides: dict[str, Kernel] = {}
        # ops whose kernels here take half precision as it is, and compute in float32 inside; and
        # those whose derivative rules do, each of their steps rounding once
        self.halves: set[str] = set()
        self.half_rules: set[str] = set()
        # makes one kernel of a derivative rule of an elementwise op, by the op's name
        self.fused: Callable[[str, Kernel], Kernel] | None = None
        # called when the device has come to an end: they raise mistakes that kernels noted
        self.faults: list[Callable[[], None]] = []
        # optimizers' steps over all parameters, by rule: they take the group's options, states,
        # parameters and gradients, and say of each parameter whether they did it
        self.steps: dict[str, Callable[..., list[bool]]] = {}
        # the generated functions of ops, as operators or not, and what their nodes do; made at
        # the first call
        self.flat: dict[tuple[str, bool], Callable[..., Any] | None] = {}
        self.runs: dict[tuple[str, bool], Callable[..., Any]] = {}

    def _on_host(self, function: Callable[..., object], *values: object) -> Any:
        """``function(xp, *values)`` on the CPU: for what goes from element to element."""
        host = NAMED["cpu"]
        if host is self:
            return function(self.xp, *values)
        own = self.array
        found = function(host.xp, *(self.to_numpy(v) if isinstance(v, own) else v for v in values))
        if isinstance(found, tuple):
            return tuple(self.from_numpy(host.as_result(part)) for part in found)
        return self.from_numpy(host.as_result(found))

    def kernel(self, name: str) -> Kernel:
        """The kernel of an op: the device's own, or the one that all share."""
        own = self.overrides.get(name)
        return KERNELS[name][0] if own is None else own

    def override(self, name: str) -> Callable[[Kernel], Kernel]:
        """Decorate a kernel that takes the place of an op's neutral one on this device.

        It stands beside the op and takes the same arguments.
        """

        def take(kernel: Kernel) -> Kernel:
            self.overrides[name] = kernel
            self._forget_bound(name)
            return kernel

        return take

    def withdraw(self, name: str) -> None:
        """Take an override back."""
        del self.overrides[name]
        self._forget_bound(name)

    def _forget_bound(self, name: str) -> None:
        self.raw.__dict__.pop(name, None)
        for choice in (False, True):
            self.flat.pop((name, choice), None)
            self.runs.pop((name, choice), None)

    def as_result(self, value: Any) -> Array:
        """A kernel's result as an array: libraries give numbers where it has no dimensions."""
        return value if type(value) in BACKENDS else self.xp.asarray(value)

    def address(self, array: Array) -> int:
        """Where the first element lies in memory."""
        raise NotImplementedError(f"{self.name}: arrays do not tell their address")

    def index(self, array: Any) -> int:
        """The number of the device, among those of its type, that holds an array."""
        return 0

    def grid(self, index: int) -> tuple[int, int]:
        """How many multiprocessors a device has, and how many threads each of them."""
        raise NotImplementedError(f"{self.name}: no generator of random numbers of its own")

    def check_index(self, index: int | None) -> None:
        """Raise where no device of this type has the number of a ``device=`` argument."""

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        """The same elements on this device; `non_blocking` may return before they are there."""
        raise NotImplementedError(f"{self.name}: no way from NumPy's arrays")

    def drawn(self, function: Callable[..., Array], *args: object) -> Array:
        """The random numbers ``function(*args)``, on this device wherever they are drawn."""
        found = function(*args)
        return found if type(found) is self.array else self.from_numpy(found)

    def computed(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        function: Callable[..., Array],
        *args: object,
    ) -> Array:
        """The array of NumPy ``function(*args)``, of this shape and dtype, on this device."""
        return self.from_numpy(function(*args))

    def beside(self, array: Array) -> Array:
        """An array of the CPU that takes part in an op on this device."""
        return self.from_numpy(array)

    def to_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        """The same elements as an array of NumPy; `non_blocking` as above."""
        raise NotImplementedError(f"{self.name}: no way to NumPy's arrays")

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


_B = TypeVar("_B", bound=Backend)
BACKENDS: dict[type[Array], Backend] = {}
NAMED: dict[str, Backend] = {}  # by the device's type


def register(backend: _B) -> _B:
    """Make a device known: tensors of its arrays, and ``device=`` of its name."""
    BACKENDS[backend.array] = backend
    NAMED[backend.name] = backend
    return backend


def forget(backend: Backend) -> None:
    """Take a device back that `register` made known."""
    del BACKENDS[backend.array], NAMED[backend.name]


def is_array(value: object) -> TypeGuard[Array]:
    """Whether a value is an array of some device; NumPy's numbers are not."""
    return type(value) in BACKENDS or isinstance(value, tuple(BACKENDS))


def backend_of(array: Any) -> Backend:
    """The backend that an array belongs to."""
    found = BACKENDS.get(type(array))
    if found is None:
        for backend in BACKENDS.values():
            if isinstance(array, (backend.array, *backend.relatives)):
                return backend
        raise TypeError(f"{type(array).__name__} is an array of no known device")
    return found


def apart(first: Any, second: Any) -> tuple[Backend, Backend] | None:
    """The backends of two arrays if these lie on different types of devices.

    None too where one is not an array of a device: of a batch, or in a sparse layout.
    """
    here, there = BACKENDS.get(type(first)), BACKENDS.get(type(second))
    if here is None or there is None or here.name == there.name:
        return None
    return here, there


def xp_of(array: Array) -> Namespace:
    """The functions for an array."""
    found = BACKENDS.get(type(array))
    return backend_of(array).xp if found is None else found.xp


def can_write(array: Array) -> bool:
    """Whether an array may be written: some libraries mark those that may not."""
    return getattr(array.flags, "writeable", True)


def raw_of(gradient: object) -> RawTable:
    """The ops on arrays of a gradient's backend; of several gradients some may be None."""
    if isinstance(gradient, (list, tuple)):
        return raw_of(next(part for part in gradient if part is not None))
    return backend_of(gradient).raw
