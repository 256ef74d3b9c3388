"""The search backward: who refers to a value, level by level, until a variable is found.

For what no search from the variables reaches: collections of installed packages, objects without
`__dict__`, very deep structures. Each level looks at everything that the garbage collector tracks.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType

from retrograd.diagnostics.report import Place
from retrograd.watching.contents import function_name, locals_of, of_hook, place_of
from retrograd.watching.holders import Part
from retrograd.watching.places import OWN_FOLDERS

LEVELS = 14
MOST_IN_A_LEVEL = 4_000
MOST_SKIPPED = 4  # objects between a holder and what it is said to hold: dict, tuple, cell


class Effort:
    """Work that searches may still take: each level compares all that lives with all of it.

    A look at an object costs as much as sixteen comparisons; all of it is about two seconds.
    """

    def __init__(self, work: int = 1_000_000_000) -> None:
        self.spent = False
        self._left = work
        self._live = len(gc.get_objects())

    def share(self, level: list[object]) -> list[object]:
        """As much of a level as can be looked at; nothing if the work is done."""
        most = max(self._left // max(self._live, 1) - 16, 0)
        self.spent = self.spent or len(level) > most
        chosen = level[:most]
        self._left -= self._live * (16 + len(chosen))
        return chosen


@dataclass(frozen=True)
class Chain:
    """The objects from a root to the value; the root is a module, a frame, or nobody knows."""

    root: types.ModuleType | FrameType | None
    objects: list[object]


def chain_to(target: object, effort: Effort) -> Chain | None:
    """The shortest chain of references from a module or a frame that runs."""
    modules = {
        id(vars(m)): m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)
    }
    parents: dict[int, object] = {id(target): None}
    level, kept = [target], [target]
    own = {id(parents), id(kept), id(modules)}
    for _ in range(LEVELS):
        level = effort.share(level)
        if not level:
            break
        following: list[object] = []
        here = {id(thing): thing for thing in level}
        found = gc.get_referrers(*level)
        own |= {id(level), id(following), id(here), id(found)}
        for holder in found:
            if id(holder) in own or id(holder) in parents or _is_own(holder):
                continue
            inner = next((here[id(o)] for o in gc.get_referents(holder) if id(o) in here), None)
            if inner is None:
                continue
            parents[id(holder)] = inner
            kept.append(holder)
            if id(holder) in modules:
                return Chain(modules[id(holder)], _down(parents, inner))
            if isinstance(holder, FrameType):
                return Chain(holder, _down(parents, inner))
            following.append(holder)
        level = following[:MOST_IN_A_LEVEL]
    functions = [thing for thing in kept if isinstance(thing, types.FunctionType)]
    return Chain(None, _down(parents, functions[-1])) if functions else None


def _is_own(holder: object) -> bool:
    """Frames of the search itself, and the list that a call of it gave."""
    return isinstance(holder, FrameType) and holder.f_code.co_filename.startswith(OWN_FOLDERS)


def _down(parents: dict[int, object], first: object) -> list[object]:
    found, current = [], first
    while current is not None:
        found.append(current)
        current = parents[id(current)]
    return found


def parts_of(chain: Chain, contents: Callable[[object], Iterable[Part]]) -> list[Part]:
    """The steps of a chain, named as a search forward would name them."""
    objects, parts = chain.objects, [_first(chain)]
    position = 0
    while position < len(objects) - 1:
        inside = {id(part.value): part for part in contents(objects[position])}
        ahead = range(min(position + MOST_SKIPPED, len(objects) - 1), position, -1)
        reached = next((i for i in ahead if id(objects[i]) in inside), None)
        if reached is None:
            reached = position + 1
            name = type(objects[position]).__name__
            parts.append(Part(f" (in its {name})", objects[reached]))
        else:
            parts.append(inside[id(objects[reached])])
        position = reached
    return parts


def _first(chain: Chain) -> Part:
    first = chain.objects[0]
    if chain.root is None:
        function = next(of_hook(first, "a node, which PyTorch does not show"))
        return Part(function.text, first, kind="hook", place=place_of(first))
    if isinstance(chain.root, types.ModuleType):
        names = [name for name, value in vars(chain.root).items() if value is first]
        return Part(names[0] if names else "?", first)
    names = [name for name, value in locals_of(chain.root).items() if value is first]
    if names:
        return Part(names[0], first)
    code = chain.root.f_code
    place = Place(code.co_filename, chain.root.f_lineno, function_name(code))
    return Part(f"a value in use in {function_name(code)}", first, kind="frame", place=place)
