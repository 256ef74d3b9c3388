"""`graph.offload`: what is saved for backward waits in files, or on the host, until needed."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from retrograd.backend import CPU, backend_of
from retrograd.backend.arrays import Array
from retrograd.engine.elsewhere import Place, move_saved
from retrograd.engine.node import Node
from retrograd.engine.state import STATE, set_on_saved
from retrograd.graph.sizes import bytes_of
from retrograd.graph.wording import counted, size
from retrograd.tensor import VersionCell


class InFile:
    """The elements of one value in a file of its own, which goes when nobody holds this."""

    def __init__(self, folder: Folder, array: Array, cell: VersionCell) -> None:
        self.folder = folder  # which goes after its last file
        self.cell = cell  # its identity is part of the key under which the value is found
        self.device = backend_of(array)
        host = array if self.device is CPU else self.device.to_numpy(array)
        self.shape, self.dtype, self.nbytes = host.shape, host.dtype, int(host.nbytes)
        self.path = folder.write(host)
        weakref.finalize(self, _remove, self.path, os.getpid())

    def read(self) -> Array:
        """The elements, mapped from the file: the system reads what is looked at."""
        try:
            with open(self.path, "rb") as file:  # the mapping has a handle of its own
                mapped = mmap.mmap(file.fileno(), self.nbytes, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise RuntimeError(
                f"a saved value that graph.offload() had written to {self.path} cannot be read "
                f"back: {error.strerror or error}"
            ) from error
        found: Array = CPU.xp.frombuffer(mapped, "u1").view(self.dtype).reshape(self.shape)
        self.folder.count_read(self.nbytes)
        return found if self.device is CPU else self.device.from_numpy(found)


class OnHost:
    """The elements of one value of another device, in the host's memory."""

    def __init__(self, array: Array, count_read: Callable[[int], None]) -> None:
        self.device = backend_of(array)
        self.elements = self.device.to_numpy(array)
        self.count_read = count_read

    def read(self) -> Array:
        """The elements, on the device again."""
        self.count_read(int(self.elements.nbytes))
        return self.device.from_numpy(self.elements)


def _remove(path: str, process: int) -> None:
    if os.getpid() != process:
        return  # a fork: the files are its parent's
    try:
        os.remove(path)
    except OSError:
        pass  # gone already, with its folder or by somebody else


def _remove_folder(path: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


class Folder:
    """A temporary folder for values; it goes with the last of them, or at exit."""

    def __init__(self, parent: str | None, count_read: Callable[[int], None]) -> None:
        self.count_read = count_read
        self.path = tempfile.mkdtemp(prefix="retrograd-offload-", dir=parent)
        self._lock = threading.Lock()
        self._files = 0
        weakref.finalize(self, _remove_folder, self.path, os.getpid())

    def write(self, array: Array) -> str:
        """Write an array beside, then give the file its name: no half of a value is ever read."""
        with self._lock:
            self._files += 1
            path = os.path.join(self.path, f"{self._files}.value")
        part = f"{path}.part"
        try:
            with open(part, "xb", buffering=0) as file:
                flat = (array if array.flags.c_contiguous else array.copy(order="C")).reshape(-1)
                rest = flat.view("u1").data
                while len(rest):
                    rest = rest[file.write(rest) :]
            os.replace(part, path)
        except BaseException as error:
            _remove(part, os.getpid())
            if isinstance(error, OSError):
                raise self._failure(error, int(array.nbytes)) from error
            raise
        return path

    def _failure(self, error: OSError, wanted: int) -> OSError:
        what = "no space is left" if error.errno == errno.ENOSPC else str(error.strerror or error)
        return OSError(
            error.errno or errno.EIO,
            f"graph.offload(): a saved value of {size(wanted)} could not be written to "
            f"{self.path}: {what}. Give it a folder on a larger disk (folder=...), move only "
            "larger values (over=...), or free space",
        )


class offload:
    """A context in which large values that are saved for backward are moved away at once.

    to      "disk": to memory-mapped files in a temporary folder. "host": from a device of its own
            (a GPU) to the host's memory; tensors of the CPU are there already and stay as they are
    over    values of more bytes than that are moved: a number, or a text such as "4MB"
    folder  where the temporary folder is made; the system's place for temporary files by default

    Gradients, errors, versions, histories and hooks are those of the same program without it. A
    value is read back when backward comes to its node, and its file goes when it is freed.

    >>> from retrograd import graph
    >>> x = torch.ones(1000, 1000, requires_grad=True)
    >>> with graph.offload(to="disk", over="1MB") as moved:
    ...     loss = x.exp().sigmoid().sum()
    >>> loss.backward()
    >>> print(moved)
    2 values, 7.6 MiB, to files; 2 read back, 7.6 MiB
    """

    def __init__(
        self, to: str = "disk", over: int | str = "1MB", *, folder: str | None = None
    ) -> None:
        if to not in ("disk", "host"):
            raise ValueError(f'graph.offload(): to must be "disk" or "host", not {to!r}')
        if folder is not None and to != "disk":
            raise ValueError('graph.offload(): folder is for to="disk"')
        self.to = to
        self.over = bytes_of(over, "graph.offload(): over")
        self.moved = self.moved_bytes = self.read = self.read_bytes = 0
        self._parent = None if folder is None else os.fspath(folder)
        self._folder: Folder | None = None
        self._known: weakref.WeakValueDictionary[tuple[Any, ...], InFile]
        self._known = weakref.WeakValueDictionary()
        self._outer: list[Callable[[Node], None] | None] = []

    def __enter__(self) -> offload:
        self._outer.append(STATE.on_saved)
        set_on_saved(self.take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        set_on_saved(self._outer.pop())
        if not self._outer:
            self.forget()

    def forget(self) -> None:
        """Let go of the folder, which goes with its last file."""
        self._folder = None
        self._known.clear()

    def take(self, node: Node) -> None:
        """Move what a new node has saved, as far as it is large."""
        move_saved(node, self.over, self.put)

    def put(self, array: Array, cell: VersionCell) -> Place | None:
        """Move one array; None if it is where it should be. What is there already is shared."""
        device = backend_of(array)
        if self.to == "host":
            if device is CPU:
                return None
            self._count(array)
            return OnHost(array, self.count_read)
        where = (device.address(array), array.shape, array.strides, array.dtype)
        key = (id(cell), cell.version, *where)
        found = self._known.get(key)
        if found is None:
            if self._folder is None:
                self._folder = Folder(self._parent, self.count_read)
            found = self._known[key] = InFile(self._folder, array, cell)
            self._count(array)
        return found

    def _count(self, array: Array) -> None:
        self.moved += 1
        self.moved_bytes += int(array.nbytes)

    def count_read(self, nbytes: int) -> None:
        """A value was read back."""
        self.read += 1
        self.read_bytes += nbytes

    def __repr__(self) -> str:
        where = "to files" if self.to == "disk" else "to the host"
        text = f"{counted(self.moved, 'value')}, {size(self.moved_bytes)}, {where}"
        return f"{text}; {self.read} read back, {size(self.read_bytes)}"
