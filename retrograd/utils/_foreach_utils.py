"""Lists of tensors by device and dtype, as optimizers written for PyTorch group them."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import from_table
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

TensorListList = list[list[Tensor | None]]
Indices = list[int]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices with kernels for lists of tensors: those of PyTorch."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices with kernels for whole steps: those of PyTorch."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[object, object], tuple[TensorListList, Indices]]:
    """Lists that belong together, in groups by device and dtype of the first list's tensors."""
    found: dict[tuple[object, object], tuple[TensorListList, Indices]] = {}
    for index, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to "
                "be defined, but at least one is not."
            )
        lists, indices = found.setdefault(
            (first.device, first.dtype), ([[] for _ in tensorlistlist], [])
        )
        for place, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                place.append(tensors[index])
        if with_indices:
            indices.append(index)
    return found


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Tensor], device: Device) -> bool:
    return _device_has_foreach_support(device) and all(
        each is None or type(each) is Tensor for each in tensors
    )


from_table(__name__)
