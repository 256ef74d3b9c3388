"""DLPack by its old path: tensors shared with other libraries without a copy."""

from enum import IntEnum
from typing import Any

from retrograd.namespaces import from_table
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

from_dlpack = PUBLIC["torch"]["from_dlpack"]


class DLDeviceType(IntEnum):
    """The kinds of devices, as DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule through which another library sees the tensor's memory."""
    return tensor.__dlpack__()


__getattr__ = from_table(__name__)
