"""Tensors from data: Python numbers and lists, NumPy arrays, buffers, other tensors.

>>> import retrograd as torch
>>> torch.tensor([[1, 2], [3, 4]])
tensor([[1, 2],
        [3, 4]])
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import backend_of, kernels
from retrograd.backend.quiet import quiet
from retrograd.dtypes import dtype
from retrograd.engine.inference import flag_leaf, mark_inference
from retrograd.engine.lineage import cut_of
from retrograd.engine.state import HOT, STATE
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error, warn_once
from retrograd.ops.making.memory import UntypedStorage
from retrograd.ops.making.pinning import pinned_place
from retrograd.ops.registry import function_only
from retrograd.ops.shapes.copying import cast_array
from retrograd.tensor import Array, Tensor, tensor_method, wrap
from retrograd.tensor.size import Device, backend_at
from retrograd.tensor.size import device as _device


def fresh(array: Array, requires_grad: bool = False) -> Tensor:
    """A new leaf around `array`, which nobody else holds."""
    made = wrap(array)
    if HOT["UNUSUAL"] and STATE.inference:
        mark_inference(made)
    if requires_grad:
        if array.dtype not in dtypes.DIFFERENTIABLE:
            raise runtime_error(
                "Only Tensors of floating point and complex dtype can require gradients",
                code="RG111",
            )
        flag_leaf(made, True)
    return made


def as_class(tensor: Tensor, kind: type[Tensor]) -> Tensor:
    """The same tensor as an instance of a Tensor class, made without that class's constructor."""
    if kind is type(tensor):
        return tensor
    made = object.__new__(kind)
    for name in Tensor.__slots__:
        if not name.startswith("__"):
            setattr(made, name, getattr(tensor, name))
    return made


# --------------------------------------------------------------------------- data to an array


_PLAIN = frozenset((bool, int, float))


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, judged by their first elements, as PyTorch does."""
    shape: list[int] = []
    while is_sequence(data):
        shape.append(len(data))
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(
                f"could not determine the shape of object type '{type(data).__name__}'"
            ) from None
    if isinstance(data, (str, bytes)) and shape:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return tuple(shape)


def is_sequence(data: object) -> bool:
    """Tensors in a list count as numbers; what has a length and items is a sequence."""
    if isinstance(data, (list, tuple)):
        return True
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    if isinstance(data, (Tensor, str, bytes, dict, np.generic)):
        return False
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def _infer(data: Any) -> dtype:
    """The dtype that PyTorch infers: bool < int64 < default float < default complex."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy_dtype(data.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return dtypes.number_dtype(data)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if is_sequence(data):
        found: dtype | None = None
        if isinstance(data, (list, tuple)):
            kinds = set(map(type, data))
            if kinds and kinds <= _PLAIN:
                # the usual case, without a look at every number
                return dtypes.number_dtype(next(k for k in (float, int, bool) if k in kinds)())
        for item in data:
            if item is data:
                raise TypeError("new(): self-referential lists are incompatible")
            kind = _infer(item)
            found = kind if found is None else dtypes.promote_types(found, kind)
            if found is dtypes.complex128:
                break
        return dtypes.get_default_dtype() if found is None else found
    if hasattr(data, "__float__"):
        return dtypes.get_default_dtype()
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _flatten(data: Any, shape: tuple[int, ...], depth: int, into: list[object]) -> None:
    """Append the numbers of nested sequences, checking that they are not ragged."""
    if depth and isinstance(data, np.ndarray) and data.ndim:
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting to "
            "a tensor.",
            user_level(),
        )
    if depth == len(shape):
        into.append(data)
        return
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise explained(
            ValueError(
                f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
            ),
            code="RG206",
        )
    if depth == len(shape) - 1 and isinstance(data, (list, tuple)):
        into.extend(data)
        return
    for item in data:
        _flatten(item, shape, depth + 1, into)


def _number(value: Any, target: dtype) -> complex:
    """One element as a Python number of the target's kind, or the error of PyTorch's conversion."""
    category = target.category
    if isinstance(value, Tensor):
        if category == dtypes.INTEGER:
            return value.__index__()
        return (complex if category == dtypes.COMPLEX else float)(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.item()
    if hasattr(value, "__index__"):
        value = value.__index__()
    if category in (dtypes.COMPLEX, dtypes.FLOAT):
        kind, way = (complex, "__complex__") if category == dtypes.COMPLEX else (float, "__float__")
        # Not everything that Python converts: a text is no number.
        if not hasattr(value, "__float__") and not hasattr(value, way):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return kind(value)
    if isinstance(value, complex) and category == dtypes.BOOL:
        return bool(value)
    if not isinstance(value, (int, float)):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    if category == dtypes.BOOL:
        return bool(value)
    return value


def _from_plain(data: object, wanted: dtype | None) -> Array | None:
    """The same for Python's own numbers and lists; None if this needs more care."""
    kind = None if wanted is None else wanted.numpy
    return kernels.from_numbers(data, kind, dtypes.get_default_dtype().numpy)


def array_from(data: Any, wanted: dtype | None) -> Array:
    """A fresh array of nested numbers, in `wanted` or the inferred dtype."""
    made = _from_plain(data, wanted)
    if made is not None:
        return made
    if isinstance(data, (bool, int, float, complex)):
        return _from_numbers([data], (), wanted or dtypes.number_dtype(data))
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape = _shape_of(data)
    target = _infer(data) if wanted is None else wanted
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers)
    return _from_numbers(numbers, shape, target)


