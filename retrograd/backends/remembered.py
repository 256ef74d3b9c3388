"""Settings of a module that change nothing: they are remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def switches(
    settings: dict[str, Any], **inside: Any
) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., AbstractContextManager[None]]]:
    """The functions ``set_flags`` and ``flags`` of a module with these settings.

    settings  the names of the module
    inside    the settings that are switched together, with what they are in ``flags()``
    """
    names = tuple(inside)

    def set_flags(*values: Any, **named: Any) -> tuple[Any, ...]:
        """Change settings, None leaving one as it is; returns all as they were."""
        old = tuple(settings[name] for name in names)
        given = {**dict(zip(names, values, strict=False)), **named}
        for name, value in given.items():
            if name.lstrip("_") not in names:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
            if value is not None:
                settings[name.lstrip("_")] = value
        return old

    @contextmanager
    def flags(*values: Any, **named: Any) -> Iterator[None]:
        """The context in which settings are changed."""
        given = {**inside, **dict(zip(names, values, strict=False)), **named}
        old = set_flags(**given)
        try:
            yield
        finally:
            settings.update(zip(names, old, strict=True))

    return set_flags, flags


class Settings:
    """Settings under one name; others cannot be asked for or set.

    >>> matmul = Settings(allow_tf32=False)
    >>> matmul.allow_tf32 = True
    >>> matmul.speed = 3
    Traceback (most recent call last):
    AttributeError: Unknown attribute speed
    """

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value
