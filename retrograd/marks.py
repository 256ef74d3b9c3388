"""Marks on definitions that do not behave as PyTorch's, read by the tables of the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

_T = TypeVar("_T")


def differs(how: str) -> Callable[[_T], _T]:
    """Mark a function or class that is there, but not quite as in PyTorch.

    >>> @differs("always runs on the CPU")
    ... def example(): ...
    >>> example.__differs__
    'always runs on the CPU'
    """

    def mark(definition: _T) -> _T:
        definition.__differs__ = how  # type: ignore[attr-defined]
        return definition

    return mark


def refuses(why: str) -> Callable[[_T], _T]:
    """Mark a function that checks its arguments as PyTorch's does, and then refuses.

    >>> @refuses("there is no compiler")
    ... def example(): ...
    >>> example.__unsupported__
    'there is no compiler'
    """

    def mark(definition: _T) -> _T:
        definition.__unsupported__ = why  # type: ignore[attr-defined]
        return definition

    return mark


def unsupported(name: str, why: str) -> Callable[..., NoReturn]:
    """A function under a name of PyTorch's that cannot work here: it says so when it is called.

    >>> compile = unsupported("torch.compile", "there is no compiler")
    >>> compile(lambda x: x)
    Traceback (most recent call last):
    NotImplementedError: torch.compile is not supported by retrograd: there is no compiler
    """

    def refuse(*args: object, **options: object) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported by retrograd: {why}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Not supported: {why}."
    vars(refuse)["__unsupported__"] = why
    return refuse


def unsupported_class(name: str, why: str) -> type:
    """A class under a name of PyTorch's that cannot work here: no instance can be made.

    >>> Graph = unsupported_class("torch.Graph", "there is no compiler")
    >>> isinstance(1, Graph)
    False
    >>> Graph()
    Traceback (most recent call last):
    NotImplementedError: torch.Graph is not supported by retrograd: there is no compiler
    """
    facts = {
        "__new__": unsupported(name, why),
        "__doc__": f"Not supported: {why}.",
        "__unsupported__": why,
        "__module__": name.rpartition(".")[0],
    }
    return type(name.rpartition(".")[2], (), facts)
