"""How processes meet: an address, a file or the environment tells each the store of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from retrograd.distributed.names import default_pg_timeout
from retrograd.distributed.store import HashStore, PrefixStore, Store

__all__ = ["register_rendezvous_handler", "rendezvous"]

Meeting = tuple[Store, int, int]  # the store, the number of this process and of all
Handler = Callable[..., Iterator[Meeting]]

_handlers: dict[str, Handler] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Add a way to meet, for addresses that begin with ``scheme://``."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str,
    rank: int = -1,
    world_size: int = -1,
    *,
    timeout: timedelta = default_pg_timeout,
    **options: object,
) -> Iterator[Meeting]:
    """Meet the other processes as an address says: the store, this process's number and theirs."""
    if not isinstance(url, str | bytes):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    text = url.decode() if isinstance(url, bytes) else url
    scheme = urlsplit(text).scheme
    if scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    asked = {key: found[0] for key, found in parse_qs(urlsplit(text).query).items()}
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            if name in asked:
                raise AssertionError(
                    f"The url: {text} has node-specific arguments(rank, world_size) already."
                )
            asked[name] = str(value)
    base = text.partition("?")[0]
    query = "&".join(f"{key}={value}" for key, value in asked.items())
    return _handlers[scheme](f"{base}?{query}" if query else base, timeout=timeout, **options)


def _asked(url: str) -> dict[str, int]:
    found = parse_qs(urlsplit(url).query)
    return {key: int(found[key][0]) for key in ("rank", "world_size") if key in found}


def _numbers(url: str, scheme: str) -> tuple[int, int]:
    asked = _asked(url)
    for name, told in (("rank", "rank"), ("world_size", "world size")):
        if name not in asked:
            raise ValueError(
                f"Error initializing torch.distributed using {scheme}:// rendezvous: "
                f"{told} parameter missing"
            )
    return asked["rank"], asked["world_size"]


def _by_tcp(url: str, timeout: timedelta, **options: object) -> Iterator[Meeting]:
    place = urlsplit(url)
    if place.port is None:
        raise ValueError(
            "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
        )
    rank, size = _numbers(url, "tcp")
    yield _tcp_store(place.hostname or "", place.port, rank, size, timeout), rank, size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _by_file(url: str, timeout: timedelta, **options: object) -> Iterator[Meeting]:
    path = urlsplit(url).path
    if not path:
        raise ValueError(
            "Error initializing torch.distributed using file:// rendezvous: path missing"
        )
    rank, size = _numbers(url, "file")
    yield _file_store(path, size, timeout), rank, size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _by_environment(url: str, timeout: timedelta, **options: object) -> Iterator[Meeting]:
    asked = _asked(url)

    def told(name: str) -> str:
        if name not in os.environ:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment "
                f"variable {name} expected, but not set"
            )
        return os.environ[name]

    rank = asked["rank"] if "rank" in asked else int(told("RANK"))
    size = asked["world_size"] if "world_size" in asked else int(told("WORLD_SIZE"))
    host, port = told("MASTER_ADDR"), int(told("MASTER_PORT"))
    store = _tcp_store(host, port, rank, size, timeout)
    yield store, rank, size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _tcp_store(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    """The store of all; a process that is alone needs no port."""
    launched = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if size == 1 and not launched:
        return HashStore()
    from retrograd.distributed.tcp_store import TCPStore

    if launched:  # the launcher serves it, and goes on doing so when processes are started anew
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, size, False, timeout))
    return TCPStore(host, port, size, rank == 0, timeout)


def _file_store(path: str, size: int, timeout: timedelta) -> Store:
    if size == 1:
        return HashStore()
    from retrograd.distributed.file_store import FileStore

    store = FileStore(path, size)
    store.set_timeout(timeout)
    return store


register_rendezvous_handler("tcp", _by_tcp)
register_rendezvous_handler("env", _by_environment)
register_rendezvous_handler("file", _by_file)
