"""Out of a tensor: other dtypes, Python numbers and lists, NumPy arrays.

>>> import retrograd as torch
>>> torch.tensor([1.5, 2.5]).to(torch.int64).tolist()
[1, 2]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import CPU, Backend, backend_of
from retrograd.backend.cuda import cuda_backend
from retrograd.dtypes import dtype
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.state import HOT, STATE, STRICT
from retrograd.engine.strictness import handed_out
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error, warn_once
from retrograd.ops.errors import unsupported
from retrograd.ops.making.arguments import invalid_combination
from retrograd.ops.making.construction import from_numpy
from retrograd.ops.making.memory import matches_format
from retrograd.ops.registry import RECORDED
from retrograd.ops.shapes.copying import cast_array, loses_parts, warn_complex_cast
from retrograd.signatures import forms
from retrograd.tensor import Array, Tensor, tensor_method, wrap
from retrograd.tensor.size import backend_at, memory_format, preserve_format
from retrograd.tensor.size import device as _device
from retrograd.tensor.size import device as device_class

if TYPE_CHECKING:
    from retrograd.types import Device, Number

# --------------------------------------------------------------------------------- dtype, device


_SWITCHES = ("non_blocking", "copy")
_TO_FORMS = (("device", "dtype", *_SWITCHES), ("dtype", *_SWITCHES), ("tensor", *_SWITCHES))


def _is_dtype(value: object) -> bool:
    return isinstance(value, dtypes.dtype) or (
        isinstance(value, type) and value in dtypes.PYTHON_TYPES
    )


_FITS: dict[str, Callable[[Any], bool]] = {
    "device": lambda value: (
        isinstance(value, (str, int, device_class, type(None))) and not isinstance(value, bool)
    ),
    "dtype": _is_dtype,
    "tensor": lambda value: isinstance(value, Tensor),
    "non_blocking": lambda value: isinstance(value, bool),
    "copy": lambda value: isinstance(value, bool),
    "memory_format": lambda value: value is None or isinstance(value, memory_format),
}


def to_options(args: tuple[object, ...], named: dict[str, object]) -> dict[str, Any]:
    """The arguments of `Tensor.to` and `Module.to` by name; TypeError if they fit no form."""
    if len(args) > len(_TO_FORMS[0]):
        raise TypeError(
            f"to() takes from 0 to {len(_TO_FORMS[0])} positional arguments but {len(args)} were "
            "given"
        )
    for form in _TO_FORMS:
        options = dict(zip(form, args, strict=False))
        if len(args) > len(form) or options.keys() & named.keys():
            continue
        options |= named
        optional = form[0] == "device"  # there, no dtype is a dtype too
        if (optional or form[0] in options) and all(
            (name in form or name == "memory_format")
            and (_FITS[name](value) or (optional and name == "dtype" and value is None))
            for name, value in options.items()
        ):
            return options
    raise invalid_combination(
        "to",
        args,
        "torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, "
        "bool copy = False, *, torch.memory_format memory_format = None\n"
        "torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
        "torch.memory_format memory_format = None\n"
        "Tensor tensor, bool non_blocking = False, bool copy = False, *, "
        "torch.memory_format memory_format = None",
        **named,
    )


def parse_to(*args: object, **options: object) -> tuple[object, object, bool, object]:
    """The arguments of `Module.to`: device, dtype, non_blocking and memory format.

    >>> torch._C._nn._parse_to("cpu")
    (device(type='cpu'), None, False, None)
    """
    found = to_options(args, options)
    if "copy" in found:
        raise RuntimeError(".to() does not accept copy argument")
    like = found.get("tensor")
    where = found.get("device") if like is None else like.device
    return (
        None if where is None else _device(where),
        found.get("dtype") if like is None else like.dtype,
        bool(found.get("non_blocking", False)),
        found.get("memory_format"),
    )


@tensor_method
@forms(
    "(self: Tensor, dtype: dtype, non_blocking: bool = False, copy: bool = False, *, "
    "memory_format: memory_format | None = None) -> Tensor",
    "(self: Tensor, device: Device = None, dtype: dtype | None = None, non_blocking: bool = False, "
    "copy: bool = False, *, memory_format: memory_format | None = None) -> Tensor",
    "(self: Tensor, tensor: Tensor, non_blocking: bool = False, copy: bool = False, *, "
    "memory_format: memory_format | None = None) -> Tensor",
)
def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The tensor with another dtype (or on another device); itself where nothing changes.

    The arguments are a device, a dtype or both, or a tensor to be like; then `non_blocking`,
    which changes nothing here, `copy`, and the keyword `memory_format`.

    >>> torch.ones(2).to(torch.float64).dtype
    torch.float64
    """
    if len(args) == 1 and not options and isinstance(args[0], dtypes.dtype):
        return _convert(self, args[0], False, None)
    found = to_options(args, options)
    other = found.get("tensor")
    where = found.get("device") if other is None else other.device
    kind = found.get("dtype") if other is None else other.dtype
    waits = not found.get("non_blocking", False)
    moved = self if where is None else _moved(self, backend_at(where), not waits)
    copy = found.get("copy", False) and moved is self
    return _convert(moved, dtypes.as_dtype(kind, "to"), copy, found.get("memory_format"))


