"""A value that gets larger from step to step while each step's graph saves it: a growing cache.

Such graphs have as many nodes as the ones before, and are freed in time; only their bytes rise. So
do those of batches that happen to get longer. A cache differs in this: it holds what it held
before, at its beginning or end, and a line of the program computes it from itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.watching import storing
from retrograd.watching.holders import paths_to
from retrograd.watching.places import is_user_file
from retrograd.watching.reading import Node, Reader

CORNER = 4
"""Elements along each dimension that are compared."""


@dataclass(frozen=True)
class Enlarged:
    """A value that is larger than at the look before, and the line that makes it so."""

    path: str
    line: Place


@dataclass(frozen=True)
class _Value:
    """What is remembered of a value: its shape and its first and last elements."""

    shape: tuple[int, ...]
    first: object
    last: object


class Caches:
    """Compares the variables of a program at one look with those at the look before."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._before: dict[str, _Value] = {}

    def look(self, tensors: Iterable[Any], frames: list[FrameType]) -> Enlarged | None:
        """The value that has grown by most, if a line computes it from itself."""
        named = self._named(tensors, frames)
        now = {path: _remembered(tensor) for path, tensor in named.items()}
        grown = [
            (_count(value.shape) - _count(before.shape), path)
            for path, value in now.items()
            if (before := self._before.get(path)) is not None and _holds(named[path], before)
        ]
        self._before = now
        for _, path in sorted(grown, reverse=True):
            name = re.findall(r"[A-Za-z_]\w*", path)[-1]
            line = storing.from_itself(name, [f for f in frames if _is_users(f)])
            if line is not None:
                return Enlarged(path, line)
        return None

    def _named(self, tensors: Iterable[Any], frames: list[FrameType]) -> dict[str, Any]:
        wanted = [tensor for tensor in tensors if _may_grow(tensor)]
        held = paths_to(wanted, frames, self._reader.tensor)
        return {held[id(t)].path: t for t in wanted if id(t) in held and not held[id(t)].window}


def _may_grow(tensor: Any) -> bool:
    """Whether it has dimensions and is no parameter.

    A parameter that waits for its first input and a view that may not follow a write refuse to say.
    """
    try:
        return bool(tensor.dim()) and not (tensor.is_leaf and tensor.requires_grad)
    except (RuntimeError, ValueError):
        return False


def saved_bytes(reader: Reader, nodes: Iterable[Node]) -> int:
    """What nodes keep beside the leaves, each memory once."""
    storages: dict[int, int] = {}
    for node in nodes:
        for value in reader.saved(node):
            if value.owner != "leaf":
                storages[value.storage] = value.storage_bytes
    return sum(storages.values())


def _is_users(frame: FrameType) -> bool:
    return is_user_file(frame.f_code.co_filename)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _remembered(tensor: Any) -> _Value:
    return _Value(tuple(tensor.shape), _corner(tensor, CORNER), _corner(tensor, -CORNER))


def _corner(tensor: Any, length: int) -> object:
    """The first elements along each dimension; the last ones for a negative length."""
    if tensor.is_meta:
        return None  # there are none
    part = slice(None, length) if length > 0 else slice(length, None)
    return tensor.detach()[(part,) * tensor.dim()].tolist()


def _holds(tensor: Any, before: _Value) -> bool:
    """Whether a tensor begins or ends with all that was there, along the one dimension it grew in.

    Elements that are all the same tell nothing: zeros are a beginning of zeros.
    """
    shape = tuple(tensor.shape)
    if len(shape) != len(before.shape) or before.first == before.last or not _count(before.shape):
        return False
    dims = [d for d, pair in enumerate(zip(shape, before.shape, strict=True)) if pair[0] != pair[1]]
    if len(dims) != 1 or shape[dims[0]] < before.shape[dims[0]]:
        return False
    length = before.shape[dims[0]]
    for start in (0, shape[dims[0]] - length):
        part = tensor.detach().narrow(dims[0], start, length)
        if _remembered(part) == before:
            return True
    return False
