"""The format before PyTorch 1.6: pickles one after the other, then the storages.

A magic number, a version, facts about the machine, the object, the keys of the storages, and for
each of them the number of its elements and the elements.
"""

from __future__ import annotations

import pickle
import pickletools
import sys
from collections.abc import Callable, Sequence
from pickle import UnpicklingError
from typing import IO, Any

import numpy as np

from retrograd import dtypes
from retrograd.notices import explained
from retrograd.ops.making.memory import TypedStorage, UntypedStorage
from retrograd.serialization.archive_writer import write_all
from retrograd.serialization.locations import Restore
from retrograd.serialization.names import StorageType
from retrograd.serialization.options import OPTIONS
from retrograd.serialization.rebuild import UNFILLED, described, swapped
from retrograd.serialization.restricted import Source
from retrograd.serialization.trusted import Read
from retrograd.tensor import Array

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
_CALLING = """
    GLOBAL STACK_GLOBAL INST OBJ NEWOBJ NEWOBJ_EX REDUCE BUILD EXT1 EXT2 EXT4 PERSID BINPERSID
"""


def write_legacy(file: IO[bytes], pickled: bytes, storages: Sequence[Any], protocol: int) -> None:
    """Write a pickle and its storages in the old format."""
    facts = {
        "protocol_version": _PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 8},
    }
    for value in (_MAGIC_NUMBER, _PROTOCOL_VERSION, facts):
        write_all(file, pickle.dumps(value, protocol))
    write_all(file, pickled)
    ordered = sorted(storages, key=lambda storage: str(storage.key))
    write_all(file, pickle.dumps([storage.key for storage in ordered], protocol))
    for storage in ordered:
        # how many elements; newer types are written as bytes
        by_byte = dtypes.from_numpy_dtype(storage.array.dtype) in dtypes.NEWER
        count = storage.array.nbytes if by_byte else storage.array.size
        write_all(file, count.to_bytes(8, "little"))
        write_all(file, storage.array.view(np.uint8))


def _is_plain(file: IO[bytes]) -> bool:
    """Whether the next pickle calls nothing: only then it may be the magic number.

    So a file of another kind is refused before any of it runs, whatever the caller trusts.
    """
    start = file.tell()
    calling = _CALLING.split()
    try:
        return not any(code.name in calling for code, _, _ in pickletools.genops(file))
    except ValueError:  # damaged: who reads it will say so
        return True
    finally:
        file.seek(start)


def read_legacy(file: IO[bytes], read: Read, restore: Restore, is_safe: bool) -> Any:
    """The object of a file in the old format."""
    if _is_tar(file):
        if is_safe:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
            )
        raise explained(
            NotImplementedError("retrograd does not support files in the legacy .tar format"),
            code="RG901",
        )
    source = Source(file)
    if not (is_safe or _is_plain(file)) or read(source) != _MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read(source)
    if version != _PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {_number(version)}")
    facts = read(source)
    little = facts.get("little_endian", True) if isinstance(facts, dict) else True
    storages = _Storages(source, restore)
    waiting: list[Callable[[], None]] = []
    UNFILLED.waiting = waiting
    try:
        result = read(source, storages.persistent_load)
    finally:
        UNFILLED.waiting = None
    keys = read(source)
    if not OPTIONS.skip_data:
        storages.fill(keys, little)
    for complete in waiting:
        complete()
    return result


def _number(value: object) -> str:
    return str(value) if type(value) is int and abs(value) < 1 << 64 else described(value)


def _is_tar(file: IO[bytes]) -> bool:
    start = file.tell()
    block = file.read(262)
    file.seek(start)
    return bool(start == 0 and block[257:262] == b"ustar")


class _Storages:
    """The storages of a file: tensors point into them before they are filled."""

    def __init__(self, source: Source, restore: Restore) -> None:
        self._source = source
        self._restore = restore
        self._claimed = 0
        self._found: dict[str, tuple[Array, int]] = {}

    def persistent_load(self, saved: object) -> Any:
        """A storage by its key, or the class of a module, whose source the file may hold."""
        if not isinstance(saved, tuple) or not saved:
            raise UnpicklingError("a saved object is named in an unknown way")
        kind = saved[0].decode("ascii") if isinstance(saved[0], bytes) else saved[0]
        if kind == "module" and len(saved) == 4:
            return saved[1]
        if kind != "storage" or len(saved) != 6:
            raise RuntimeError(f"Unknown saved id type: {described(kind)}")
        _, type_, key, location, count, view = saved
        location = location.decode("ascii") if isinstance(location, bytes) else location
        key = key.decode("ascii") if isinstance(key, bytes) else key
        if (
            not isinstance(type_, StorageType)
            or type(key) is not str
            or type(location) is not str
            or type(count) is not int
            or count < 0
        ):
            raise UnpicklingError("a storage is described in an unknown way")
        memory = self._memory(type_.dtype, key, location, count)
        if view is None:
            return TypedStorage(memory)
        if not isinstance(view, tuple) or len(view) != 3:
            raise UnpicklingError("a part of a storage is described in an unknown way")
        _, offset, size = view
        if type(offset) is not int or type(size) is not int or offset < 0 or size < 0:
            raise UnpicklingError("a part of a storage is described in an unknown way")
        if offset + size > memory.size:
            raise RuntimeError(f"a part of storage {key} lies outside of it")
        return TypedStorage(memory[offset : offset + size])

    def _memory(self, kind: dtypes.dtype, key: str, location: str, count: int) -> Array:
        found = self._found.get(key)
        if found is None:
            numpy_type = kind.numpy
            self._claimed += count * numpy_type.itemsize
            if self._claimed > self._source.left:
                raise RuntimeError(
                    f"storage has wrong byte size: the file is too short for {count} elements of "
                    f"{kind!r} in storage {key}"
                )
            made = np.zeros(count, numpy_type)
            memory = self._restore(UntypedStorage(made), location)._owner
            found = self._found[key] = (memory.reshape(-1).view(numpy_type), numpy_type.itemsize)
        memory = found[0]
        return memory if memory.dtype is kind.numpy else memory.view(kind.numpy)

    def fill(self, keys: list[str], little: bool) -> None:
        """Read the elements, which come in the order of these keys."""
        if not isinstance(keys, list):
            raise RuntimeError("the list of storages is missing: the file is damaged")
        for key in keys:
            key = key.decode("ascii") if isinstance(key, bytes) else key
            found = self._found.pop(key, None) if isinstance(key, str) else None
            if found is None:
                raise RuntimeError(
                    f"storage key {described(key)} not found in deserialized_objects"
                )
            memory, itemsize = found
            count = int.from_bytes(self._source.read(8), "little")
            if count * itemsize != memory.nbytes:
                raise RuntimeError(
                    f"storage has wrong byte size: expected {memory.nbytes} got {count * itemsize}"
                )
            for begin in range(0, memory.nbytes, 1 << 24):
                part = memory.view(np.uint8)[begin : begin + (1 << 24)]
                part[:] = np.frombuffer(self._source.read(len(part)), np.uint8)
            if (sys.byteorder == "little") != bool(little):
                memory[...] = swapped(memory)
        if self._found:
            raise RuntimeError(f"the file has no data of storage {min(self._found)}")
