"""Calls into a room above: declared where they are made, connected in one table.

Imports point down. Where a lower room must now and then call a higher one (an op that meets a
sparse operand, a saved value that has tangents), it declares the function it needs, with `above`;
which function that is stands in `connections`. Nothing is imported before the first call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

DECLARED: set[str] = set()
_TABLE: dict[str, str] = {}


def connect(table: Mapping[str, str]) -> None:
    """Say what the declared functions are: ``room.module.name`` to ``room.module:name``."""
    _TABLE.update(table)


def defined(name: str) -> Any:
    """What a declared function is connected to."""
    module, _, inside = _TABLE[name].partition(":")
    return attrgetter(inside)(import_module(f"retrograd.{module}"))


def above(declaration: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a declaration call its definition: the body, which only raises, never runs.

    >>> defined("engine.sparse_array.zero").__module__
    'retrograd.sparse.dispatch'
    """
    name = f"{declaration.__module__}.{declaration.__qualname__}".removeprefix("retrograd.")
    DECLARED.add(name)
    found: list[Callable[_P, _R]] = []

    @functools.wraps(declaration)
    def call(*args: _P.args, **options: _P.kwargs) -> _R:
        if not found:
            found.append(defined(name))
        return found[0](*args, **options)

    return call
