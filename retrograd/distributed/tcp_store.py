"""A store in one process that the others reach by TCP.

Python's `multiprocessing.connection` carries the messages. They are fields of bytes, never
pickles: what comes from the network is only ever a key or a value. As with PyTorch's, whoever
reaches the port can read and write them; the port belongs in a network that is trusted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.connection import Connection

from retrograd.distributed.names import DistNetworkError, DistStoreError
from retrograd.distributed.store import DEFAULT_TIMEOUT, Closed, Expired, Store, Table

__all__ = ["TCPStore"]

_HELLO = b"retrograd store 1"
_GRACE = 2.0  # seconds that an answer may be late
_LONGEST = 1 << 30  # bytes of a message


def _packed(fields: Sequence[bytes]) -> bytes:
    parts = [struct.pack("!I", len(fields))]
    parts += [struct.pack("!Q", len(field)) for field in fields]
    return b"".join((*parts, *fields))


def _unpacked(message: bytes) -> list[bytes]:
    (count,) = struct.unpack_from("!I", message)
    lengths = struct.unpack_from(f"!{count}Q", message, 4)
    at, fields = 4 + 8 * count, []
    for length in lengths:
        fields.append(message[at : at + length])
        at += length
    if at != len(message):
        raise ValueError("a message with a wrong length")
    return fields


class _Server:
    """Answers the requests of all clients, each in a thread of its own."""

    def __init__(self, host: str, port: int, listening: int | None) -> None:
        self.table = Table()
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._users = 1
        self._process = os.getpid()
        self._told: Counter[str] = Counter()
        self._told_more = threading.Condition()
        if listening is not None:
            self._socket = socket.socket(fileno=listening)
        else:
            self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="retrograd store", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                found, _ = self._socket.accept()
            except OSError:
                return
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(found.detach())
            with self._lock:
                if self._closing:
                    connection.close()
                    return
                self._connections.add(connection)
            threading.Thread(
                target=self._serve, args=(connection,), name="retrograd store client", daemon=True
            ).start()

    def _serve(self, connection: Connection) -> None:
        # A client that went away, or what is no client, ends its own thread and nothing else.
        with contextlib.suppress(OSError, EOFError, ValueError, struct.error, Closed):
            if connection.recv_bytes(len(_HELLO)) == _HELLO:
                connection.send_bytes(_HELLO)
                while True:
                    request = _unpacked(connection.recv_bytes(_LONGEST))
                    connection.send_bytes(self._reply(request))
                    if request[0] == b"goodbye":
                        self._count(request[3].decode())
        with self._lock:
            self._connections.discard(connection)
        connection.close()

    def _count(self, key: str) -> None:
        with self._told_more:
            self._told[key] += 1
            self._told_more.notify_all()

    def wait_until_told(self, key: str, count: int, seconds: float) -> None:
        """Wait until so many clients have got their answer to a goodbye."""
        with self._told_more:
            if not self._told_more.wait_for(lambda: self._told[key] >= count, seconds):
                raise Expired

    def _reply(self, message: Sequence[bytes]) -> bytes:
        request, seconds, count, *fields = message
        if request == b"goodbye":
            return _packed([b"done"])
        keys = [key.decode() for key in fields[: int(count)]]
        try:
            found = self.table.answer(request.decode(), keys, fields[int(count) :], float(seconds))
        except Expired:
            return _packed([b"expired"])
        except (ValueError, IndexError) as error:
            return _packed([b"error", str(error).encode()])
        return _packed([b"done", *found])

    def enter(self) -> None:
        """One more store of this process uses it."""
        with self._lock:
            self._users += 1

    def leave(self) -> bool:
        """A store of this process is gone; with the last one the port is, too."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.close()
        return last

    def close(self) -> None:
        """End: no port and no connection stays open."""
        if os.getpid() != self._process:
            return  # a fork of the process that serves
        with self._lock:
            if self._closing:
                return
            self._closing = True
            connections = list(self._connections)
        self.table.close()
        # `accept` of another thread does not notice that its socket was closed
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                _end(connection)


def _end(connection: Connection) -> None:
    """Let a thread that reads from a connection see its end; that thread closes it."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on all addresses, as PyTorch's, or on this machine's loop alone."""
    local = host in ("127.0.0.1", "localhost", "::1")
    address = "127.0.0.1" if local else ""
    try:
        return socket.create_server((address, port), backlog=2048)
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, "
            f"code: {-error.errno if error.errno else 0}, message: {error.strerror}"
        ) from None


