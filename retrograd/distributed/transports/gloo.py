"""Gloo, the library that PyTorch's backend "gloo" is built on, from PyPI's package `xoscar`.

Only the compiled module of that package is loaded: the package itself is an actor framework that
imports pandas and more. Of Gloo, `send` and `recv` are used. Its collectives hold Python's lock
while they wait for other processes, as `xoscar` calls them: nothing else of the process runs then,
neither the rest of a backward nor the handler of Ctrl-C. They are also slower than an exchange by
`send` and `recv` with NumPy's addition: `python -m benchmarks.exchanges` measures both.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from _thread import get_ident
from datetime import timedelta
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from retrograd.distributed.store import Store
from retrograd.distributed.transports.interface import Flat, Transport

__all__ = ["Gloo", "is_installed"]

_MODULE = "xoscar.collective.xoscar_pygloo"
_CONNECTING = timedelta(seconds=30)
VERSION = "0.12.2"
MISSING = (
    "Distributed package doesn't have GLOO built in: several processes need the library Gloo, "
    f'which comes with xoscar {VERSION}. Install it by: pip install "retrograd[distributed]"'
)


def _folder() -> str | None:
    package = importlib.util.find_spec("xoscar")
    for place in (package.submodule_search_locations or ()) if package else ():
        return str(Path(place) / "collective")
    return None


def is_installed() -> bool:
    """Whether the library is there."""
    folder = _folder()
    return folder is not None and PathFinder.find_spec("xoscar_pygloo", [folder]) is not None


def library() -> Any:
    """The compiled module, without the package around it."""
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    folder = _folder()
    spec = None if folder is None else PathFinder.find_spec("xoscar_pygloo", [folder])
    if spec is None or spec.loader is None or spec.origin is None:
        raise RuntimeError(MISSING)
    # Under its full name, so that a program that imports xoscar as well finds this one.
    named = importlib.util.spec_from_file_location(_MODULE, spec.origin)
    assert named is not None and named.loader is not None
    module = importlib.util.module_from_spec(named)
    named.loader.exec_module(module)
    return sys.modules.setdefault(_MODULE, module)


class _Addresses:
    """The store as Gloo sees it while it connects: all addresses are fetched before it begins.

    Gloo holds Python's lock while it waits for a connection. A process that serves the store could
    then not answer those that still ask for addresses, so it begins when they have said goodbye.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._found: dict[str, bytes] = {}

    def set_tcp(self, key: str, value: bytes) -> None:
        self._store.multi_set([f"key/{self._rank}", f"address/{self._rank}"], [key, value])
        ranks = range(self._size)
        keys = self._store.multi_get([f"key/{rank}" for rank in ranks])
        values = self._store.multi_get([f"address/{rank}" for rank in ranks])
        self._found = dict(zip((key.decode() for key in keys), values, strict=True))
        self._store.goodbye("fetched", self._size - 1, self._store.timeout.total_seconds())

    def get_tcp(self, key: str) -> bytes:
        return self._found[key]

    def wait(self, keys: list[str]) -> None:
        missing = [key for key in keys if key not in self._found]
        if missing:
            raise KeyError(f"Gloo asks for {missing}, which no process has told")


class Gloo(Transport):
    """Connections of each process with each other, by TCP."""

    def __init__(
        self, store: Store, rank: int, size: int, timeout: timedelta, address: str
    ) -> None:
        super().__init__(rank, size)
        self.of_any = size == 2  # there is one other
        gloo = library()
        self._gloo = gloo
        self._kind = gloo.GlooDataType_t.glooUint8
        self._lock = threading.Lock()
        device = gloo.transport.tcp.CreateDevice(gloo.transport.tcp.attr(address))
        self._context = gloo.rendezvous.Context(rank, size)
        # Nothing interrupts this wait, so it is short: all processes are there when it begins.
        self._context.setTimeout(min(timeout, _CONNECTING))
        addresses = gloo.rendezvous.CustomStore(_Addresses(store, rank, size))
        self._context.connectFullMesh(addresses, device)
        self._since: dict[int, float] = {}  # of the wait that a thread is in, or that failed
        self.set_timeout(timeout)
        self._closed = False

    def send(self, array: Flat, to: int, tag: int) -> None:
        self._since[get_ident()] = time.monotonic()
        self._gloo.send(self._context, array.ctypes.data, array.nbytes, self._kind, to, tag)
        self._since.pop(get_ident(), None)

    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        if source is None:
            source = 1 - self.rank
        self._since[get_ident()] = time.monotonic()
        self._gloo.recv(self._context, array.ctypes.data, array.nbytes, self._kind, source, tag)
        self._since.pop(get_ident(), None)
        return source

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()
        self._context.setTimeout(timeout)

    def waits_end(self) -> float:
        return max(tuple(self._since.values()), default=0.0) + self._seconds

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._context.closeConnections()
