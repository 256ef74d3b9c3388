"""Who holds a tensor: the path by which the program's variables reach it."""

from __future__ import annotations

import os
import sys
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType

MOST_OBJECTS = 20_000
MOST_ITEMS = 2_000
DEEPEST = 5

_PLAIN = (str, bytes, int, float, complex, bool, types.CodeType)


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
    seen: set[int] = set()
    waiting: deque[tuple[str, object, int, FrameType, bool, object]] = deque()
    for frame in frames:
        for name, value in list(frame.f_locals.items()):
            if not name.startswith("__"):
                waiting.append((name, value, 0, frame, False, None))
    looked = 0
    while waiting and looked < MOST_OBJECTS and len(found) < len(wanted):
        path, value, depth, frame, window, outer = waiting.popleft()
        looked += 1
        if id(value) in wanted and id(value) not in found:
            is_item = isinstance(outer, (list, tuple, dict, set, frozenset, deque))
            found[id(value)] = Held(path, frame, window, outer if is_item else None)
        if isinstance(value, (tensor, *_PLAIN)) or value is None or id(value) in seen:
            continue
        seen.add(id(value))
        if depth < DEEPEST:
            for step, inner, bounded in _parts(value):
                waiting.append((path + step, inner, depth + 1, frame, window or bounded, value))
    return found


def is_own(module: str | None) -> bool:
    """Whether a module is the user's own, by its name and its file."""
    if module is None:
        return False
    if module == "__main__":
        return True
    if module.partition(".")[0] in (*sys.stdlib_module_names, "torch", "retrograd"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return f"{os.sep}site-packages{os.sep}" not in file


def _parts(value: object) -> list[tuple[str, object, bool]]:
    """What a value holds: how to write the way there, the thing, whether its number is bounded."""
    if isinstance(value, dict):
        items = list(value.items())[:MOST_ITEMS]
        return [(f"[{key!r}]", item, False) for key, item in items]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        bounded = isinstance(value, deque) and value.maxlen is not None
        return [(f"[{i}]", item, bounded) for i, item in enumerate(list(value)[:MOST_ITEMS])]
    if isinstance(value, types.MethodType):
        return [(".__self__", value.__self__, False), ("", value.__func__, False)]
    if isinstance(value, types.GeneratorType):
        if value.gi_frame is None:  # it has ended
            return []
        return [(f" (its {name})", inner, False) for name, inner in value.gi_frame.f_locals.items()]
    if isinstance(value, types.FunctionType):
        if not is_own(value.__module__):
            return []
        found = [(f".{name}", inner, False) for name, inner in value.__dict__.items()]
        names = value.__code__.co_varnames[: value.__code__.co_argcount]
        for name, default in zip(names[::-1], (value.__defaults__ or ())[::-1], strict=False):
            found.append((f" (its {name})", default, False))
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                found.append((f" (its {name})", cell.cell_contents, False))
            except ValueError:  # not assigned yet
                continue
        return found
    if isinstance(value, (type, types.ModuleType)):
        module = value.__module__ if isinstance(value, type) else value.__name__
        if not is_own(module):
            return []
        members = [(n, inner) for n, inner in vars(value).items() if not n.startswith("__")]
        return [(f".{name}", inner, False) for name, inner in members]
    wrapped = getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):  # functools.lru_cache and the like
        return [("", wrapped, False)]
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict):
        return []
    parts: list[tuple[str, object, bool]] = []
    if is_own(type(value).__module__):
        # what the objects of a class share: a list in its body
        for name, inner in list(vars(type(value)).items()):
            if isinstance(inner, (list, dict, set, deque)) and not name.startswith("__"):
                parts.append((f".{name}", inner, False))
    for name, inner in list(attributes.items()):
        if name in ("_parameters", "_buffers", "_modules") and isinstance(inner, dict):
            parts += [(f".{key}", item, False) for key, item in inner.items()]
        else:
            parts.append((f".{name}", inner, False))
    return parts
