"""The tensors that a program's variables lead to, by the names that a person would type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from retrograd.watching.holders import DEEPEST, MOST_OBJECTS, Part, plain_parts, search


class Scope(Protocol):
    """Variables: those of a frame, or of a module."""

    @property
    def f_locals(self) -> Mapping[str, Any]: ...


def named_tensors(scopes: Iterable[Scope], tensor: type) -> dict[int, tuple[Any, str]]:
    """All tensors that can be reached, by id, each with the shortest path: `model.head.weight`."""
    found: dict[int, tuple[Any, str]] = {}
    starts = (
        (Part(name, value), scope)
        for scope in scopes
        for name, value in list(scope.f_locals.items())
        if not name.startswith("__")
    )

    def parts(value: object) -> Iterable[Part]:
        return () if issubclass(type(value), tensor) else plain_parts(value)

    for trail in search(starts, parts, MOST_OBJECTS, DEEPEST):
        value: Any = trail.part.value
        if issubclass(type(value), tensor):
            path = "".join(part.text for part in trail.parts())
            known = found.setdefault(id(value), (value, path))[1]
            # `model.bias` says more than the `p` that a loop over the parameters has left
            if "." in path and known.isidentifier() and value.is_leaf and value.requires_grad:
                found[id(value)] = value, path
    return found
