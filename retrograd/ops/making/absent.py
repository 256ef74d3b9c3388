"""What tensors of other devices, layouts and formats have: here it is absent, and says so."""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

from retrograd import dtypes
from retrograd.backend.cuda import cuda_backend
from retrograd.marks import refuses, unsupported
from retrograd.ops.errors import explained
from retrograd.ops.registry import attach
from retrograd.tensor import Tensor, tensor_member
from retrograd.tensor.size import Device


def _refuse(name: str, reason: str) -> None:
    tensor_member(name, unsupported(f"torch.Tensor.{name}", reason))


_QUANTIZED = "there are no quantized tensors; compute in float32"

for _name in (
    *("int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points"),
    *("q_scale", "q_zero_point", "qscheme"),
):
    _refuse(_name, _QUANTIZED)
_refuse("to_mkldnn", "there is no oneDNN layout; the tensor works as it is")
_refuse("to_padded_tensor", "there are no nested tensors; use nn.utils.rnn.pad_sequence")
_refuse("record_stream", "there is no device with streams; leave the call out")
_refuse("slice_inverse", "it undoes views of compiled programs; use as_strided")


_refuse("index", "there are no first-class dimensions; index with brackets")


def dequantize(self: Tensor) -> Tensor:
    """The tensor in float32: it is not quantized."""
    return self.to(dtypes.float32)


attach(dequantize, methods=("dequantize",), public=("dequantize",))


def is_distributed(input: Tensor) -> bool:
    """Whether the tensor is spread over processes: never."""
    return False


attach(is_distributed, methods=("is_distributed",), public=("is_distributed",))


# -------------------------------------------------------------------------------- other devices


def _elsewhere(name: str, text: str, kind: type[Exception] = AssertionError) -> None:
    @refuses("this library computes on the CPU only")
    def move(self: Tensor, *args: object, **options: object) -> NoReturn:
        raise explained(kind(text), code="RG302")

    move.__name__ = move.__qualname__ = name
    move.__doc__ = "Raise: there is no such device."
    setattr(Tensor, name, move)
    setattr(Tensor, f"is_{name}", property(_never))


def _never(self: Tensor) -> bool:
    """Whether it is there: never."""
    return False


_elsewhere("xpu", "Torch not compiled with XPU enabled")
_elsewhere("mtia", "Torch not compiled with MTIA enabled.")
_elsewhere("ipu", "PyTorch is not linked with support for ipu devices", RuntimeError)
for _name in ("is_maia", "is_vulkan", "is_xla"):
    setattr(Tensor, _name, property(_never))


def get_device_module(device: Device = None) -> ModuleType:
    """The module about a kind of device; of the accelerator, or else the CPU, if none is named."""
    from importlib import import_module

    from retrograd.tensor.size import device as Device

    if device is None:
        kind = "cpu" if cuda_backend() is None else "cuda"
    else:
        kind = Device(device).type
    try:
        return import_module(f"retrograd.{kind}")
    except ImportError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


attach(get_device_module, public=("get_device_module",))
