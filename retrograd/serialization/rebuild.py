"""Objects from what a file says about them. Nothing it says is believed without a look."""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pickle import UnpicklingError
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import xp_of
from retrograd.nn.parameter import Parameter
from retrograd.notices import explained, runtime_error
from retrograd.ops.making.construction import as_class
from retrograd.ops.making.memory import TypedStorage, region
from retrograd.sparse.checking import check_compressed, check_coo
from retrograd.sparse.pickling import rebuilt
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import (
    Size,
    backend_at,
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)

_MOST_DIMENSIONS = 64  # of an array
_LARGEST = 2**63 - 1


def described(value: object) -> str:
    """What something from a file is, in a few words.

    Never by its `repr`: a list that holds a list twice, and so on, prints longer than any memory.
    """
    if type(value) is str:
        return repr(value[:100])
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    return f"an object of type {type(value).__name__}"


def _is_integer(value: float) -> bool:
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def _integers(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or not all(map(_is_integer, value)):
        raise UnpicklingError(f"the {what} of a tensor must be a tuple of integers")
    return tuple(value)


class _Unfilled(threading.local):
    """What has to wait until the storages are filled; None where they are from the beginning."""

    waiting: list[Callable[[], None]] | None = None


UNFILLED = _Unfilled()

# -------------------------------------------------------------------------------------- tensors


def placed(memory: Array, offset: Any, size: object, stride: object) -> Array:
    """A part of a flat array; an error unless it lies inside."""
    shape, steps = _integers(size, "size"), _integers(stride, "stride")
    if not _is_integer(offset):
        raise UnpicklingError("the storage offset of a tensor must be an integer")
    if len(shape) != len(steps):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(steps)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if len(shape) > _MOST_DIMENSIONS:
        raise explained(
            NotImplementedError(
                f"retrograd does not support tensors of more than {_MOST_DIMENSIONS} dimensions"
            ),
            code="RG901",
        )
    if any(length < 0 for length in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    if any(step < 0 for step in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported, got: {list(steps)}")
    extent = math.prod(length for length in shape if length) * memory.itemsize
    if extent > _LARGEST or max((*steps, offset), default=0) * memory.itemsize > _LARGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    if 0 in shape:
        empty: Array = xp_of(memory).empty(shape, memory.dtype)
        return empty
    last = offset + sum((length - 1) * step for length, step in zip(shape, steps, strict=True))
    if last >= memory.size:
        raise RuntimeError(
            "Trying to resize storage that is not resizable\n"
            f"A tensor of size {list(shape)}, strides {list(steps)} and storage offset {offset} "
            f"needs {(last + 1) * memory.itemsize} bytes, and its storage has {memory.nbytes}."
        )
    return region(memory, shape, offset, steps)


def _memory(storage: TypedStorage) -> Array:
    if not isinstance(storage, TypedStorage):
        raise UnpicklingError(f"a tensor needs a storage, not {type(storage).__name__}")
    return storage._owner


def tensor(
    storage: TypedStorage,
    offset: float,
    size: object,
    stride: object,
    requires_grad: bool = False,
    hooks: object = None,
    metadata: object = None,
) -> Tensor:
    """A tensor in a storage."""
    return _made(_memory(storage), offset, size, stride, requires_grad, metadata)


def retyped(
    storage: Any,
    offset: float,
    size: object,
    stride: object,
    requires_grad: bool,
    hooks: object,
    dtype: dtypes.dtype | None,
    metadata: object = None,
) -> Tensor:
    """A tensor in a storage of bytes."""
    if not isinstance(dtype, dtypes.dtype):
        raise UnpicklingError(f"the dtype of a tensor cannot be {type(dtype).__name__}")
    memory = _memory(storage)
    if memory.nbytes % dtype.itemsize:
        raise RuntimeError(f"a storage of {memory.nbytes} bytes cannot hold {dtype!r}")
    swap = bool(getattr(storage, "other_order", False))
    memory = memory.view(dtype.numpy)
    return _made(swapped(memory) if swap else memory, offset, size, stride, requires_grad, metadata)


def without_elements(
    dtype: dtypes.dtype, size: object, stride: object, requires_grad: bool
) -> Tensor:
    """A tensor of the device meta."""
    if not isinstance(dtype, dtypes.dtype):
        raise UnpicklingError(f"the dtype of a tensor cannot be {type(dtype).__name__}")
    shape, steps = _integers(size, "size"), _integers(stride, "stride")
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=False) if n > 0)
    if not 0 < extent * dtype.itemsize <= _LARGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    memory = backend_at("meta").xp.empty(extent, dtype.numpy)
    return _made(memory, 0, shape, steps, requires_grad, None)


def _made(
    memory: Array,
    offset: float,
    size: object,
    stride: object,
    requires_grad: bool,
    metadata: object,
) -> Tensor:
    if isinstance(metadata, dict) and metadata:
        if UNFILLED.waiting is not None:
            raise explained(
                NotImplementedError(
                    "retrograd does not support lazily conjugated tensors in the format before 1.6"
                ),
                code="RG901",
            )
        # PyTorch conjugates and negates lazily: the file says that it is still to be done
        if metadata.get("conj"):
            memory = xp_of(memory).conjugate(memory)
        if metadata.get("neg"):
            memory = -memory
    made = wrap(placed(memory, offset, size, stride))
    if requires_grad and made._array.dtype not in dtypes.DIFFERENTIABLE:
        raise runtime_error(
            "only Tensors of floating point dtype can require gradients", code="RG111"
        )
    made._requires_grad = bool(requires_grad)
    return made


def swapped(memory: Array) -> Array:
    """The elements with their bytes in the other order, in new memory."""
    unit = memory.itemsize // 2 if memory.dtype in dtypes.COMPLEX_TYPES else memory.itemsize
    if unit == 1:
        return memory
    turned = memory.view(np.uint8).reshape(-1, unit)[:, ::-1]
    return np.ascontiguousarray(turned).reshape(-1).view(memory.dtype)


def parameter(
    data: object, requires_grad: object = True, hooks: object = None, state: object = None
) -> Tensor:
    """A parameter, with the attributes it had."""
    if not isinstance(data, Tensor):
        raise UnpicklingError(f"a Parameter needs a tensor, not {type(data).__name__}")
    made = Parameter(data, bool(requires_grad))
    set_state(made, state)
    return made


def from_type(function: Any, kind: Any, arguments: object, state: object) -> Tensor:
    """A tensor of a subclass, or one with attributes."""
    if function not in FUNCTIONS.values() or not isinstance(arguments, tuple):
        raise UnpicklingError(f"a tensor cannot be made by {described(function)}")
    if not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise UnpicklingError(f"a tensor cannot be of type {described(kind)}")
    made: Tensor = function(*arguments)
    if type(made) is not kind:
        made = as_class(made, kind)
    own: Any = getattr(kind, "__setstate__", None)
    if own is not None and own is not getattr(Tensor, "__setstate__", None):
        own(made, state)
    else:
        set_state(made, state)
    return made


def set_state(made: Tensor, state: object) -> None:
    """Attributes of a tensor: those in its `__dict__`, and slots of its own class."""
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    else:
        slots = None
    if state is not None:
        made.__dict__.update(attributes(state))
    for name, value in attributes(slots or {}).items():
        if hasattr(Tensor, name):
            raise UnpicklingError(f"the attribute {name!r} of a tensor cannot be set by a file")
        setattr(made, name, value)


def attributes(state: object) -> dict[str, Any]:
    """A dict of attributes, as which a state is taken."""
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise UnpicklingError("the state of an object must be a dict of attributes")
    return state


# ------------------------------------------------------------------------------- sparse tensors

_LAYOUTS = {
    repr(one): one for one in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
}


def layout_named(name: str) -> layout:
    """A layout by its printed form."""
    if type(name) is not str or name not in _LAYOUTS:
        raise UnpicklingError(f"there is no layout {described(name)}")
    return _LAYOUTS[name]


def sparse(kind: layout, data: object) -> Tensor:
    """A sparse tensor from its parts, each index of which is looked at."""
    if not isinstance(kind, layout) or not isinstance(data, tuple):
        raise UnpicklingError("a sparse tensor needs a layout and its parts")
    if kind not in (sparse_coo, sparse_csr, sparse_csc):
        raise explained(
            NotImplementedError(f"rebuilding sparse tensor for layout {kind}"), code="RG306"
        )
    count = (3, 4) if kind is sparse_coo else (4,)
    tensors = 2 if kind is sparse_coo else 3
    if len(data) not in count or not all(isinstance(part, Tensor) for part in data[:tensors]):
        raise UnpicklingError("a sparse tensor needs its indices, its values and its size")
    parts = (*data[:tensors], _integers(data[tensors], "size"), *data[tensors + 1 :])
    if UNFILLED.waiting is None:
        _check_sparse(kind, parts)
        return rebuilt(kind, parts)
    made = rebuilt(kind, parts)

    def complete() -> None:
        _check_sparse(kind, parts)
        made._array = rebuilt(kind, parts)._array

    UNFILLED.waiting.append(complete)
    return made


def _check_sparse(kind: layout, parts: tuple[Any, ...]) -> None:
    if kind is sparse_coo:
        indices, values, size, *coalesced = parts
        check_coo(indices._array, values._array, size, True, bool(coalesced and coalesced[0]))
    else:
        pointers, plain, values, size = parts
        check_compressed(kind, pointers._array, plain._array, values._array, size, True)


# ---------------------------------------------------------------------------------- what is not


def _refusing(what: str) -> Callable[..., Tensor]:
    def refuse(*arguments: object) -> Tensor:
        raise explained(NotImplementedError(f"retrograd does not support {what}"), code="RG901")

    return refuse


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "_rebuild_tensor": tensor,
    "_rebuild_tensor_v2": tensor,
    "_rebuild_tensor_v3": retyped,
    "_rebuild_parameter": parameter,
    "_rebuild_parameter_with_state": parameter,
    "_rebuild_sparse_tensor": sparse,
    "_rebuild_qtensor": _refusing("quantized tensors"),
    "_rebuild_nested_tensor": _refusing("nested tensors in files"),
    "_rebuild_meta_tensor_no_storage": without_elements,
    "_rebuild_wrapper_subclass": _refusing("wrapper subclasses of tensors"),
    "_rebuild_device_tensor_from_numpy": _refusing("tensors of devices without storages"),
    "_rebuild_device_tensor_from_cpu_tensor": _refusing("tensors of devices without storages"),
}
"""What PyTorch's pickles call to make a tensor."""


