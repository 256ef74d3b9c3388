"""CUDA devices: how many, which is in use, what they are."""

from __future__ import annotations

from typing import Any

from retrograd.backend.cuda import cuda_backend, why_missing
from retrograd.backend.cuda.backend import CudaBackend
from retrograd.backend.cuda.errors import invalid_device
from retrograd.notices import explained
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device
from retrograd.tensor.size import device as _device


def backend() -> CudaBackend:
    """CUDA's backend; PyTorch's error if there is no device."""
    found = cuda_backend()
    if found is None:
        missing = why_missing()
        assert missing is not None
        raise explained(missing.error(), code="RG302")
    return found


def index_of(where: Device | Tensor, *, optional: bool = False) -> int:
    """The number of a device; None is the current one, and -1 with `optional` none at all."""
    if where is None:
        return -1 if optional else backend().current
    if isinstance(where, int):
        return where
    found = _device(where)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    if found.index is None:
        return -1 if optional else backend().current
    return found.index


def is_available() -> bool:
    """Whether a CUDA device can be used.

    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return cuda_backend() is not None


def device_count() -> int:
    """The number of CUDA devices."""
    found = cuda_backend()
    return 0 if found is None else found.count


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device computes in bfloat16."""
    return cuda_backend() is not None and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether the current device computes in TensorFloat-32."""
    return cuda_backend() is not None and get_device_capability()[0] >= 8


def init() -> None:
    """Start CUDA: it is started when a device is first asked for."""
    backend()


def current_device() -> int:
    """The number of the device in use."""
    return backend().current


def _use(index: int) -> None:
    here = backend()
    if not 0 <= index < here.count:
        raise invalid_device()
    here.cupy.cuda.Device(index).use()


def set_device(device: Device) -> None:
    """Use a device from here on: what is made on ``"cuda"`` is made there."""
    index = index_of(device, optional=True)
    if index >= 0:
        _use(index)


class device:
    """The context in which a device is used; a number below zero stands for none."""

    def __init__(self, device: Device) -> None:
        self.idx = index_of(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = backend().current
            _use(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.prev_idx >= 0:
            _use(self.prev_idx)


class device_of(device):
    """The context in which a tensor's device is used; of one on the CPU, none."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def synchronize(device: Device = None) -> None:
    """Wait until all work of a device has been done."""
    here = backend()
    with here.cupy.cuda.Device(index_of(device)):
        here.cupy.cuda.runtime.deviceSynchronize()


class _CudaDeviceProperties:
    """What a device is."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.name: str = facts["name"].decode()
        self.major: int = facts["major"]
        self.minor: int = facts["minor"]
        self.total_memory: int = facts["totalGlobalMem"]
        self.multi_processor_count: int = facts["multiProcessorCount"]
        self.warp_size: int = facts.get("warpSize", 0)
        self.max_threads_per_multi_processor: int = facts["maxThreadsPerMultiProcessor"]
        self.max_threads_per_block: int = facts.get("maxThreadsPerBlock", 0)
        self.regs_per_multiprocessor: int = facts.get("regsPerMultiprocessor", 0)
        self.shared_memory_per_block: int = facts.get("sharedMemPerBlock", 0)
        self.shared_memory_per_block_optin: int = facts.get("sharedMemPerBlockOptin", 0)
        self.shared_memory_per_multiprocessor: int = facts.get("sharedMemPerMultiprocessor", 0)
        self.L2_cache_size: int = facts.get("l2CacheSize", 0)
        self.pci_bus_id: int = facts.get("pciBusID", 0)
        self.pci_device_id: int = facts.get("pciDeviceID", 0)
        self.pci_domain_id: int = facts.get("pciDomainID", 0)
        uuid = facts.get("uuid", bytes(16))
        text = bytes(uuid["bytes"] if isinstance(uuid, dict) else uuid).hex()
        self.uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def get_device_properties(device: Device = None) -> _CudaDeviceProperties:
    """What a device is: name, memory, multiprocessors and more."""
    here, index = backend(), index_of(device)
    if not 0 <= index < here.count:
        raise AssertionError("Invalid device id")
    return _CudaDeviceProperties(here.cupy.cuda.runtime.getDeviceProperties(index))


def get_device_name(device: Device = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """The version of the instructions that a device knows."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """Whether a device reads the memory of another."""
    here = backend()
    places = index_of(device), index_of(peer_device)
    if any(not 0 <= place < here.count for place in places):
        raise AssertionError("Invalid device id")
    return bool(here.cupy.cuda.runtime.deviceCanAccessPeer(*places))


def get_arch_list() -> list[str]:
    """The architectures that are compiled for: the current device's, when a kernel is needed."""
    return ["sm_{}{}".format(*get_device_capability())]


def get_sync_debug_mode() -> int:
    """Whether waiting for the device is reported: it is not."""
    return 0


def get_allocator_backend() -> str:
    """The kind of allocator of device memory."""
    return "native"


# ---------------------------------------------------------------------------- torch.accelerator


def current_accelerator(check_available: bool = False) -> _device | None:
    """The kind of accelerator; None if there is none."""
    return None if cuda_backend() is None else _device("cuda")


class device_index(device):
    """The context in which the accelerator of a number is used; None stands for none."""

    def __init__(self, device: int | None, /) -> None:
        super().__init__(device)
