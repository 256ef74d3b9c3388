"""The live tensors and modules of the program, found through the garbage collector's lists.

The first look passes over everything that Python tracks, most of it from imports. Then those lists
are frozen: a later look sees only what is new, and the tensors and modules that were there before
are remembered by weak references.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any


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
        # isinstance would ask lazy proxies for their class, and wake them
        return [thing for thing in gc.get_objects() if issubclass(type(thing), self._kinds)]

    def release(self) -> None:
        """Give the frozen objects back to the collector."""
        if self._known is not None:
            self._known = None
            gc.unfreeze()
