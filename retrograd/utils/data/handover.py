"""How a worker hands a batch to the main process: small values through a socket, large arrays in
memory that both share.

The memory of an array has no name (`memfd_create`): its descriptor travels through the socket, and
it is gone with the last array on it, however the processes end. Where the system has no such
memory, everything goes through a pipe.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any
from weakref import WeakSet

from retrograd.tensor import Tensor

Memory = mmap.mmap | bytearray

SHARES = hasattr(os, "memfd_create")
# Below this many bytes, copying through the socket costs less than mapping memory.
_LEAST = 1 << 16
# Descriptors that travel with one message; the system takes about four times as many.
_MOST = 64
# Mapped memory keeps a descriptor open, of which a process has about a thousand.
_MOST_MAPPED = 128
_MAPPED: WeakSet[mmap.mmap] = WeakSet()


@dataclass(frozen=True)
class Message:
    """A pickle, and the descriptors of the arrays that it leaves out."""

    text: bytes
    memory: tuple[int, ...] = ()


class _Pickler(ForkingPickler):
    """Pickles a batch; a tensor travels as its elements and leaves its graph behind."""

    def __init__(self, file: io.BytesIO, keep: Callable[[pickle.PickleBuffer], Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        table = self.dispatch_table
        # ForkingPickler hands no keywords on
        pickle.Pickler.__init__(self, file, pickle.HIGHEST_PROTOCOL, buffer_callback=keep)
        self.dispatch_table = table

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, Tensor) and value.grad_fn is not None:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries.  If you just want to "
                "transfer the data, call detach() on the tensor before serializing (e.g., putting "
                "it on the queue)."
            )
        return NotImplemented


def packed(value: object) -> Message:
    """A value as it travels."""
    memory: list[int] = []

    def stays(buffer: pickle.PickleBuffer) -> bool:
        """Whether an array stays in the pickle."""
        elements = buffer.raw()
        if not SHARES or elements.nbytes < _LEAST or len(memory) == _MOST:
            return True
        found = _copied(elements)
        if found is not None:
            memory.append(found)
        return found is None

    text = io.BytesIO()
    try:
        _Pickler(text, stays).dump(value)
    except BaseException:
        close(memory)
        raise
    return Message(text.getvalue(), tuple(memory))


def _copied(elements: memoryview) -> int | None:
    """The descriptor of new memory with these bytes; None where there is none left."""
    descriptor = os.memfd_create("retrograd batch")
    try:
        os.ftruncate(descriptor, elements.nbytes)
        # `write` reports that memory is short; writing to mapped memory would end the process
        left = elements
        while left.nbytes:
            left = left[os.write(descriptor, left) :]
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def close(memory: list[int] | tuple[int, ...]) -> None:
    """Give up descriptors; what is mapped stays."""
    for descriptor in memory:
        os.close(descriptor)


def send(connection: Connection, message: Message) -> None:
    """Send a message, whose descriptors are then the receiver's alone."""
    try:
        connection.send_bytes(bytes([len(message.memory)]) + message.text)
        if message.memory:
            with _socket_of(connection) as joined:
                socket.send_fds(joined, [b"m"], list(message.memory))
    finally:
        close(message.memory)


def receive(connection: Connection) -> tuple[memoryview, list[Memory]]:
    """The next message, for `unpacked`; OSError or EOFError where the sender is gone."""
    text = memoryview(connection.recv_bytes())
    count = text[0]
    if not count:
        return text[1:], []
    with _socket_of(connection) as joined:
        word, memory, _, _ = socket.recv_fds(joined, 1, count)
    try:
        if not word or len(memory) != count:
            raise EOFError("the sender ended within a message")
        return text[1:], [_mapped(descriptor) for descriptor in memory]
    finally:
        close(memory)


def unpacked(text: memoryview, memory: list[Memory]) -> Any:
    """The value of a message; its large arrays lie in the memory that came with it."""
    return pickle.loads(text, buffers=memory)


def _socket_of(connection: Connection) -> socket.socket:
    return socket.socket(fileno=os.dup(connection.fileno()))


def _mapped(descriptor: int) -> Memory:
    """The bytes behind a descriptor: mapped or, where a program keeps many batches, a copy."""
    size = os.fstat(descriptor).st_size
    if len(_MAPPED) < _MOST_MAPPED:
        try:
            mapped = mmap.mmap(descriptor, size)
        except OSError:  # the system has limits of its own
            pass
        else:
            _MAPPED.add(mapped)
            return mapped
    copy = bytearray(size)
    os.preadv(descriptor, [copy], 0)
    return copy
