"""Storages: the memory behind tensors, as bytes and as elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, backend_of, is_array, xp_of
from retrograd.backend import CPU as HOST
from retrograd.backend.shared_memory import memory_of
from retrograd.notices import explained
from retrograd.ops import errors
from retrograd.tensor import Array
from retrograd.tensor.size import CPU, Device, backend_at, device, device_of

U8 = dtypes.uint8.numpy


def address_of(array: Array) -> int:
    """Where the first element lies."""
    found = BACKENDS.get(type(array))
    if found is None:  # of a batch: has facts, but no elements
        return int(array.ctypes.data)
    return found.address(array)


def pointer_of(array: Array) -> int:
    """The same for programs: 0 where there is no memory."""
    return address_of(array) if array.size and _holds(array) else 0


def _holds(array: Array) -> bool:
    found = BACKENDS.get(type(array))
    return found is None or found.holds


def _check_elements(array: Array) -> None:
    if not _holds(array):
        text = f"Not available for '{device_of(array).type}' device type"
        raise explained(NotImplementedError(text), code="RG302")


class UntypedStorage:
    """Bytes: those behind a tensor and its views, or so many of its own.

    >>> torch.UntypedStorage([1, 2, 3]).tolist()
    [1, 2, 3]
    >>> torch.ones(2).untyped_storage().nbytes()
    8
    """

    is_sparse = False

    def __init__(self, *args: Any, device: Device = None) -> None:
        self._stands_alone = not (args and is_array(args[0]))
        if self._stands_alone:
            place = backend_at(CPU if device is None else device)
            self._owner: Array = place.from_numpy(_bytes_from(args))
        else:
            self._owner = args[0]

    def _bytes(self) -> Array:
        """All bytes in a row, which can be written."""
        flat = self._owner.reshape(-1, order="A")
        if flat.size and not xp_of(flat).shares_memory(flat, self._owner):
            raise errors.unsupported("writing the storage of a tensor with gaps in its memory")
        row: Array = flat.view(U8)
        return row

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._owner.nbytes

    def size(self) -> int:
        """How many bytes there are."""
        return self._owner.nbytes

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return pointer_of(self._owner)

    def element_size(self) -> int:
        """Bytes of one element of a storage: one."""
        return 1

    def tolist(self) -> list[int]:
        """All bytes as numbers."""
        _check_elements(self._owner)
        return list(backend_of(self._owner).to_numpy(self._owner).tobytes("A"))

    def __len__(self) -> int:
        return self._owner.nbytes

    def __getitem__(self, index: int | slice) -> UntypedStorage | int:
        if isinstance(index, slice):  # the same memory, as a storage of its own
            return UntypedStorage(self._bytes()[index])
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {errors.type_name(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        _check_elements(self._owner)
        return int(self._bytes()[index])

    def __setitem__(self, index: int | slice, value: int) -> None:
        if not isinstance(index, slice) and not -len(self) <= index < len(self):
            raise RuntimeError("out of bounds")
        self._bytes()[index] = value % 256

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def fill_(self, value: int) -> UntypedStorage:
        """Write one byte everywhere."""
        self._bytes()[:] = value % 256
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of another storage."""
        if not isinstance(source, UntypedStorage):
            raise TypeError(
                "copy_(): argument 'src' (position 1) must be torch.Storage, not "
                f"{errors.type_name(source)}"
            )
        if len(source) != len(self):
            raise RuntimeError(
                f"size does not match, self was {len(self)} bytes but src was {len(source)} bytes"
            )
        bytes_ = source._bytes()
        if type(bytes_) is not type(self._owner):
            there = backend_of(bytes_).to_numpy(bytes_, non_blocking=non_blocking)
            bytes_ = backend_of(self._owner).from_numpy(there, non_blocking=non_blocking)
        self._bytes()[:] = bytes_
        return self

    def clone(self) -> UntypedStorage:
        """A copy of the bytes."""
        return UntypedStorage(len(self), device=self.device).copy_(self)

    def resize_(self, size: int) -> UntypedStorage:
        """So many bytes: the first ones stay. Only of a storage that no tensor was made from."""
        if not self._stands_alone:
            raise errors.unsupported("resize_ of the storage of a tensor: resize the tensor")
        grown = xp_of(self._owner).zeros(_checked_size(size), U8)
        kept = min(size, len(self))
        grown[:kept] = self._bytes()[:kept]
        self._owner = grown
        return self

    def type(self) -> str:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    def is_pinned(self, device: Device = None) -> bool:
        """Whether the memory is kept in place for a device: it is not."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return type(self._owner) is HOST.array and memory_of(self._owner) is not None

    @property
    def device(self) -> device:
        """Where the bytes are."""
        return device_of(self._owner)

    @property
    def is_cuda(self) -> bool:
        """Whether the bytes are on a CUDA device."""
        return self.device.type == "cuda"

    def to(self, *, device: Device, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device; the storage itself if it is there."""
        place = backend_at(device)
        if type(self._owner) is place.array:
            return self
        there = backend_of(self._owner).to_numpy(self._owner, non_blocking=non_blocking)
        return UntypedStorage(place.from_numpy(there, non_blocking=non_blocking))

    def cuda(self, device: Device = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a CUDA device; the storage itself if it is there."""
        where = "cuda" if device is None else device
        return self.to(device=where, non_blocking=non_blocking)

    def untyped(self) -> UntypedStorage:
        """The storage itself: it has no type."""
        return self

    def cpu(self) -> UntypedStorage:
        """The bytes on the CPU; the storage itself if it is there."""
        return self.to(device=CPU)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, which stay in the file until they are used.

        Writing into them writes into the file if it is `shared`.
        """
        import mmap

        with open(filename, "r+b" if shared else "rb") as file:
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            mapped = mmap.mmap(file.fileno(), nbytes, access=access)
        return cls(HOST.xp.frombuffer(mapped, U8))

    def __repr__(self) -> str:
        values = "".join(f" {byte}\n" for byte in self.tolist()) if _holds(self._owner) else "...\n"
        return f"{values}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


def _checked_size(size: int) -> int:
    if size < 0:
        raise RuntimeError(f"a storage cannot have {size} bytes")
    return size


def _bytes_from(args: tuple[Any, ...]) -> Array:
    """New bytes: none, so many, or these."""
    if len(args) > 1:
        raise errors.invalid_combination("torch.UntypedStorage", list(args))
    given = args[0] if args else 0
    if isinstance(given, int):
        return HOST.xp.empty(_checked_size(given), U8)
    kind = errors.type_name(given)
    if not isinstance(given, (list, tuple, str)):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {kind}")
    for item in given:
        if not isinstance(item, int):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({kind}), "
                f"but one of the items was of type {errors.type_name(item)} instead of int"
            )
    return HOST.xp.array([item % 256 for item in given], U8)


