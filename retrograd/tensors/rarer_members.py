"""Members of Tensor that few programs use: other devices, other layouts, old ways to resize."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from retrograd import dtypes
from retrograd.compat.marks import refuses, unsupported
from retrograd.notices import warn_once
from retrograd.ops.errors import explained
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.registry import RECORDED, attach
from retrograd.tensor import Tensor, tensor_member, tensor_method, tensor_property, wrap
from retrograd.tensors.arguments import size_argument

if TYPE_CHECKING:
    from retrograd.types import Device


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
_refuse("chalf", "there are no complex numbers of half precision; use to(torch.complex64)")
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
    def move(self: Tensor, *args: Any, **options: Any) -> NoReturn:
        raise explained(kind(text))

    move.__name__ = move.__qualname__ = name
    move.__doc__ = "Raise: there is no such device."
    setattr(Tensor, name, move)
    setattr(Tensor, f"is_{name}", property(lambda self: False, doc="Whether it is there: never."))


_elsewhere("xpu", "Torch not compiled with XPU enabled")
_elsewhere("mtia", "Torch not compiled with MTIA enabled.")
_elsewhere("ipu", "PyTorch is not linked with support for ipu devices", RuntimeError)
for _name in ("is_maia", "is_vulkan", "is_xla"):
    setattr(Tensor, _name, property(lambda self: False, doc="Whether it is there: never."))


# --------------------------------------------------------------------------------------- memory


@tensor_property
def _cdata(self: Tensor) -> int:
    """A number that no other living tensor has: PyTorch's is the address of its C++ part."""
    return id(self)


@tensor_property
def name(self: Tensor) -> None:
    """The name of a tensor: PyTorch no longer keeps any."""
    return None


@tensor_method
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, to be read only."""
    found: int = self.data_ptr()
    return found


@tensor_method
def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[Any] = False) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory.

    >>> import retrograd as torch
    >>> torch.empty(2, 3).t().dim_order()
    (1, 0)
    """
    strides = self.stride()
    if ambiguity_check is True and len(set(strides)) < len(strides):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given "
            "memory formats."
        )
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


@tensor_method
def storage_type(self: Tensor) -> Any:
    """The class of the typed storages of this dtype (deprecated in PyTorch)."""
    from retrograd.storage import storage_class

    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )
    return storage_class(self.dtype)


def _resized(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    if math.prod(shape) != self._array.size:
        sizes = ["x".join(str(size) for size in found) for found in (shape, self.shape)]
        raise RuntimeError(
            f"requested resize to {sizes[0]} ({math.prod(shape)} elements in total), but the "
            f"given tensor has a size of {sizes[1]} ({self._array.size} elements). autograd's "
            "resize can only change the shape of a given tensor, while preserving the number of "
            "elements. "
        )
    result: Tensor = RECORDED.reshape(self, shape)
    return result


@tensor_method
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Deprecated: `reshape` to sizes with as many elements."""
    warn_once("non-inplace resize is deprecated")
    return _resized(self, size_argument("resize", sizes, {}))


@tensor_method
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Deprecated: `reshape` to the size of a tensor with as many elements."""
    warn_once("non-inplace resize_as is deprecated")
    return _resized(self, tuple(tensor.shape))


@tensor_method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module puts in place of this tensor when it loads `other`: a copy into it, or that."""
    from retrograd.autograd.grad_mode import no_grad

    with no_grad():
        found: Tensor = (other if assign else self.copy_(other)).detach()
    return found


# ------------------------------------------------------------------------------------- elements


@tensor_method
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace every element by ``callable(element, element of x, element of y)``; slow."""
    from retrograd.tensors.queries import each

    return each(self, "map2_", callable, x, y)


def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None
) -> Tensor:
    """The bits of all elements, as 64 bit numbers, in one exclusive or.

    >>> import retrograd as torch
    >>> torch.hash_tensor(torch.tensor([1, 2, 3]))
    tensor(0, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype.is_complex or input.dtype in dtypes.UNSIGNED:
        raise explained(
            NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{input.dtype.type_name}'")
        )
    whole = input.dtype.category < dtypes.FLOAT
    wide = input._array.astype(np.int64 if whole else np.float64).view(np.uint64)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    axes = tuple(d % input.ndim for d in dims) if dims and input.ndim else None
    xor: Any = np.bitwise_xor  # whose stubs know `keepdims` as a literal only
    found = xor.reduce(wide, axis=axes, keepdims=keepdim)
    return finish("hash_tensor", wrap(np.asarray(found)), out)


attach(hash_tensor, methods=("hash_tensor",), public=("hash_tensor",))


# ------------------------------------------------------------------------------ of the package


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule through which another library sees the tensor's memory."""
    return tensor.__dlpack__()


attach(to_dlpack, public=("to_dlpack",))


def get_device_module(device: Device = None) -> Any:
    """The module about a kind of device: `torch.cpu`, unless another is named."""
    from importlib import import_module

    from retrograd.tensors.size import device as Device

    kind = "cpu" if device is None else Device(device).type
    try:
        return import_module(f"retrograd.{kind}")
    except ImportError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


attach(get_device_module, public=("get_device_module",))
