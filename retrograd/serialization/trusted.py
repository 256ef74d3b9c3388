"""Pickles of files that are trusted: everything they name is imported and called."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

from retrograd.serialization.names import counterpart, known_names, present_module, storage_type
from retrograd.serialization.restricted import RestrictedUnpickler, Source

Read = Callable[..., Any]


def trusting(pickle_module: Any, arguments: dict[str, object]) -> Read:
    """A function that reads one pickle with the unpickler of a module."""
    base: Any = pickle_module.Unpickler
    known = {**known_names(), "_codecs.encode": codecs.encode}

    class Unpickler(base):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> object:
            """One of our classes for one of PyTorch's; the others as usual."""
            module = present_module(module)
            found = known.get(f"{module}.{name}")
            if found is None and module.partition(".")[0] == "torch":
                found = storage_type(name)
                return counterpart(module, name) if found is None else found
            return super().find_class(module, name) if found is None else found

    def read(source: Source, persistent_load: Callable[[Any], object] | None = None) -> Any:
        unpickler = Unpickler(source.file, **arguments)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        found = unpickler.load()
        source.resume()
        return found

    return read


def restricting(arguments: dict[str, object]) -> Read:
    """A function that reads one pickle and runs nothing that it brings along."""
    encoding = str(arguments.get("encoding", "utf-8"))

    def read(source: Source, persistent_load: Callable[[Any], object] | None = None) -> Any:
        return RestrictedUnpickler(source, encoding, persistent_load).load()

    return read
