"""Tensors from data: Python numbers and lists, NumPy arrays, buffers, other tensors.

>>> import retrograd as torch
>>> torch.tensor([[1, 2], [3, 4]])
tensor([[1, 2],
        [3, 4]])
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.arguments import refuse_pinned
from retrograd.autograd.state import STATE
from retrograd.dtypes import dtype
from retrograd.ops.copying import cast_array
from retrograd.ops.registry import composite
from retrograd.size import require_cpu
from retrograd.tensor import Array, Tensor, meta_of, wrap


def fresh(array: Array, requires_grad: bool = False) -> Tensor:
    """A new leaf around `array`, which nobody else holds."""
    made = wrap(array)
    if STATE.inference:
        meta_of(made).inference = True
    if requires_grad:
        if array.dtype not in dtypes.DIFFERENTIABLE:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made._requires_grad = True
    return made


# --------------------------------------------------------------------------- data to an array


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, judged by their first elements, as PyTorch does."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
    if isinstance(data, (str, bytes)) and shape:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return tuple(shape)


def _is_sequence(data: Any) -> bool:
    if isinstance(data, (Tensor, np.ndarray)):
        return data.ndim > 0
    return isinstance(data, Sequence | bytearray) and not isinstance(data, (str, bytes))


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
    if _is_sequence(data):
        found: dtype | None = None
        for item in data:
            kind = _infer(item)
            found = kind if found is None else dtypes.promote_types(found, kind)
            if found is dtypes.complex128:
                break
        return dtypes.get_default_dtype() if found is None else found
    if hasattr(data, "__float__"):
        return dtypes.get_default_dtype()
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _flatten(data: Any, shape: tuple[int, ...], depth: int, into: list[Any]) -> None:
    """Append the numbers of nested sequences, checking that they are not ragged."""
    if depth == len(shape):
        into.append(data)
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    if depth == len(shape) - 1 and isinstance(data, (list, tuple)):
        into.extend(data)
        return
    for item in data:
        _flatten(item, shape, depth + 1, into)


def _number(value: Any, target: dtype) -> Any:
    """One element as a Python number that fits `target`; errors as PyTorch's conversion raises."""
    if isinstance(value, (Tensor, np.ndarray)):
        if value.ndim and math.prod(value.shape) != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        value = value.item()
    elif isinstance(value, np.generic):
        value = value.item()
    category = target.category
    if category == dtypes.COMPLEX:
        return complex(value)
    if category == dtypes.FLOAT:
        if isinstance(value, complex):
            raise TypeError("must be real number, not complex")
        return float(value)
    if category == dtypes.BOOL:
        return bool(value)
    if isinstance(value, (list, tuple)):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return int(value)


def array_from(data: Any, wanted: dtype | None) -> Array:
    """A fresh array of nested numbers, in `wanted` or the inferred dtype."""
    target = _infer(data) if wanted is None else wanted
    if isinstance(data, (bool, int, float, complex)):
        return _from_numbers([data], (), target)
    shape = _shape_of(data)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers)
    return _from_numbers(numbers, shape, target)


_PLAIN = frozenset((bool, int, float))


def _from_numbers(numbers: list[Any], shape: tuple[int, ...], target: dtype) -> Array:
    kinds = set(map(type, numbers))
    if not kinds <= _PLAIN:
        numbers = [_number(value, target) for value in numbers]
    if target.category == dtypes.INTEGER:
        try:
            wide = np.array([int(n) for n in numbers], np.int64)
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
        if target is not dtypes.int64 and wide.size:
            limits = np.iinfo(target.numpy)
            low = -limits.max - 1 if target is dtypes.uint8 else limits.min
            if wide.max() > limits.max or wide.min() < low:
                raise RuntimeError(
                    f"value cannot be converted to type {target.name} without overflow"
                )
        return wide.astype(target.numpy).reshape(shape)
    if target.category == dtypes.BOOL:
        return np.array([bool(n) for n in numbers], bool).reshape(shape)
    with np.errstate(over="ignore"):
        if target.category == dtypes.COMPLEX:
            return np.array(numbers, np.complex128).astype(target.numpy).reshape(shape)
        return np.array(numbers, np.float64).astype(target.numpy).reshape(shape)


# --------------------------------------------------------------------------- public functions


@composite(methods=())
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested lists, arrays or a tensor.

    >>> import retrograd as torch
    >>> torch.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    wanted = dtypes.as_dtype(dtype, "tensor")
    require_cpu(device)
    refuse_pinned(pin_memory)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        array = cast_array(data._array, data._array.dtype if wanted is None else wanted.numpy)
    elif isinstance(data, (np.ndarray, np.generic)):
        source = shared_array(np.asarray(data))
        array = cast_array(source, source.dtype if wanted is None else wanted.numpy)
    else:
        array = array_from(data, wanted)
    return fresh(array, requires_grad)


def shared_array(array: Array) -> Array:
    """The array as tensors need it: a known dtype object, no negative strides."""
    known = dtypes.from_numpy_dtype(array.dtype.newbyteorder("=")).numpy
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    for stride in array.strides:
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
    return array.view(known, np.ndarray) if array.dtype is not known else array.view(np.ndarray)


_warned_unwritable = False


@composite(methods=())
def from_numpy(ndarray: Array) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    >>> import numpy, retrograd as torch
    >>> torch.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    global _warned_unwritable
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = f"numpy.{kind.__name__}" if isinstance(ndarray, np.generic) else kind.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    array = shared_array(ndarray)
    if not array.flags.writeable and not _warned_unwritable:
        _warned_unwritable = True  # said once in a program
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    return fresh(array)
