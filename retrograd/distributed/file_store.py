"""A store in a file, for processes that see the same file system.

The file is a list of what was written, in order; a process reads what is new and knows the values
of all. Writers hold a lock on it. PyTorch's files look otherwise: all processes of a group must
use the same library.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from io import FileIO

from retrograd.distributed.store import Expired, Store, Table

__all__ = ["FileStore"]

_ENTRY = struct.Struct("!QQQ")  # lengths of request, key and value


class FileStore(Store):
    """A store in a file; the last of `world_size` processes that leaves deletes it.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = torch.distributed.FileStore(os.path.join(folder, "shared"), 1)
    ...     store.set("key", "value")
    ...     store.get("key")
    b'value'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self._path = file_name
        self._world_size = world_size
        self._table = Table()
        self._read_to = 0
        self._lock = threading.Lock()
        self._left = False
        self._request("add", ["init/"], b"1")

    @property
    def path(self) -> str:
        """The name of the file."""
        return self._path

    def _shown(self, key: str) -> str:
        return f"//{key}"

    @contextlib.contextmanager
    def _opened(self) -> Iterator[FileIO]:
        try:
            import fcntl
        except ImportError:
            raise NotImplementedError(
                "torch.distributed.FileStore is not supported by retrograd on this system, which "
                "has no fcntl: use a TCPStore"
            ) from None
        with self._lock, open(self._path, "a+b", buffering=0) as file:
            fcntl.lockf(file, fcntl.LOCK_EX)  # let go of when the file is closed
            assert isinstance(file, FileIO)
            yield file

    def _catch_up(self, file: FileIO) -> None:
        size = os.fstat(file.fileno()).st_size
        if size < self._read_to:  # another group began anew
            self._table, self._read_to = Table(), 0
        if size == self._read_to:
            return
        file.seek(self._read_to)
        data, at = file.readall(), 0
        while at < len(data):
            lengths = _ENTRY.unpack_from(data, at)
            at += _ENTRY.size
            fields = []
            for length in lengths:
                fields.append(data[at : at + length])
                at += length
            request, key, value = fields
            self._table.answer(request.decode(), [key.decode()], [value], 0)
        self._read_to = size

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        until, pause = time.monotonic() + seconds, 0.0005
        while True:
            with self._opened() as file:
                self._catch_up(file)
                with contextlib.suppress(Expired):
                    found = self._table.answer(request, keys, values, 0)
                    self._note(file, request, keys, values)
                    return found
            if time.monotonic() >= until:
                raise Expired
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def _note(
        self, file: FileIO, request: str, keys: Sequence[str], values: Sequence[bytes]
    ) -> None:
        """Write to the file what changed the table."""
        if request in ("get", "wait", "check", "count", "list", "length"):
            return
        changes = [(request, key, b"") for key in keys]
        if request == "set":
            changes = [("set", key, value) for key, value in zip(keys, values, strict=True)]
        elif request in ("add", "append", "push"):
            changes = [(request, keys[0], values[0])]
        elif request == "compare":  # which may have changed nothing
            held = self._table.values.get(keys[0])
            changes = [] if held is None else [("set", keys[0], held)]
        for what, key, value in changes:
            fields = what.encode(), key.encode(), value
            file.write(_ENTRY.pack(*map(len, fields)) + b"".join(fields))
        self._read_to = os.fstat(file.fileno()).st_size

    def close(self) -> None:
        """Leave; the last of all processes deletes the file."""
        if self._left or self._world_size < 1:
            return
        self._left = True
        if self.add("left/", 1) >= self._world_size:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path)
