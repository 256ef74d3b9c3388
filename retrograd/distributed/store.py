"""Values that processes share by name: how they meet, and how they tell each other what happened.

A store answers requests, of which each has a name, keys and values. `Table` holds the values and
knows what a request does; the classes differ in where the table is: in this process (`HashStore`),
in a file (`FileStore`), in another process (`TCPStore`), behind a prefix (`PrefixStore`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from retrograd.distributed.names import DistNetworkError, DistStoreError, QueueEmptyError

__all__ = ["HashStore", "PrefixStore", "Store"]

DEFAULT_TIMEOUT = timedelta(seconds=300)


class Expired(Exception):
    """A wait of a table was longer than it was allowed to be."""


class Closed(Exception):
    """A table was closed while somebody waited."""


class Table:
    """The values of a store, and what requests do to them; safe under threads."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()
        self._closed = False

    def close(self) -> None:
        """Let all waits end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def answer(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        """Do what a request says, waiting at most so long for keys that it needs."""
        with self._changed:
            if request in ("get", "wait"):
                self._wait(keys, seconds, self.values)
                return [self.values[key] for key in keys] if request == "get" else []
            if request == "pop":
                self._wait(keys, seconds, self.queues)
                (key,) = keys
                found = self.queues[key].popleft()
                if not self.queues[key]:
                    del self.queues[key]
                return [found]
            found_now = self._at_once(request, keys, values)
            self._changed.notify_all()
            return found_now

    def _at_once(self, request: str, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        held = self.values
        if request == "set":
            held.update(zip(keys, values, strict=True))
            return []
        if request == "check":
            return [b"%d" % all(key in held for key in keys)]
        if request == "count":
            return [b"%d" % (len(held) + len(self.queues))]
        if request == "list":
            return [key.encode() for key in (*held, *self.queues)]
        (key,) = keys
        if request == "add":
            old = held.get(key, b"0")
            if not old.removeprefix(b"-").isdigit():
                raise ValueError(f"add: what is under {key!r} is no number")
            held[key] = b"%d" % (int(old) + int(values[0]))
            return [held[key]]
        if request == "append":
            held[key] = held.get(key, b"") + values[0]
            return []
        if request == "compare":
            expected, desired = values
            if held.get(key, b"") == expected:
                held[key] = desired
            return [held.get(key, expected)]
        if request == "delete":
            return [b"%d" % (held.pop(key, None) is not None)]
        if request == "push":
            self.queues.setdefault(key, deque()).append(values[0])
            return []
        if request == "length":
            return [b"%d" % len(self.queues.get(key, ()))]
        raise ValueError(f"a store knows no request {request!r}")

    def _wait(self, keys: Sequence[str], seconds: float, held: object) -> None:
        assert isinstance(held, dict)
        until = time.monotonic() + seconds
        while not all(key in held for key in keys):
            left = until - time.monotonic()
            if self._closed:
                raise Closed
            if left <= 0:
                raise Expired
            self._changed.wait(left)


def _bytes(value: str | bytes) -> bytes:
    if not isinstance(value, str | bytes):
        raise TypeError(f"a value of a store is a str or bytes, not a {type(value).__name__}")
    return value.encode() if isinstance(value, str) else value


class Store:
    """Values that processes share by name; `TCPStore`, `FileStore` and `HashStore` hold them."""

    timeout: timedelta = DEFAULT_TIMEOUT
    serves = False  # whether other processes get their answers from this one

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        raise NotImplementedError

    def _request(
        self, request: str, keys: Sequence[str] = (), *values: bytes, timeout: object = None
    ) -> list[bytes]:
        limit = timeout if isinstance(timeout, timedelta) else self.timeout
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(f"a key of a store is a str, not a {type(key).__name__}: {key!r}")
        try:
            return self._ask(request, keys, values, limit.total_seconds())
        except Expired:
            text = f"wait timeout after {round(limit.total_seconds() * 1000)}ms, keys: "
            told = ", ".join(self._shown(key) for key in keys)
            raise DistStoreError(text + told) from None
        except Closed:
            raise DistNetworkError("the store was closed in this process") from None

    def _shown(self, key: str) -> str:
        return f"/{key}"

    @property
    def _underlying_non_prefix_store(self) -> Store:
        return self

    def set_timeout(self, timeout: timedelta) -> None:
        """How long `get` and `wait` wait for a key, where they are not told."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give a key a value."""
        self._request("set", [key], _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, when it has one."""
        return self._request("get", [key])[0]

    def add(self, key: str, value: int) -> int:
        """Add to the number under a key, which begins as 0; the sum."""
        if not isinstance(value, int):
            raise TypeError(f"what is added is an int, not a {type(value).__name__}")
        return int(self._request("add", [key], b"%d" % value)[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value."""
        self._request("append", [key], _bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all these keys have values."""
        return self._request("check", list(keys))[0] == b"1"

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Give a key a value if it has the expected one; the value afterwards."""
        return self._request("compare", [key], _bytes(expected), _bytes(desired))[0]

    def delete_key(self, key: str) -> bool:
        """Take a key away; whether there was one."""
        return self._request("delete", [key])[0] == b"1"

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._request("count")[0])

    def list_keys(self) -> list[str]:
        """The keys that there are."""
        return [key.decode() for key in self._request("list")]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys have values."""
        self._request("wait", list(keys), timeout=timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return self._request("get", list(keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give several keys their values."""
        if len(keys) != len(values):
            raise DistStoreError("multiSet keys and values vectors must be of same size")
        self._request("set", list(keys), *map(_bytes, values))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Add to the end of a queue."""
        self._request("push", [key], _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, when there is one."""
        if block:
            return self._request("pop", [key])[0]
        try:
            return self._ask("pop", [key], [], 0.0)[0]
        except Expired:
            raise QueueEmptyError("queue is empty") from None

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return int(self._request("length", [key])[0])

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` work: yes."""
        return True

    def goodbye(self, key: str, count: int, seconds: float) -> None:
        """Say that this process needs no answer for now; who answers waits for `count` of these.

        A process that serves a store cannot while another library holds Python's lock.
        """

    def clone(self) -> Store:
        """The same store with a connection of its own, so that two threads can wait."""
        return self


class HashStore(Store):
    """A store for the threads of one process.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("counter", 2)
    (b'value', 2)
    """

    def __init__(self) -> None:
        self._table = Table()

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        return self._table.answer(request, keys, values, seconds)


class PrefixStore(Store):
    """A part of another store: its keys begin with a prefix.

    >>> store = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("group", store).set("key", "value")
    >>> store.list_keys()
    ['group/key']
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store is a {type(store).__name__}, not a Store")
        self._prefix = prefix
        self._store = store
        self.timeout = store.timeout

    @property
    def serves(self) -> bool:  # type: ignore[override]
        """Whether other processes get their answers from this one."""
        return self._store.serves

    @property
    def underlying_store(self) -> Store:
        """The other store."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        return self._store._underlying_non_prefix_store

    def _ask(
        self, request: str, keys: Sequence[str], values: Sequence[bytes], seconds: float
    ) -> list[bytes]:
        named = [f"{self._prefix}/{key}" for key in keys]
        found = self._store._ask(request, named, values, seconds)
        if request != "list":
            return found
        start = f"{self._prefix}/".encode()
        return [key.removeprefix(start) for key in found if key.startswith(start)]

    def _shown(self, key: str) -> str:
        return self._store._shown(f"{self._prefix}/{key}")

    def goodbye(self, key: str, count: int, seconds: float) -> None:
        """Say that this process needs no answer for now; who answers waits for all of these."""
        self._store.goodbye(f"{self._prefix}/{key}", count, seconds)

    def clone(self) -> PrefixStore:
        """The same part with a connection of its own."""
        made = PrefixStore(self._prefix, self._store.clone())
        made.timeout = self.timeout
        return made
