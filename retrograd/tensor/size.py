"""Shapes, devices, layouts and memory formats: the small value types around a tensor."""

from __future__ import annotations

import math
import threading
from types import NotImplementedType
from typing import Any, SupportsIndex, overload

from retrograd.above import above
from retrograd.backend import NAMED, Backend, backend_of
from retrograd.backend.cuda import cuda_backend, why_missing
from retrograd.backend.meta import meta_backend
from retrograd.notices import explained, runtime_error


class Size(tuple[int, ...]):
    """A shape: a tuple that prints as ``torch.Size([2, 3])`` and knows its `numel`."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[object, ...]:
        return (Size, (tuple(self),))

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: object) -> Size | NotImplementedType:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: object) -> Size | NotImplementedType:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


_DEVICE_TYPES = (
    *("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga"),
    *("maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone"),
)


class device:
    """Where a tensor lives: ``cpu``, ``cuda`` where there is one; others can be named and compared.

    ``with torch.device("cuda"):`` new tensors are made there.

    >>> torch.device("cuda:1").index
    1
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_type_name(type)}")
        else:
            whole = type
            type, _, number = type.partition(":")
            if not type.replace("_", "").isalpha() or (":" in whole and not number.isdigit()):
                raise runtime_error(f"Invalid device string: '{whole}'", code="RG302")
            if number and index is not None:
                raise runtime_error(
                    "type (string) must not include an index because index was passed "
                    f"explicitly: {whole}",
                    code="RG302",
                )
            index = int(number) if number else index
        if type not in _DEVICE_TYPES:
            raise runtime_error(
                f"Expected one of {', '.join(_DEVICE_TYPES)} device type at start of device "
                f"string: {type}",
                code="RG302",
            )
        self.type: str = type
        self.index: int | None = index

    def __repr__(self) -> str:
        tail = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{tail})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[object, ...]:
        return (device, (self.type, self.index))

    def __enter__(self) -> device:
        """As a context the device is where new tensors go."""
        backend_at(self)
        _DEFAULT.entered = (*_DEFAULT.entered, self)
        _DEFAULT.told()
        return self

    def __exit__(self, *exception: object) -> None:
        _DEFAULT.entered = _DEFAULT.entered[:-1]
        _DEFAULT.told()


CPU = device("cpu")


Device = device | str | int | None
"""What may stand for a device."""


class _Default(threading.local):
    """Where new tensors go in this thread."""

    chosen: device | None = None  # by `set_default_device`
    entered: tuple[device, ...] = ()  # by ``with torch.device(...):``, the innermost last
    counted = False

    def told(self) -> None:
        """Note a change: where it is not the CPU, no call may take the CPU's shortcuts."""
        elsewhere = default_device().type != "cpu"
        if elsewhere != self.counted:
            self.counted = elsewhere
            default_moved(1 if elsewhere else -1)


_DEFAULT = _Default()


@above
def default_moved(change: int) -> None:
    """Count the threads whose new tensors go elsewhere than to the CPU."""
    raise NotImplementedError


def default_device() -> device:
    """Where new tensors go in this thread."""
    return _DEFAULT.entered[-1] if _DEFAULT.entered else _DEFAULT.chosen or CPU


def set_default(where: device | None) -> None:
    """Choose where new tensors go in this thread; None is the CPU."""
    backend_at(CPU if where is None else where)
    _DEFAULT.chosen = where
    _DEFAULT.told()


def backend_at(where: object) -> Backend:
    """The backend of a ``device=`` argument; None is the default. An unknown device raises."""
    if where is None:
        where = default_device()
    if where is CPU or where == "cpu":
        return NAMED["cpu"]
    wanted = where if isinstance(where, device) else device(where)
    found = NAMED.get(wanted.type)
    if found is None and wanted.type == "cuda":
        found = cuda_backend()
        missing = why_missing()
        if missing is not None:
            raise explained(missing.error(), code="RG302")
    if found is None and wanted.type == "meta":
        found = meta_backend()
    if found is not None:
        found.check_index(wanted.index)
        return found
    raise runtime_error(
        f"device '{wanted}' is not available: this build of retrograd computes on the CPU only",
        code="RG302",
    )


def refuse_elsewhere(what: str, where: object) -> None:
    """Accept None and the CPU; for any other device the error names what is not there."""
    found = backend_at(CPU if where is None else where)
    if found.name != "cpu":
        text = f"retrograd does not support {what} on device '{found.name}'"
        raise explained(NotImplementedError(text), code="RG901")


def device_of(array: object) -> device:
    """The device of an array."""
    found = backend_of(array)
    return CPU if found.name == "cpu" else device(found.name, found.index(array))


class layout:
    """How elements are laid out: `strided`, or in a sparse layout."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):
    """The order of dimensions in memory: `contiguous_format`, `preserve_format`, ..."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def _type_name(value: object) -> str:
    return type(value).__name__
