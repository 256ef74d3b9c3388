"""Modules of settings that change nothing: they remember what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Group:
    """Settings under one name, as ``config.triton``: each is None until it is set."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def patcher(settings: dict[str, Any]) -> Any:
    """The function ``patch`` of a module with these settings: a context, and a decorator."""

    @contextmanager
    def patch(changes: Any = None, value: Any = None, /, **named: Any) -> Iterator[None]:
        """The context in which settings are changed: ``patch("name", 1)`` or ``patch(name=1)``."""
        if isinstance(changes, str):
            named = {changes: value, **named}
        elif changes is not None:
            named = {**changes, **named}
        old = {name: settings[name] for name in named if name in settings}
        settings.update(named)
        try:
            yield
        finally:
            for name in named:
                del settings[name]
            settings.update(old)

    return patch
