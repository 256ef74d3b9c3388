"""Who holds a tensor: the path by which the program's variables reach it."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

MOST_OBJECTS = 20_000
MOST_ITEMS = 2_000
DEEPEST = 5

_PLAIN = (str, bytes, int, float, complex, bool, types.ModuleType, type, types.CodeType)


@dataclass(frozen=True)
class Held:
    """How a tensor is reached: "self.memory[2]"; `window` in a collection of bounded length."""

    path: str
    frame: FrameType
    window: bool = False


def holder_of(target: Any, frames: Iterable[FrameType], tensor: type) -> Held | None:
    """The shortest path to `target` from the variables of frames, the first frame first."""
    seen: set[int] = set()
    waiting: deque[tuple[str, Any, int, FrameType, bool]] = deque()
    for frame in frames:
        for name, value in list(frame.f_locals.items()):
            if not name.startswith("__"):
                waiting.append((name, value, 0, frame, False))
    looked = 0
    while waiting and looked < MOST_OBJECTS:
        path, value, depth, frame, window = waiting.popleft()
        looked += 1
        if value is target:
            return Held(path, frame, window)
        if isinstance(value, (tensor, *_PLAIN)) or value is None or id(value) in seen:
            continue
        seen.add(id(value))
        if depth < DEEPEST:
            for step, inner, bounded in _parts(value):
                waiting.append((path + step, inner, depth + 1, frame, window or bounded))
    return None


def _parts(value: Any) -> list[tuple[str, Any, bool]]:
    """What a value holds: how to write the way there, the thing, whether its number is bounded."""
    if isinstance(value, dict):
        items = list(value.items())[:MOST_ITEMS]
        return [(f"[{key!r}]", item, False) for key, item in items]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        bounded = isinstance(value, deque) and value.maxlen is not None
        return [(f"[{i}]", item, bounded) for i, item in enumerate(list(value)[:MOST_ITEMS])]
    if isinstance(value, types.MethodType):
        return [(".__self__", value.__self__, False), ("", value.__func__, False)]
    if isinstance(value, types.FunctionType):
        found = []
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                found.append((f" (its {name})", cell.cell_contents, False))
            except ValueError:  # not assigned yet
                continue
        return found
    wrapped = getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):  # functools.lru_cache and the like
        return [("", wrapped, False)]
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict):
        return []
    parts = []
    for name, inner in list(attributes.items()):
        if name in ("_parameters", "_buffers", "_modules") and isinstance(inner, dict):
            parts += [(f".{key}", item, False) for key, item in inner.items()]
        else:
            parts.append((f".{name}", inner, False))
    return parts
