"""Writing the zip archive of a file: members one after the other, stored as they are.

Every member begins at a multiple of 64 bytes, so that a file can be mapped into memory and used
where it lies. Nothing is sought: an archive can be written into a pipe.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, Any

from retrograd.serialization.archive import LOCAL

_ALIGNMENT = 64
_UTF8 = 0x800
_LIMIT = 0xFFFFFFFF
_ZEROS = bytes(1 << 20)
_DATE = (1 << 5) | 1  # the first day of 1980: the same content gives the same file


class ArchiveWriter:
    """Writes members into a binary file, below a folder if one is named."""

    def __init__(self, file: IO[bytes], folder: str, sums: bool = True) -> None:
        self._file = file
        self._folder = folder
        self._sums = sums
        self._position = 0
        self._directory: list[bytes] = []

    def add(self, name: str, content: bytes | memoryview) -> None:
        """A member, from anything that has bytes."""
        view = memoryview(content).cast("B")
        self._begin(name, view.nbytes, zlib.crc32(view) if self._sums else 0)
        self._write(view)

    def add_empty_space(self, name: str, size: int) -> None:
        """A member whose bytes are filled in later: zeros, without a checksum."""
        self._begin(name, size, 0)
        while size > 0:
            self._write(memoryview(_ZEROS)[:size])
            size -= len(_ZEROS)

    def close(self) -> None:
        """Write the list of the members."""
        start, count = self._position, len(self._directory)
        listed = b"".join(self._directory)
        self._write(listed)
        if count >= 0xFFFF or start + len(listed) >= _LIMIT:
            large = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count,
                                len(listed), start)  # fmt: skip
            where = struct.pack("<4sIQI", b"PK\x06\x07", 0, self._position, 1)
            self._write(large + where)
        few, place = min(count, 0xFFFF), min(start, _LIMIT)
        self._write(struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, few, few, len(listed), place, 0))

    def _begin(self, name: str, size: int, crc: int) -> None:
        path = (f"{self._folder}/{name}" if self._folder else name).encode()
        header = self._position
        large = size >= _LIMIT
        short = _LIMIT if large else size
        sizes = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        data = header + 30 + len(path) + len(sizes) + 4
        gap = -data % _ALIGNMENT
        extra = sizes + struct.pack("<2sH", b"FB", gap) + bytes(gap)
        needed = 45 if large or header >= _LIMIT else 20
        facts = struct.pack("<HHHHIII", _UTF8, 0, 0, _DATE, crc, short, short)
        local = struct.pack("<4sH", LOCAL, needed) + facts
        self._write(local + struct.pack("<HH", len(path), len(extra)) + path + extra)
        listed = b""
        if large or header >= _LIMIT:
            values = [size, size] * large + [header] * (header >= _LIMIT)
            listed = struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)
        self._directory.append(
            struct.pack("<4sHH", b"PK\x01\x02", 45, needed)
            + facts
            + struct.pack("<HHHHHII", len(path), len(listed), 0, 0, 0, 0, min(header, _LIMIT))
            + path
            + listed
        )

    def _write(self, content: bytes | memoryview) -> None:
        write_all(self._file, content)
        self._position += memoryview(content).nbytes


def write_all(file: IO[bytes], content: Any) -> None:
    """Write every byte; an unbuffered file may take fewer at a time."""
    view = memoryview(content).cast("B")
    while view.nbytes:
        taken = file.write(view)
        if taken is None or taken >= view.nbytes:
            return
        view = view[taken:]
