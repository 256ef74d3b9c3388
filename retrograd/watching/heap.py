"""The live tensors and modules of the program, found through the garbage collector's lists.

The first look passes over everything that Python tracks, most of it from imports. Then those lists
are frozen: a later look sees only what is new, and the tensors and modules that were there before
are remembered by weak references.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any


def tracked(wanted: Callable[[type], bool]) -> list[Any]:
    """The objects that Python tracks whose class is wanted; each class is asked once.

    There may be millions of objects: nothing here is done for each of them in Python. Classes are
    told apart by their ids, since a metaclass may make them unhashable; an object is not asked for
    its class, which would wake lazy proxies.
    """
    objects = gc.get_objects()
    kinds = dict(zip(map(id, map(type, objects)), map(type, objects), strict=True))
    chosen = {key for key, kind in kinds.items() if wanted(kind)}
    return list(compress(objects, map(chosen.__contains__, map(id, map(type, objects)))))


def with_history(tensors: Iterable[Any]) -> list[Any]:
    """Those of either library's tensors that have a node.

    A view that may not follow a write to its base has none: asking for it raises.
    """
    return [tensor for tensor in tensors if has_node(tensor)]


def is_leaf(tensor: Any) -> bool:
    """Whether it is one; not a view that may not follow a write to its base, which does not say."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return False


def has_node(tensor: Any) -> bool:
    """Whether it was computed; see `with_history`."""
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        return False


class Heap:
    """Finds objects of the kinds it was made for."""

    def __init__(self, *kinds: type) -> None:
        self._kinds = kinds
        self._known: list[weakref.ref[object]] | None = None

    def begin(self) -> None:
        """The first look: it may take a second where much has been imported."""
        if self._known is None:
            self._known = [weakref.ref(thing) for thing in self._tracked()]
            gc.freeze()

    def objects(self) -> list[Any]:
        """All live objects of these kinds; what only waits to be collected is collected first."""
        self.begin()
        assert self._known is not None
        gc.collect()
        older = [thing for reference in self._known if (thing := reference()) is not None]
        new = self._tracked()
        known = {id(thing) for thing in new}  # somebody may have thawed the lists
        return [thing for thing in older if id(thing) not in known] + new

    def _tracked(self) -> list[Any]:
        return tracked(lambda kind: issubclass(kind, self._kinds))

    def release(self) -> None:
        """Give the frozen objects back to the collector."""
        if self._known is not None:
            self._known = None
            gc.unfreeze()
