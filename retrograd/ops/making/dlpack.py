"""DLPack: tensors shared with other libraries without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.dtypes import BF16
from retrograd.ops import errors
from retrograd.ops.making.construction import fresh, shared_array
from retrograd.ops.registry import attach, function_only
from retrograd.tensor import Tensor, tensor_method
from retrograd.tensor.size import Device


@tensor_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """The device as DLPack numbers it: (1, 0) is the CPU."""
    return self._array.__dlpack_device__()


@tensor_method
def __dlpack__(
    self: Tensor,
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule through which another library sees this tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._array.dtype is BF16:
        raise errors.unsupported("DLPack export of torch.bfloat16")
    if stream not in (None, -1):
        raise TypeError("stream must be None for a tensor on the CPU")
    return self._array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


def to_dlpack(tensor: Tensor) -> object:
    """A DLPack capsule of a tensor; most libraries take the tensor itself instead."""
    return tensor.__dlpack__()


attach(to_dlpack, public=("to_dlpack",))


class _Capsule:
    """A bare capsule in the form that NumPy reads."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@function_only()
def from_dlpack(ext_tensor: object, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array (or a copy of it).

    >>> import numpy, retrograd as torch
    >>> torch.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if type(ext_tensor).__name__ != "PyCapsule":
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
                "consumed only once, so you might have already constructed a tensor from it once."
            )
        ext_tensor = _Capsule(ext_tensor)
    array = np.from_dlpack(ext_tensor)
    return fresh(shared_array(np.array(array) if copy else array))