class TCPStore(Store):
    """A store in the process that is the master, for all that know its address.

    >>> store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.timeout = timeout
        self._host = host_name
        self._server = self._serve(port, multi_tenant, master_listen_fd) if is_master else None
        self._port = port if self._server is None else self._server.port
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._process = os.getpid()
        with self._lock:
            self._connected()
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._meet(world_size, is_master)

    _shared: dict[int, _Server] = {}  # noqa: RUF012 - servers that several stores may use, by port

    def _serve(self, port: int, shared: bool, listening: int | None) -> _Server:
        if shared and port in self._shared:
            self._shared[port].enter()
            return self._shared[port]
        server = _Server(self._host, port, listening)
        if shared:
            self._shared[server.port] = server
        return server

    def _meet(self, count: int, is_master: bool) -> None:
        here = self.add("init/", 1)
        until = time.monotonic() + self.timeout.total_seconds()
        while is_master and here < count:
            if time.monotonic() > until:
                raise DistStoreError(
                    f"Timed out after {round(self.timeout.total_seconds()) + 1} seconds waiting "
                    f"for clients. {here}/{count} clients joined."
                )
            time.sleep(0.002)
            here = self.add("init/", 0)

    @property
    def serves(self) -> bool:  # type: ignore[override]
        """Whether this process is the master."""
        return self._server is not None

    @property
    def host(self) -> str:
        """The name of the master's machine."""
        return self._host

    @property
    def port(self) -> int:
        """The port at which the master listens."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """Whether the master is written with libuv: PyTorch's newer one is, and says so."""
        return True

    @property
    def local_address(self) -> str:
        """The address that this machine has for the master."""
        with self._lock:
            descriptor = os.dup(self._connected().fileno())
        with socket.socket(fileno=descriptor) as same:
            found: str = same.getsockname()[0]
        return found

    def _connected(self) -> Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        self._process = os.getpid()  # a fork has the parent's connection, and needs its own
        limit = self.timeout.total_seconds()
        until, pause = time.monotonic() + limit, 0.005
        while True:
            try:
                self._connection = self._reach(max(0.05, min(until - time.monotonic(), 10.0)))
                return self._connection
            except (OSError, EOFError) as error:
                left = until - time.monotonic()
                if left <= 0:
                    raise DistNetworkError(
                        f"The client socket has timed out after {round(limit * 1000)}ms while "
                        f"trying to connect to ({self._host}, {self._port})."
                    ) from error
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 0.25)

    def _reach(self, seconds: float) -> Connection:
        found = socket.create_connection((self._host, self._port), timeout=seconds)
        found.settimeout(None)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(found.detach())
        connection.send_bytes(_HELLO)
        if not connection.poll(seconds) or connection.recv_bytes(len(_HELLO)) != _HELLO:
            connection.close()
            raise EOFError("what listens there is no store")
        return connection

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        if self._server is not None:
            return self._server.table.answer(request, keys, values, seconds)
        head = (request.encode(), repr(seconds).encode(), b"%d" % len(keys))
        message = _packed([*head, *(key.encode() for key in keys), *values])
        with self._lock:
            connection = self._connected()
            try:
                connection.send_bytes(message)
                if not connection.poll(seconds + _GRACE):
                    raise TimeoutError
                status, *found = _unpacked(connection.recv_bytes(_LONGEST))
            except BaseException as error:
                # Also when it was interrupted: a late answer must not be taken for the next one's.
                self._connection = None
                connection.close()
                if isinstance(error, OSError | EOFError):
                    late = isinstance(error, TimeoutError)
                    why = "does not answer" if late else "is gone: the process that holds it ended"
                    raise DistNetworkError(
                        f"the store at {self._host}:{self._port} {why}"
                    ) from error
                raise
        if status == b"expired":
            raise Expired
        if status == b"error":
            raise DistStoreError(found[0].decode())
        return found

    def goodbye(self, key: str, count: int, seconds: float) -> None:
        if self._server is None:
            self._ask("goodbye", [key], [], seconds)
        else:
            self._server.wait_until_told(key, count, seconds)

    def clone(self) -> TCPStore:
        """The same store with a connection of its own."""
        made = TCPStore.__new__(TCPStore)
        made.timeout, made._host, made._port = self.timeout, self._host, self._port
        made._server = self._server
        if made._server is not None:
            made._server.enter()
        made._lock, made._connection, made._process = threading.Lock(), None, os.getpid()
        return made

    def close(self) -> None:
        """End the connection, and in the master the port."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        server, self._server = self._server, None
        if server is not None:
            self._shared.pop(server.port, None)
            server.close()

    def __del__(self) -> None:
        # `__init__` may have raised before there was anything to close
        connection, server = self.__dict__.get("_connection"), self.__dict__.get("_server")
        if connection is not None and self._process == os.getpid():
            connection.close()
        if server is not None and server.leave():
            self._shared.pop(server.port, None)
