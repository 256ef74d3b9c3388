"""DLPack: tensors shared with other libraries without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backend import CPU
from retrograd.dtypes import BF16
from retrograd.ops import errors
from retrograd.ops.making.construction import fresh, shared_array
from retrograd.ops.registry import attach, function_only
from retrograd.tensor import Tensor, tensor_member, tensor_method
from retrograd.tensor.size import Device, backend_at
from retrograd.tensor.size import device as _device


@tensor_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """The device as DLPack numbers it: (1, 0) is the CPU, (2, 0) the first CUDA device."""
    kind, number = self._array.__dlpack_device__()
    return int(kind), int(number)


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
    if self.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    if not self.is_cpu:
        array: Any = self._array
        return array.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )
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


_CUDA = 2  # as DLPack numbers kinds of devices


def _on_cuda(other: Any, device: Device, copy: bool | None) -> Tensor:
    """Of an array of a CUDA device, or of the CPU that is to go there."""
    place: Any = backend_at("cuda" if device is None else device)
    if place is CPU:
        return _on_cuda(other, None, False).cpu()
    array = place.cupy.from_dlpack(other)
    return fresh(array.copy() if copy else array)


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """The memory of the device, as libraries for CUDA take it."""
    if not self.is_cuda:
        raise AttributeError(
            "Can't get __cuda_array_interface__ on non-CUDA tensor type: "
            f"{self.type()} If CUDA data is required use tensor.cuda() to copy tensor to device "
            "memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    if self._array.dtype is BF16:
        raise errors.unsupported("__cuda_array_interface__ of torch.bfloat16")
    array: Any = self._array
    found = array.__cuda_array_interface__
    data = (found["data"][0] if array.size else 0, False)
    shown = {"typestr": found["typestr"], "shape": tuple(array.shape)}
    return {**shown, "strides": found["strides"], "data": data, "version": 2}


tensor_member("__cuda_array_interface__", property(_cuda_array_interface))


def _dir(self: Tensor) -> list[str]:
    """The names of its members; the memory of a device is one only where there is a device."""
    hidden = () if self.is_cuda else ("__cuda_array_interface__",)
    return [name for name in object.__dir__(self) if name not in hidden]


tensor_member("__dir__", _dir)


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
    kind = ext_tensor.__dlpack_device__()[0] if hasattr(ext_tensor, "__dlpack_device__") else 1
    if int(kind) == _CUDA or (device is not None and _device(device).type == "cuda"):
        return _on_cuda(ext_tensor, device, copy)
    array = np.from_dlpack(ext_tensor)
    return fresh(shared_array(np.array(array) if copy else array))