def _from_numbers(numbers: Sequence[object], shape: tuple[int, ...], target: dtype) -> Array:
    kinds = set(map(type, numbers))
    if not kinds <= _PLAIN:
        numbers = [_number(value, target) for value in numbers]
    if target.category == dtypes.INTEGER:
        return _whole_numbers(numbers, target).reshape(shape)
    if target.category == dtypes.BOOL:
        return np.array([bool(n) for n in numbers], bool).reshape(shape)
    wide = np.complex128 if target.category == dtypes.COMPLEX else np.float64
    with quiet():
        return np.array(numbers, wide).astype(target.numpy).reshape(shape)


def _whole_numbers(numbers: Sequence[Any], target: dtype) -> Array:
    """Integers, floats cut to whole numbers; what the dtype cannot hold raises."""
    limits = np.iinfo(target.numpy)
    low = limits.min if target.is_signed else -limits.max
    if float in set(map(type, numbers)):
        if target is dtypes.uint64:
            raise TypeError("an integer is required")
        for n in numbers:
            if not low <= n <= limits.max:  # NaN too
                raise _too_large(target)
        numbers = [int(n) for n in numbers]
    if target is dtypes.uint64:
        for n in numbers:
            if not 0 <= n <= limits.max:
                negative = "can't convert negative int to unsigned"
                raise OverflowError(negative if n < 0 else "int too big to convert")
        return np.array(numbers, np.uint64)
    try:
        wide = np.array(numbers, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if wide.size and (wide.max() > limits.max or wide.min() < low):
        raise _too_large(target)
    return wide.astype(target.numpy)


def _too_large(target: dtype) -> Exception:
    return RuntimeError(f"value cannot be converted to type {target.name} without overflow")


# --------------------------------------------------------------------------- public functions


@function_only()
def tensor(
    data: object,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested lists, arrays or a tensor.

    >>> torch.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    wanted = dtypes.as_dtype(dtype, "tensor")
    if device is None and not (pin_memory or HOT["UNUSUAL"]):
        made = _from_plain(data, wanted)
        if made is not None:
            return fresh(made, requires_grad)
    place = backend_at(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=user_level(),
        )
        source = data._array
        if device is None:
            place = backend_of(source)
        target = source.dtype if wanted is None else wanted.numpy
        if not backend_of(source).holds and not place.holds:
            return fresh(cast_array(source, target), requires_grad)
        array = cast_array(backend_of(source).to_numpy(source), target)
    elif isinstance(data, (np.ndarray, np.generic)):
        source = shared_array(np.asarray(data))
        array = cast_array(source, source.dtype if wanted is None else wanted.numpy)
    else:
        array = array_from(data, wanted)
    if pin_memory and place.name == "cpu":
        place = pinned_place(place)
    copy = fresh(place.from_numpy(array), requires_grad)
    first = data[0] if isinstance(data, (list, tuple)) and data else data
    if isinstance(first, Tensor) and first.requires_grad:
        sources = data if isinstance(data, (list, tuple)) else [data]
        copy._cut = cut_of("copy", "torch.tensor()", *sources)
    return copy


class _Memory:
    """Shares an array's memory without being an array: where a tensor's storage begins."""

    def __init__(self, array: Array) -> None:
        self.array = array  # keeps the memory alive
        self.__array_interface__ = array.__array_interface__


def shared_array(array: Array) -> Array:
    """The array as tensors need it: a known dtype object, no negative strides."""
    kind = array.dtype
    known = dtypes.from_numpy_dtype(kind if kind.isnative else kind.newbyteorder("=")).numpy
    if not kind.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    for stride in () if array.flags.c_contiguous else array.strides:
        if stride % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the "
                "numpy array to reallocate the memory."
            )
        if stride < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with "
                "negative strides are not currently supported. (You can probably work around "
                "this by making a copy of your array  with array.copy().) "
            )
    if isinstance(array.base, np.ndarray) and known is not dtypes.BF16:
        # a part of a larger array is a storage of its own
        array = np.asarray(_Memory(array))
    return array.view(known, np.ndarray) if kind is not known else array.view(np.ndarray)


def _warn_if_read_only(array: Array) -> None:
    if not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
            stacklevel=user_level(),
        )


@function_only()
def from_numpy(ndarray: Array) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    >>> import numpy, retrograd as torch
    >>> torch.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = f"numpy.{kind.__name__}" if isinstance(ndarray, np.generic) else kind.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    array = shared_array(ndarray)
    _warn_if_read_only(array)
    return fresh(array)


def _warn_unwritable_buffer() -> None:
    warn_once(
        "The given buffer is not writable, and PyTorch does not support non-writable tensors. This "
        "means you can write to the underlying (supposedly non-writable) buffer using the tensor. "
        "You may want to copy the buffer to protect its data or make it writable before "
        "converting it to a tensor. This type of warning will be suppressed for the rest of this "
        "program.",
        stacklevel=user_level(),
    )


