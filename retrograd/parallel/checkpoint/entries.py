"""A nested state as entries under dotted names, and back.

>>> found = entries({"model": {"weight": 1}, "groups": [{"lr": 0.1}]})
>>> {name: entry.value for name, entry in found.items()}
{'model.weight': 1, 'groups.0.lr': 0.1}
>>> nested(found.values())
{'model': {'weight': 1}, 'groups': [{'lr': 0.1}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from retrograd.namespaces.stateful import Stateful
from retrograd.tensor import Tensor

__all__ = ["Entry", "entries", "nested", "plain_state"]

Key = str | int


class Entry(NamedTuple):
    """One value of a state: the keys to it, each with whether it is an index of a list."""

    path: tuple[tuple[Key, bool], ...]
    value: Any

    @property
    def name(self) -> str:
        """The keys with dots between them."""
        return ".".join(str(key) for key, _ in self.path)


def plain_state(state_dict: Mapping[str, Any]) -> dict[str, Any]:
    """The state with that of each object in it that has one."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def _is_opened(value: object) -> bool:
    """Whether what is inside counts as entries of its own: dictionaries, and lists with such."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(key, str | int) for key in value)
    if isinstance(value, list):
        return any(isinstance(each, Tensor) or _is_opened(each) for each in value)
    return False


def _walk(path: tuple[tuple[Key, bool], ...], value: Any) -> Iterator[Entry]:
    if not _is_opened(value):
        yield Entry(path, value)
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield from _walk((*path, (key, False)), inside)
    else:
        for index, inside in enumerate(value):
            yield from _walk((*path, (index, True)), inside)


def entries(state_dict: Mapping[str, Any]) -> dict[str, Entry]:
    """The entries of a nested state by their names."""
    found: dict[str, Entry] = {}
    for entry in _walk((), state_dict):
        if entry.path:
            if entry.name in found:
                raise ValueError(f"duplicated flatten key {entry.name}")
            found[entry.name] = entry
    return found


def nested(found: Iterable[Entry]) -> dict[str, Any]:
    """The state that has these entries."""
    top: dict[str, Any] = {}
    for entry in found:
        inside: Any = top
        for (key, is_index), (_, next_is_index) in zip(entry.path, entry.path[1:], strict=False):
            fresh: Any = [] if next_is_index else {}
            if is_index:
                while len(inside) <= int(key):
                    inside.append(None)
                if inside[int(key)] is None:
                    inside[int(key)] = fresh
                inside = inside[int(key)]
            else:
                inside = inside.setdefault(key, fresh)
        put(inside, entry.path[-1], entry.value)
    return top


def put(inside: Any, step: tuple[Key, bool], value: Any) -> None:
    """Set a key of a dictionary, or an index of a list that may still be shorter."""
    key, is_index = step
    if is_index:
        while len(inside) <= int(key):
            inside.append(None)
    inside[key] = value
