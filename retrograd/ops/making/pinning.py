"""Memory of the CPU that an accelerator reads and writes by itself, while the program goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backend import CPU, NAMED, Backend
from retrograd.backend.arrays import Array
from retrograd.backend.cuda import cuda_backend
from retrograd.backend.cuda.backend import CudaBackend
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, tensor_method, wrap
from retrograd.tensor.size import Device


class PinnedHost(Backend):
    """The CPU as a place for new tensors, whose arrays lie in pinned memory."""

    def __init__(self, accelerator: CudaBackend) -> None:
        self.name, self.array = "cpu", CPU.array
        self.accelerator = accelerator
        self.xp: Any = _PinnedFunctions(self)

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Array:
        kept = self.accelerator.pinned(array.shape, array.dtype)
        kept[...] = array
        return kept

    def drawn(self, function: Callable[..., Array], *args: object) -> Array:
        return self.from_numpy(function(*args))


class _PinnedFunctions:
    """The functions of the CPU that make arrays, which are pinned."""

    def __init__(self, place: PinnedHost) -> None:
        self._place = place

    def __getattr__(self, name: str) -> Callable[..., Array]:
        function: Callable[..., Array] = getattr(CPU.xp, name)

        def make(*args: Any, **options: Any) -> Array:
            return self._place.from_numpy(function(*args, **options))

        return make


def pinned_place(place: Backend) -> Backend:
    """Where ``pin_memory=True`` puts new tensors."""
    accelerator = cuda_backend()
    if accelerator is None:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )
    if place is not CPU:
        raise runtime_error("Only dense CPU tensors can be pinned", code="RG302")
    return PinnedHost(accelerator)


@tensor_method
def is_pinned(self: Tensor, device: Device = None) -> bool:
    """Whether an accelerator reads the memory by itself."""
    accelerator = NAMED.get("cuda")  # what is pinned was pinned through it
    if type(self._array) is not CPU.array or not isinstance(accelerator, CudaBackend):
        return False
    return accelerator.is_pinned(self._array)


@tensor_method
def pin_memory(self: Tensor, device: Device = None) -> Tensor:
    """The tensor in memory of the CPU that an accelerator reads by itself; itself if it is."""
    accelerator = cuda_backend()
    if accelerator is None and not self.is_meta:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if type(self._array) is not CPU.array:
        raise runtime_error(
            f"cannot pin '{_type_of(self)}' only dense CPU tensors can be pinned", code="RG302"
        )
    assert accelerator is not None
    if accelerator.is_pinned(self._array):
        return self
    return wrap(PinnedHost(accelerator).from_numpy(self._array))


def _type_of(tensor: Tensor) -> str:
    return f"Meta{tensor.dtype.type_name}Type" if tensor.is_meta else str(tensor.type())