@function_only()
def as_tensor(data: object, dtype: dtypes.dtype | None = None, device: Device = None) -> Tensor:
    """`data` as a tensor, without a copy where that is possible.

    >>> import numpy, retrograd as torch
    >>> array = numpy.zeros(2)
    >>> torch.as_tensor(array)[0] = 5
    >>> array
    array([5., 0.])
    """
    wanted = dtypes.as_dtype(dtype, "as_tensor")
    place = backend_at(device)
    if isinstance(data, Tensor):
        kept: Tensor = data if device is None else data.to(device)
        return kept if wanted is None else kept.to(wanted)
    if isinstance(data, (np.ndarray, np.generic)):
        array = shared_array(np.asarray(data))
        _warn_if_read_only(array)
        if wanted is not None and array.dtype is not wanted.numpy:
            array = cast_array(array, wanted.numpy)
        return fresh(place.from_numpy(array))
    return fresh(place.from_numpy(array_from(data, wanted)))


@function_only()
def asarray(
    obj: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: shared memory if possible, a copy if asked (or allowed, and needed)."""
    wanted = dtypes.as_dtype(dtype, "asarray")
    if device is not None and (_device(device).type != "cpu" or getattr(obj, "is_cuda", False)):
        if copy is False:
            raise ValueError("cannot move tensor to another device without copying")
        there = asarray(obj, dtype=dtype, requires_grad=requires_grad).to(device)
        return there.clone() if copy and there is obj else there
    if isinstance(obj, Tensor):
        if requires_grad is None and obj.requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior "
                "and silence this warning.",
                user_level(),
            )
        if wanted is not None and wanted is not obj.dtype:
            _refuse_alias(copy, obj.dtype, wanted)
        found: Tensor = obj if wanted is None else obj.to(wanted)
        if copy and found is obj:
            found = obj.clone()
        if requires_grad is False and found.requires_grad:
            return found.detach()
        if requires_grad and not found.requires_grad:
            found = found.detach() if found is obj else found
            found.requires_grad_(True)
        return found
    if isinstance(obj, (np.ndarray, np.generic)):
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        array = shared_array(np.asarray(obj))
        known = dtypes.from_numpy_dtype(array.dtype)
        _warn_if_read_only(array)
        if wanted is not None and wanted is not known:
            _refuse_alias(copy, known, wanted)
            array = cast_array(array, wanted.numpy)
        elif copy:
            array = array.copy()
        return fresh(array, bool(requires_grad))
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        from retrograd.ops.making.dlpack import from_dlpack

        shared = from_dlpack(obj)
        return asarray(shared, dtype=dtype, copy=copy, requires_grad=bool(requires_grad))
    if _is_storage(obj):
        obj = obj._owner.reshape(-1, order="A").view(np.uint8).data
    if isinstance(obj, (bytes, bytearray, memoryview)):
        kind = dtypes.get_default_dtype() if wanted is None else wanted
        array = _buffer_array(obj, kind, -1, 0)
        return fresh(array.copy() if copy else array, bool(requires_grad))
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return fresh(array_from(obj, wanted), bool(requires_grad))


def _is_storage(value: object) -> bool:
    return isinstance(value, UntypedStorage)


def _refuse_alias(copy: bool | None, source: dtype, target: dtype) -> None:
    if copy is False:
        raise ValueError(
            f"can't alias tensor with dtype '{source.type_name}' into dtype '{target.type_name}'."
        )


@function_only()
def frombuffer(
    buffer: object,
    *,
    dtype: dtypes.dtype | None,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-d tensor over the memory of a buffer (bytearray, mmap, array.array ...).

    >>> torch.frombuffer(bytearray(b"abc"), dtype=torch.uint8)
    tensor([97, 98, 99], dtype=torch.uint8)
    """
    kind = dtypes.as_dtype(dtype, "frombuffer")
    if kind is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    return fresh(_buffer_array(buffer, kind, count, offset), requires_grad)


def _buffer_array(buffer: Any, kind: dtype, count: int, offset: int) -> Array:
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = memory.nbytes, kind.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if memory.readonly:
        _warn_unwritable_buffer()
    return np.frombuffer(memory.cast("B"), kind.numpy, count, offset)


def _new_tensor(
    self: Tensor,
    data: object,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`, in this tensor's dtype unless another is given."""
    wanted = self.dtype if dtype is None else dtypes.as_dtype(dtype, "new_tensor")
    assert wanted is not None
    place = backend_of(self._array) if device is None else backend_at(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "tensor.new_tensor(sourceTensor).",
            UserWarning,
            stacklevel=user_level(),
        )
        data = backend_of(data._array).to_numpy(data._array)
    if isinstance(data, (np.ndarray, np.generic)):
        array = cast_array(shared_array(np.asarray(data)), wanted.numpy)
    else:
        array = array_from(data, wanted)
    return fresh(place.from_numpy(array), requires_grad)


_new_tensor.__name__ = "new_tensor"
tensor_method(_new_tensor)