class TypedStorage:
    """The elements behind a tensor and its views, in memory order."""

    def __init__(self, array: Array) -> None:
        self._owner = array

    def fill_(self, value: complex) -> TypedStorage:
        """Write one number everywhere."""
        self._owner.fill(value)
        return self

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.from_numpy_dtype(self._owner.dtype)

    @property
    def device(self) -> device:
        """Where the elements are."""
        return device_of(self._owner)

    def size(self) -> int:
        """How many elements there are."""
        return self._owner.size

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._owner.nbytes

    def data_ptr(self) -> int:
        """The address of the first element."""
        return pointer_of(self._owner)

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._owner.itemsize

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._owner)

    def tolist(self) -> list[complex]:
        """All elements as numbers."""
        _check_elements(self._owner)
        flat = backend_of(self._owner).to_numpy(self._owner).reshape(-1, order="A")
        return (flat.astype(float) if flat.dtype is dtypes.BF16 else flat).tolist()

    def __len__(self) -> int:
        return self._owner.size

    def __getitem__(self, index: int) -> complex:
        return self.tolist()[index]

    def __repr__(self) -> str:
        holds = _holds(self._owner)
        values = "".join(f" {value}\n" for value in self.tolist()) if holds else "...\n"
        kind = f"dtype={self.dtype!r}, device={self.device}"
        return f"{values}[torch.storage.TypedStorage({kind}) of size {len(self)}]"
