"""Reading a zip archive that nobody vouches for.

Only what `save` writes is understood: members that are stored as they are, or deflated by someone
who packed a file again. Nothing is ever written to disk, a name is only something to look up, and
no size is believed before the file is long enough for it.
"""

from __future__ import annotations

import bisect
import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from retrograd.tensor import Array

LOCAL = b"PK\x03\x04"
_CENTRAL = b"PK\x01\x02"
_END = b"PK\x05\x06"
_END64 = b"PK\x06\x06"
_LOCATOR64 = b"PK\x06\x07"
_END_SIZE = 22
_LONGEST_COMMENT = 0xFFFF
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _UTF8, _SIZES_FOLLOW = 0x1, 0x800, 0x8
_IN_ZIP64 = 0xFFFFFFFF

# Weights hardly get smaller by deflating. A file that grows by more than this is made to.
_GROWTH = 16
_SMALL = 1 << 20
_CHUNK = 1 << 24


def broken(what: str, why: str = "") -> RuntimeError:
    """The error of a file that is no archive, or not a whole one."""
    advice = "The file is damaged, was not saved to its end, or was changed after it was saved."
    return RuntimeError(f"PytorchStreamReader failed {what}. {why + '. ' if why else ''}{advice}")


class _Member(NamedTuple):
    name: str
    header: int
    method: int
    flags: int
    crc: int
    packed: int
    size: int


