"""DLPack by its old path: tensors shared with other libraries without a copy."""

from enum import IntEnum

from retrograd.namespaces import from_table
from retrograd.ops.making.dlpack import from_dlpack as from_dlpack
from retrograd.ops.making.dlpack import to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


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


from_table(__name__)
