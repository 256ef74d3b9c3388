"""What leaves a step, in the form in which a plan makes it again: results, and what is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retrograd.tensor import Tensor


@dataclass(slots=True, eq=False)
class Outside:
    """An object that was there before the step, to be used as it is and not built anew."""

    value: Any


@dataclass(slots=True, eq=False)
class Nest:
    """An object that the step made: its class, and the values that `rebuilt` makes it of."""

    kind: type
    parts: dict[Any, Any]


class Unfit(Exception):
    """A value cannot be made again at a replay; says which."""


def leaving(value: Any, stays: Callable[[Any], bool], numbers: dict[int, Any]) -> Any:
    """A value in a plan's form: tensors, numbers that were read, `Outside`, containers, `Nest`.

    stays    whether an object is there before the call and after it
    numbers  by identity, what the recorder gave for numbers that were read from tensors
    """
    kind: Any = type(value)
    if (number := numbers.get(id(value))) is not None:
        return number
    if isinstance(value, Tensor):
        return value
    if stays(value) and not issubclass(kind, tuple):
        return Outside(value)
    if kind is dict:
        return {key: leaving(part, stays, numbers) for key, part in value.items()}
    if kind is list or issubclass(kind, tuple):
        parts = [leaving(part, stays, numbers) for part in value]
        if kind is list:
            return parts
        if all(type(part) is Outside for part in parts):
            return Outside(value)  # a tuple cannot change, and nothing in it is of the step
        return tuple(parts) if kind is tuple else Nest(kind, dict(enumerate(parts)))
    if kind is not set and not _is_open(kind):
        raise Unfit(f"a {kind.__name__} that the step made outlives it")
    pairs: Any = enumerate(value) if kind is set else vars(value).items()
    return Nest(kind, {key: leaving(part, stays, numbers) for key, part in pairs})


def _is_open(kind: Any) -> bool:
    """Whether objects of a class are nothing but their attributes."""
    known = dataclasses.is_dataclass(kind) or kind.__init__ is object.__init__
    return known and kind.__new__ is object.__new__ and not hasattr(kind, "__slots__")


def rebuilt(kind: Any, parts: dict[Any, Any]) -> Any:
    """The object of a `Nest` whose parts are those of another call."""
    if kind is set:
        return set(parts.values())
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts.values())
    found = object.__new__(kind)
    found.__dict__.update(parts)
    return found