class Archive:
    """The members of a zip archive that begins at the file's position and ends with the file."""

    def __init__(self, file: IO[bytes], in_folder: bool = True) -> None:
        self._file = file
        self._start: int = file.tell()
        file.seek(0, 2)
        self._size: int = file.tell() - self._start
        self._members: dict[str, _Member] = {}
        directory, end = self._central_directory()
        for member in _entries(directory):
            if member.name in self._members:
                raise broken("reading zip archive: duplicate names", f"{member.name!r} is twice")
            self._members[member.name] = member
        if not self._members:
            raise broken("reading zip archive: archive has no files")
        # Where a member has to end: at the next one, or at the directory.
        self._borders = sorted({m.header for m in self._members.values()} | {end})
        if self._borders[-1] != end:
            raise broken("reading zip archive: a member lies behind the central directory")
        first = next(iter(self._members))
        folder, slash, _ = first.partition("/")
        if in_folder and not slash:
            raise RuntimeError(f"file in archive is not in a subdirectory: {first}")
        self._folder = f"{folder}/" if in_folder else ""
        self._allow_growth()

    # ------------------------------------------------------------------------------- looking up

    def __contains__(self, name: str) -> bool:
        return f"{self._folder}{name}" in self._members

    def __iter__(self) -> Iterator[str]:
        for name in self._members:
            if name.startswith(self._folder):
                yield name.removeprefix(self._folder)

    def _member(self, name: str) -> _Member:
        member = self._members.get(f"{self._folder}{name}")
        if member is None:
            raise broken(f"locating file {name}: file not found")
        return member

    def size_of(self, name: str) -> int:
        """How many bytes a member has."""
        return self._member(name).size

    def offset_of(self, name: str) -> int | None:
        """Where the bytes of a stored member begin in the file; None if it is deflated."""
        member = self._member(name)
        return self._start + self._data_of(member) if member.method == _STORED else None

    # ---------------------------------------------------------------------------------- reading

    def read(self, name: str) -> bytes:
        """A member's bytes."""
        content = np.empty(self._member(name).size, np.uint8)
        self.read_into(name, content)
        return content.tobytes()

    def read_into(self, name: str, target: Array) -> None:
        """Fill an array of bytes, which has the size of the member."""
        member = self._member(name)
        self._file.seek(self._start + self._data_of(member))
        if member.method == _DEFLATED:
            self._inflate(member, target)
        else:
            self._fill(target)
        # 0: PyTorch wrote the file without sums (set_crc32_options(False), skip_data)
        if member.crc and zlib.crc32(target.data) != member.crc:
            raise broken(f"reading file {name}: its checksum is wrong")

    def _fill(self, target: Array) -> None:
        """Read into memory where it is, if the file can do so."""
        into = getattr(self._file, "readinto", None)
        done = 0
        while done < target.size:
            part = target[done : done + _CHUNK]
            if into is None:
                part[:] = np.frombuffer(self._exactly(part.size), np.uint8)
                done += part.size
                continue
            taken = into(part.data)
            if not taken:
                raise broken("reading zip archive: unexpected end of file")
            done += taken

    def _inflate(self, member: _Member, target: Array) -> None:
        engine = zlib.decompressobj(-15)
        done, left = 0, member.packed
        try:
            while not engine.eof:
                packed = engine.unconsumed_tail
                if not packed:
                    packed = self._exactly(min(left, _CHUNK))
                    left -= len(packed)
                room = member.size - done
                part = engine.decompress(packed, min(room, _CHUNK) + 1)
                if len(part) > room or (not part and not left and not engine.eof):
                    raise broken(f"reading file {member.name}: its size is not the one it names")
                target[done : done + len(part)] = np.frombuffer(part, np.uint8)
                done += len(part)
        except zlib.error as error:
            raise broken(f"reading file {member.name}: {error}") from None
        if done != member.size:
            raise broken(f"reading file {member.name}: its size is not the one it names")

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._file.read(count)
            if not part:
                raise broken("reading zip archive: unexpected end of file")
            parts.append(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _at(self, offset: int, count: int) -> bytes:
        if offset < 0 or offset + count > self._size:
            raise broken("reading zip archive: a part of it lies outside of the file")
        self._file.seek(self._start + offset)
        return self._exactly(count)

    def _data_of(self, member: _Member) -> int:
        """Where a member's bytes begin; an error if its header lies or it reaches into another."""
        header = self._at(member.header, 30)
        flags, method, _, _, crc, packed, size, name, extra = struct.unpack(
            "<HHHHIIIHH", header[6:]
        )
        if header[:4] != LOCAL or method != member.method:
            raise broken(f"reading zip archive: invalid header of {member.name!r}")
        if _decoded(self._at(member.header + 30, name), flags) != member.name:
            raise broken(f"reading zip archive: {member.name!r} has another name in its header")
        sizes = (member.crc, member.packed, member.size)
        if not flags & _SIZES_FOLLOW and _IN_ZIP64 not in (packed, size):
            if (crc, packed, size) != sizes:
                raise broken(f"reading zip archive: {member.name!r} has two sizes")
        data: int = member.header + 30 + name + extra
        following = self._borders[bisect.bisect_right(self._borders, member.header)]
        if data + member.packed > following:
            raise broken(f"reading zip archive: {member.name!r} reaches into the next member")
        return data

    # -------------------------------------------------------------------------------- directory

    def _central_directory(self) -> tuple[bytes, int]:
        """The list of members, and where it begins."""
        if self._size < _END_SIZE:
            raise broken("reading zip archive: not a ZIP archive")
        tail_size = min(self._size, _END_SIZE + _LONGEST_COMMENT)
        tail = self._at(self._size - tail_size, tail_size)
        found = tail.rfind(_END, 0, tail_size - _END_SIZE + 4)
        if found < 0:
            raise broken("reading zip archive: failed finding central directory")
        count, size, offset = struct.unpack_from("<HII", tail, found + 10)
        end = self._size - tail_size + found
        if 0xFFFF == count or _IN_ZIP64 in (size, offset):
            size, offset, end = self._large_directory(end)
        if offset + size > end:
            raise broken("reading zip archive: invalid header or archive is corrupted")
        return self._at(offset, size), offset

    def _large_directory(self, end: int) -> tuple[int, int, int]:
        locator = self._at(end - 20, 20)
        place = int.from_bytes(locator[8:16], "little")
        if locator[:4] != _LOCATOR64 or place + 56 > end - 20:
            raise broken("reading zip archive: invalid header or archive is corrupted")
        record = self._at(place, 56)
        if record[:4] != _END64:
            raise broken("reading zip archive: invalid header or archive is corrupted")
        size, offset = struct.unpack_from("<QQ", record, 40)
        return size, offset, place

    def _allow_growth(self) -> None:
        total = 0
        for member in self._members.values():
            if member.flags & _ENCRYPTED:
                raise broken(f"reading zip archive: {member.name!r} is encrypted")
            if member.method not in (_STORED, _DEFLATED):
                raise broken(f"reading zip archive: {member.name!r} is packed in an unknown way")
            if member.method == _STORED and member.packed != member.size:
                raise broken(f"reading zip archive: {member.name!r} has two sizes")
            total += member.size
        if total > max(_SMALL, _GROWTH * self._size):
            raise broken(
                "reading zip archive: its content is too large",
                f"A file of {self._size} bytes claims to hold {total} bytes",
            )


def _entries(directory: bytes) -> Iterator[_Member]:
    place = 0
    while place < len(directory):
        if directory[place : place + 4] != _CENTRAL or place + 46 > len(directory):
            raise broken("reading zip archive: invalid header or archive is corrupted")
        flags, method, _, _, crc, packed, size, name_size, extra_size, comment_size = (
            struct.unpack_from("<HHHHIIIHHH", directory, place + 8)
        )
        header = int.from_bytes(directory[place + 42 : place + 46], "little")
        begin, place = place + 46, place + 46 + name_size + extra_size + comment_size
        if place > len(directory):
            raise broken("reading zip archive: invalid header or archive is corrupted")
        name = _decoded(directory[begin : begin + name_size], flags)
        if _IN_ZIP64 in (size, packed, header):
            extra = directory[begin + name_size : begin + name_size + extra_size]
            size, packed, header = _large(extra, size, packed, header)
        yield _Member(name, header, method, flags, crc, packed, size)


def _large(extra: bytes, *values: int) -> Iterator[int]:
    """The numbers that need 64 bits, from the field where they are."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 1:
            field = extra[4 : 4 + size]
            for value in values:
                if value == _IN_ZIP64:
                    if len(field) < 8:
                        break
                    value, field = int.from_bytes(field[:8], "little"), field[8:]
                yield value
            else:
                return
            break
        extra = extra[4 + size :]
    raise broken("reading zip archive: invalid header or archive is corrupted")


def _decoded(name: bytes, flags: int) -> str:
    try:
        return name.decode("utf-8" if flags & _UTF8 else "cp437")
    except UnicodeDecodeError:
        raise broken("reading zip archive: the name of a member is not UTF-8") from None
