"""Arrays without elements as tensors' arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backend.arrays import Array, DType
from retrograd.backend.device import KERNELS, Backend, Kernel, RawTable
from retrograd.backend.meta.arrays import MetaArray, address_of, known, new
from retrograd.backend.meta.errors import no_kernel
from retrograd.backend.meta.layout import INSIDE, NO_DATA, NoNumbers, no_item
from retrograd.backend.meta.library import LIBRARY, own_functions

_ARRAY: Any = MetaArray  # to the engine it is an array


class _Raw(RawTable):
    """The ops on these arrays; each says it where it needs elements."""

    def __getattr__(self, name: str) -> Kernel:
        if name not in KERNELS:
            raise AttributeError(f"there is no op {name!r}")
        kernel, xp = self._backend.kernel(name), self.xp

        def call(*args: Any, **options: Any) -> Any:
            return kernel(xp, *args, **options)

        self.__dict__[name] = call
        return call


def _is_unsure(found: Any) -> bool:
    if isinstance(found, (tuple, list)):
        return any(map(_is_unsure, found))
    return type(found) is MetaArray and found.unsure


def _without_elements(found: Any) -> None:
    """A kernel's results, which nobody knows outside."""
    if isinstance(found, (tuple, list)):
        for part in found:
            _without_elements(part)
    elif type(found) is MetaArray:
        found.known = found.usual = None


class MetaBackend(Backend):
    """Shapes, dtypes and strides; kernels run on them as they are written."""

    def __init__(self) -> None:
        super().__init__("meta", _ARRAY, LIBRARY, own_functions())
        self.raw = self.xp.raw = _Raw(self)

    def kernel(self, name: str) -> Kernel:
        """The kernel of an op; one that needs elements, or whose shape does, is refused."""
        inner = super().kernel(name)

        def run(xp: Any, *args: Any, **options: Any) -> Any:
            INSIDE.kernels += 1
            try:
                found = inner(xp, *args, **options)
            except NoNumbers:
                if INSIDE.kernels > 1:  # another kernel runs this one
                    raise
                raise no_kernel(name) from None
            finally:
                INSIDE.kernels -= 1
            if INSIDE.kernels == 0 and (
                _is_unsure(found) or isinstance(found, (bool, int, float, complex))
            ):
                raise no_kernel(name)
            if INSIDE.kernels == 0:
                _without_elements(found)
            return found

        return run

    holds = False

    def computed(
        self, shape: tuple[int, ...], dtype: DType, function: Callable[..., Array], *args: object
    ) -> Any:
        """Nothing is computed."""
        return new(shape, dtype)

    def beside(self, array: Array) -> Any:
        """An array of the CPU, whose elements stay known: a mask says how many it takes."""
        return known(array, bound=False)

    def _on_host(self, function: Callable[..., object], *values: object) -> Any:
        raise no_item()

    def address(self, array: Any) -> int:
        return address_of(array)

    def index(self, array: Any) -> Any:
        """There is one such device, and it has no number."""
        return None

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Any:
        axes = None
        if not array.flags.c_contiguous:
            axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
        return new(array.shape, array.dtype, axes)

    def to_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        raise NotImplementedError(NO_DATA)
