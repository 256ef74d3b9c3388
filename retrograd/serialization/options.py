"""What can be set for all files: byte order, checksums, mapping, and leaving out the data."""

from __future__ import annotations

import mmap
import threading
from enum import Enum


class SourceChangeWarning(Warning):
    """The class of a saved module is written differently now than when it was saved."""


class LoadEndianness(Enum):
    """The byte order of files that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options(threading.local):
    skip_data = False


class _Shared:
    endianness: LoadEndianness | None = None
    sums = True
    mapping: int | None = getattr(mmap, "MAP_PRIVATE", None)


OPTIONS = _Options()
SHARED = _Shared()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that `load` assumes where a file does not say: None means little.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    return SHARED.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of files that do not name theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    SHARED.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes a checksum of every storage.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return SHARED.sums


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether `save` writes checksums. Without them `load` cannot notice damaged numbers."""
    SHARED.sums = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """How ``load(mmap=True)`` maps a file: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`.

    >>> import mmap, retrograd as torch
    >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return SHARED.mapping


class set_default_mmap_options:
    """Choose how ``load(mmap=True)`` maps a file, from now on or for a ``with`` block.

    With `mmap.MAP_SHARED` what is written into a loaded tensor is written into the file.
    """

    def __init__(self, flags: int) -> None:
        if not hasattr(mmap, "MAP_PRIVATE"):
            raise RuntimeError(
                "Changing the default mmap options is currently not supported for Windows"
            )
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected "
                f"mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = SHARED.mapping
        SHARED.mapping = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        SHARED.mapping = self._before


class skip_data:
    """Save and load without the numbers: `save` leaves room for them, `load` does not read them.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "skip_data(materialize_fake_tensors=True) is not supported by retrograd: there are "
                "no fake tensors"
            )

    def __enter__(self) -> None:
        self._before = OPTIONS.skip_data
        OPTIONS.skip_data = True

    def __exit__(self, *exception: object) -> None:
        OPTIONS.skip_data = self._before