def _moved(tensor: Tensor, target: Backend, non_blocking: bool = False) -> Tensor:
    """The tensor on a device, recorded; itself if it is there."""
    array = tensor._array
    if type(array) is target.array:
        return tensor
    if type(array) is SPARSE_ARRAY:
        if target is CPU:
            return tensor
        raise unsupported(f"sparse tensors on device '{target.name}': use to_dense() first")
    return RECORDED._to_device(tensor, backend_of(array), target, non_blocking)


def _convert(
    tensor: Tensor, wanted: dtype | None, copy: bool, order: memory_format | None
) -> Tensor:
    """Another dtype, another memory order, or a copy; the tensor itself if none of them."""
    array = tensor._array
    target = array.dtype if wanted is None else wanted.numpy
    reordered = order is not None and order is not preserve_format
    if not copy and array.dtype is target and (not reordered or matches_format(array, order)):
        return tensor
    if type(array) is SPARSE_ARRAY:
        return converted_sparse(tensor, wanted, copy)
    if loses_parts(array.dtype, target) and array.size:
        warn_complex_cast()
    if order is None and not HOT["UNUSUAL"] and not (STATE.grad_enabled and tensor.requires_grad):
        plain = wrap(cast_array(array, target))
        plain._cut = STATE.cut if tensor._requires_grad else tensor._cut
        return plain
    return RECORDED._to_dtype(tensor, target, order if reordered else None)


def _named_cast(name: str, target: dtype) -> Callable[..., Tensor]:
    def cast(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
        return _convert(self, target, False, memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {target!r}; itself if it is that already."
    return cast


for _name, _target in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "chalf": dtypes.complex32,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
}.items():
    setattr(Tensor, _name, _named_cast(_name, _target))


def type_name(tensor: Tensor) -> str:
    """The legacy name of a tensor's type."""
    name = f"{tensor.dtype.type_name}Tensor"
    if type(tensor._array) is not SPARSE_ARRAY:
        place = "" if backend_of(tensor._array) is CPU else f"{tensor.device.type}."
        return f"torch.{place}{name}"
    if not tensor.is_sparse:
        raise runtime_error("Unimplemented backend SparseCsrCPU", code="RG306")
    return f"torch.sparse.{name}"


# the start of PyTorch's text, which goes on about its linker
_NO_CUDA = "Cannot initialize CUDA without ATen_cuda library."


@forms(
    "(self: Tensor, dtype: None = None, non_blocking: bool = False) -> str",
    "(self: Tensor, dtype: dtype | str | type, non_blocking: bool = False) -> Tensor",
)
def _type(
    self: Tensor, dtype: dtypes.dtype | None = None, non_blocking: bool = False, **options: object
) -> str | Tensor:
    """The name of the tensor's type, or the tensor as another type.

    >>> torch.ones(2).type(), torch.ones(2).type("torch.LongTensor")
    ('torch.FloatTensor', tensor([1, 1]))
    """
    if dtype is None:
        return type_name(self)
    # `torch.cuda.FloatTensor`, which stands in its module for a type that is not there
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if isinstance(name, str) and name.startswith("torch.cuda."):
        if cuda_backend() is None:
            raise runtime_error(_NO_CUDA, code="RG302")
        self = _moved(self, backend_at("cuda"), non_blocking)
        found = dtypes.by_type_name(name.replace("torch.cuda.", "torch."))
        return _convert(self, found, False, None)
    if isinstance(dtype, str):
        self = _moved(self, CPU, non_blocking)
        found = dtypes.by_type_name(dtype)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    return _convert(self, dtypes.as_dtype(getattr(dtype, "dtype", dtype), "type"), False, None)


_type.__name__ = "type"
tensor_method(_type)


@tensor_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of `other`."""
    return _convert(self, other.dtype, False, None)


@tensor_method
def cpu(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """The tensor on the CPU; itself if it is there."""
    return _convert(_moved(self, CPU), None, False, memory_format)


@tensor_method
def cuda(
    self: Tensor, device: Device = None, non_blocking: bool = False, **options: object
) -> Tensor:
    """The tensor on a CUDA device; itself if it is there."""
    where = _device("cuda" if device is None else device)
    target = backend_at(where)
    if where.type != "cuda":
        raise runtime_error("Invalid device, must be cuda device", code="RG302")
    order: Any = options.get("memory_format")
    return _convert(_moved(self, target, non_blocking), None, False, order)


@tensor_method
def get_device(self: Tensor) -> int:
    """The device's number, -1 for the CPU."""
    index = self.device.index
    return -1 if index is None else index


# -------------------------------------------------------------------------------- Python numbers


@tensor_method
def item(self: Tensor) -> Number:
    """The only element, as a Python number.

    >>> torch.tensor([2.5]).item()
    2.5
    """
    array = self._array
    if array.size != 1:
        raise runtime_error(
            f"a Tensor with {array.size} elements cannot be converted to Scalar", code="RG207"
        )
    if array.dtype is dtypes.BF16:
        found: Number = float(array.reshape(())[()])
    else:
        found = array.item()
    if type(array) is not CPU.array:  # the device has come to an end
        for check in backend_of(array).faults:
            check()
    return found


@tensor_method
def tolist(self: Tensor) -> list[Any]:
    """The elements as nested lists of Python numbers (a number for a 0-d tensor)."""
    array = self._array
    found: list[Any] = (array.astype(np.float32) if array.dtype is dtypes.BF16 else array).tolist()
    return found


def _number(tensor: Tensor) -> int | float:
    if tensor._array.size != 1:
        raise explained(
            ValueError("only one element tensors can be converted to Python scalars"), code="RG207"
        )
    return tensor.item()


def _warn_of_history(tensor: Tensor) -> None:
    if tensor.requires_grad:
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first.",
            stacklevel=user_level(),
        )


