"""Which classes and functions a file may name although only weights are loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.serialization.names import counterpart

Allowed = Callable[..., object] | tuple[Callable[..., object], str]

# Their names are never accepted, whoever allows them.
BLOCKED = frozenset(("sys", "os", "posix", "nt"))

_allowed: dict[Allowed, None] = {}  # a set that keeps its order


def add_safe_globals(safe_globals: list[Allowed]) -> None:
    """Let `load` with ``weights_only=True`` make objects of these classes and call these functions.

    Each is a class or function, or a pair of it and the name under which files know it.

    >>> class Settings: ...
    >>> torch.serialization.add_safe_globals([Settings])
    >>> torch.serialization.get_safe_globals() == [Settings]
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Allowed]:
    """What `add_safe_globals` allowed."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` allowed."""
    _allowed.clear()


class safe_globals:
    """Allow classes and functions for the `load` calls of a ``with`` block.

    >>> class Settings: ...
    >>> with torch.serialization.safe_globals([Settings]):
    ...     len(torch.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals: list[Allowed]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        for allowed in self.safe_globals:
            _allowed.pop(allowed, None)


def allowed_names() -> dict[str, object]:
    """What was allowed, by the names that files use."""
    names: dict[str, object] = {}
    for entry in _allowed:
        if not isinstance(entry, tuple):
            names[f"{entry.__module__}.{entry.__qualname__}"] = entry
            continue
        if len(entry) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                f"length: {len(entry)}"
            )
        if type(entry[1]) is not str:
            raise TypeError(
                "Expected second item in tuple to be str of callable full path, but got: "
                f"{type(entry[1])}"
            )
        names[entry[1]] = entry[0]
    return names


def allowed_as(module: str, name: str, names: dict[str, Any]) -> Any:
    """What was allowed under a name, or None; our classes answer to PyTorch's names too."""
    found = names.get(f"{module}.{name}")
    if found is not None or module.partition(".")[0] != "torch":
        return found
    for own in names.values():
        ours = str(getattr(own, "__module__", "")).partition(".")[0] == "retrograd"
        if ours and own.__qualname__ == name:
            try:
                return own if counterpart(module, name) is own else None
            except AttributeError:
                return None
    return None