# ------------------------------------------------------------------- plain objects, for the safe


def encode(text: str, encoding: str = "latin1") -> bytes:
    """Bytes, which pickles before protocol 3 write as text."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("_codecs.encode is allowed for text in latin1 only")
    return text.encode("latin1")


def byte_array(content: object = b"", encoding: Any = None) -> bytearray:
    """A bytearray with a content, never one with a size."""
    if type(content) is str:
        content = encode(content, encoding)
    if type(content) is not bytes:
        raise UnpicklingError("a bytearray is allowed from bytes only")
    return bytearray(content)


def complex_number(real: float = 0.0, imaginary: float = 0.0) -> complex:
    """A complex number from two numbers."""
    if type(real) not in (float, int) or type(imaginary) not in (float, int):
        raise UnpicklingError("a complex number is allowed from two numbers only")
    return complex(real, imaginary)


def size_from(numbers: object = ()) -> Size:
    """A `Size` from integers."""
    return Size(_integers(numbers, "size"))


def ordered(pairs: Any = ()) -> OrderedDict[object, object]:
    """An OrderedDict from pairs."""
    if type(pairs) not in (list, tuple) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs
    ):
        raise UnpicklingError("an OrderedDict is allowed from pairs only")
    Keys().check(key for key, _ in pairs)
    return OrderedDict(pairs)


def counter(counts: object = None) -> Counter[object]:
    """A Counter from a dict of counts."""
    if counts is not None and type(counts) is not dict:
        raise UnpicklingError("a Counter is allowed from a dict only")
    return Counter(counts or {})


def set_from(items: Any = ()) -> set[object]:
    """A set from a list."""
    if type(items) not in (list, tuple, set, frozenset):
        raise UnpicklingError("a set is allowed from a list only")
    Keys().check(items)
    return set(items)


_MOST_KEY_PARTS = 10_000
_DEEPEST_KEY = 50
_MOST_WITH_ONE_HASH = 2_000


class Keys:
    """The keys of a file's dicts and sets so far: refuses those that would take forever.

    The hash of a text differs from process to process. That of a number or a tuple of numbers does
    not: a file may bring so many with one hash that a dict of them takes quadratic time.
    """

    def __init__(self) -> None:
        self._first: dict[int, object] = {}
        self._others: Counter[int] = Counter()

    def check(self, keys: Iterable[Any]) -> None:
        """Raise for a key that is too large, or one more of too many with the same hash."""
        for key in keys:
            if type(key) is str:
                continue
            if isinstance(key, (tuple, frozenset)):
                _check_parts(key)
            number = hash(key)
            first = self._first.setdefault(number, key)
            if first is not key and first != key:
                self._others[number] += 1
                if self._others[number] > _MOST_WITH_ONE_HASH:
                    raise UnpicklingError("too many keys of dicts have the same hash")


def _check_parts(key: tuple[object, ...] | frozenset[object]) -> None:
    """Refuse a key whose hash would take long, or much stack."""
    left: list[tuple[Any, int]] = [(key, 1)]
    seen = 0
    while left:
        part, depth = left.pop()
        seen += len(part)
        if seen > _MOST_KEY_PARTS or depth > _DEEPEST_KEY:
            raise UnpicklingError("a key of a dict is too large")
        left += [(inner, depth + 1) for inner in part if isinstance(inner, (tuple, frozenset))]


def length_of(arguments: Sequence[object]) -> int:
    """About how many bytes are copied when these arguments become an object."""
    total = 0
    for argument in arguments:
        if isinstance(argument, (str, bytes)):
            total += len(argument)
        elif isinstance(argument, (list, tuple, dict, set, frozenset)):
            total += 64 * len(argument)
    return total