@tensor_method
def __float__(self: Tensor) -> float:
    value = _number(self)
    _warn_of_history(self)
    return float(_real(value, "double"))


@tensor_method
def __int__(self: Tensor) -> int:
    return int(_real(_number(self), "int64_t"))


def _real(value: float, target: str) -> float:
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {target} without overflow")
    return value.real


@tensor_method
def __complex__(self: Tensor) -> complex:
    value = _number(self)
    _warn_of_history(self)
    return complex(value)


@tensor_method
def __bool__(self: Tensor) -> bool:
    array = self._array
    if array.size != 1:
        amount = "more than one value" if array.size else "no values"
        raise runtime_error(f"Boolean value of Tensor with {amount} is ambiguous", code="RG207")
    return bool(array.item() if array.dtype is not dtypes.BF16 else array.any().item())


@tensor_method
def __index__(self: Tensor) -> int:
    array = self._array
    if array.size != 1 or array.dtype.kind not in "biu":
        raise explained(
            TypeError("only integer tensors of a single element can be converted to an index"),
            code="RG207",
        )
    return int(array.item())


# ----------------------------------------------------------------------------------------- NumPy


@above
def converted_sparse(tensor: Tensor, wanted: dtype | None, copy: bool) -> Tensor:
    """The same for a sparse tensor."""
    raise NotImplementedError


@above
def layout_name(tensor: Tensor) -> str:
    """The layout of a sparse tensor in words."""
    raise NotImplementedError


@tensor_method
def numpy(self: Tensor, *, force: bool = False) -> Array:
    """The elements as a NumPy array that shares the tensor's memory.

    With ``force=True`` also for a tensor that requires grad.

    >>> torch.zeros(2).numpy()
    array([0., 0.], dtype=float32)
    """
    if type(self._array) is SPARSE_ARRAY:
        raise TypeError(
            f"can't convert {layout_name(self)} layout tensor to numpy. Use Tensor.to_dense() "
            "first."
        )
    if backend_of(self._array) is not CPU:
        if force:
            return self.detach().cpu().numpy()
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    if self.requires_grad and STATE.grad_enabled and not force:
        raise runtime_error(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            code="RG112",
        )
    if self._array.dtype in (dtypes.BF16, dtypes.C32):
        kind = dtypes.from_numpy_dtype(self._array.dtype).type_name
        raise TypeError(f"Got unsupported ScalarType {kind}")
    shared: Array = self._array.view()
    return handed_out(self, shared) if STRICT.enabled else shared


@tensor_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else array


@tensor_method
def __array_wrap__(
    self: Tensor, array: Array, context: object = None, return_scalar: bool = False
) -> Tensor:
    """The result of a NumPy function of a tensor, as a tensor again."""
    if array.dtype == bool:
        array = array.astype(np.uint8)
    return from_numpy(np.asarray(array))
