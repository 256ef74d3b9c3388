"""Who holds a tensor: the path by which the program's variables reach it."""

from __future__ import annotations

import os
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar, cast

from retrograd.diagnostics.report import Place

MOST_OBJECTS = 20_000
MOST_ITEMS = 2_000
DEEPEST = 5

_PLAIN = (str, bytes, int, float, complex, bool, types.CodeType)


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a value holds, and how the way there is written."""

    text: str  # ".hidden", "[2]"; for the special kinds a phrase, see `contents`
    value: object
    bounded: bool = False  # in a collection of bounded length
    kind: str = ""  # "hook", "closure", ...; empty for attributes and items
    place: Place | None = None
    node: object = None  # the node that saved it
    variable: str = ""  # of a hook that holds it
    key: object = None  # a tensor that it is the item for


class Trail:
    """How a search has come to a value: the part, and the trail to what holds that."""

    __slots__ = ("before", "depth", "part", "root")

    def __init__(self, part: Part, before: Trail | None, depth: int, root: object) -> None:
        self.part = part
        self.before = before
        self.depth = depth
        self.root = root  # the frame or module that the search began with

    def parts(self) -> list[Part]:
        """From the variable to the value."""
        found, trail = [self.part], self.before
        while trail is not None:
            found.append(trail.part)
            trail = trail.before
        return found[::-1]


Root = TypeVar("Root")


def search(
    starts: Iterable[tuple[Part, Root]],
    parts: Callable[[object], Iterable[Part]],
    most: int,
    deepest: int,
) -> Iterator[Trail]:
    """Everything that can be reached, nearest first; a value each time that something holds it.

    What a value holds is looked at once.
    """
    waiting = deque(Trail(part, None, 0, root) for part, root in starts)
    seen: set[int] = set()
    looked = 0
    while waiting and looked < most:
        trail = waiting.popleft()
        looked += 1
        yield trail
        value = trail.part.value
        if value is None or isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        if trail.depth < deepest:
            depth, root = trail.depth + 1, trail.root
            waiting.extend(Trail(part, trail, depth, root) for part in parts(value))


@dataclass(frozen=True)
class Held:
    """How a tensor is reached: "self.memory[2]"; `window` in a collection of bounded length."""

    path: str
    frame: FrameType
    window: bool = False
    container: object = None  # the list, tuple, dict or deque that it is an item of


def holder_of(target: object, frames: Iterable[FrameType], tensor: type) -> Held | None:
    """The shortest path to `target` from the variables of frames, the first frame first."""
    return paths_to([target], frames, tensor).get(id(target))


def paths_to(
    targets: Iterable[object], frames: Iterable[FrameType], tensor: type
) -> dict[int, Held]:
    """The shortest path to each of the targets that can be reached, by its id."""
    wanted = {id(target) for target in targets}
    found: dict[int, Held] = {}
    starts = (
        (Part(name, value), frame)
        for frame in frames
        for name, value in list(frame.f_locals.items())
        if not name.startswith("__")
    )

    def parts(value: object) -> Iterable[Part]:
        return () if isinstance(value, tensor) else plain_parts(value)

    if not wanted:
        return found
    for trail in search(starts, parts, MOST_OBJECTS, DEEPEST):
        key = id(trail.part.value)
        if key in wanted and key not in found:
            outer = None if trail.before is None else trail.before.part.value
            is_item = isinstance(outer, (list, tuple, dict, set, frozenset, deque))
            steps = trail.parts()
            found[key] = Held(
                "".join(part.text for part in steps),
                cast(FrameType, trail.root),
                any(part.bounded for part in steps),
                outer if is_item else None,
            )
            if len(found) == len(wanted):
                break
    return found


def is_own(module: object) -> bool:
    """Whether a module is the user's own, by its name and its file."""
    if not isinstance(module, str):  # a class may say anything of itself
        return False
    if module == "__main__":
        return True
    if module.partition(".")[0] in (*sys.stdlib_module_names, "torch", "retrograd"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return f"{os.sep}site-packages{os.sep}" not in file


def _written(key: object) -> str:
    """How a key is written; those of an optimizer's state are parameters, which are long."""
    return repr(key) if isinstance(key, (*_PLAIN, tuple)) else f"<{type(key).__name__}>"


def plain_parts(value: object) -> list[Part]:
    """What a value holds."""
    if isinstance(value, dict):
        items = list(value.items())[:MOST_ITEMS]
        return [Part(f"[{_written(key)}]", item) for key, item in items]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        bounded = isinstance(value, deque) and value.maxlen is not None
        return [Part(f"[{i}]", item, bounded) for i, item in enumerate(list(value)[:MOST_ITEMS])]
    if isinstance(value, types.MethodType):
        return [Part(".__self__", value.__self__), Part("", value.__func__)]
    if isinstance(value, types.GeneratorType):
        if value.gi_frame is None:  # it has ended
            return []
        return [Part(f" (its {name})", inner) for name, inner in value.gi_frame.f_locals.items()]
    if isinstance(value, types.FunctionType):
        if not is_own(value.__module__):
            return []
        found = [Part(f".{name}", inner) for name, inner in value.__dict__.items()]
        names = value.__code__.co_varnames[: value.__code__.co_argcount]
        for name, default in zip(names[::-1], (value.__defaults__ or ())[::-1], strict=False):
            found.append(Part(f" (its {name})", default))
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                found.append(Part(f" (its {name})", cell.cell_contents))
            except ValueError:  # not assigned yet
                continue
        return found
    if isinstance(value, (type, types.ModuleType)):
        module = value.__module__ if isinstance(value, type) else value.__name__
        if not is_own(module):
            return []
        members = [(n, inner) for n, inner in vars(value).items() if not n.startswith("__")]
        return [Part(f".{name}", inner) for name, inner in members]
    wrapped = getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):  # functools.lru_cache and the like
        return [Part("", wrapped)]
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict):
        return []
    parts: list[Part] = []
    if is_own(type(value).__module__):
        # what the objects of a class share: a list in its body
        for name, inner in list(vars(type(value)).items()):
            if isinstance(inner, (list, dict, set, deque)) and not name.startswith("__"):
                parts.append(Part(f".{name}", inner))
    for name, inner in list(attributes.items()):
        if name in ("_parameters", "_buffers", "_modules") and isinstance(inner, dict):
            parts += [Part(f".{key}", item) for key, item in inner.items()]
        else:
            parts.append(Part(f".{name}", inner))
    return parts
