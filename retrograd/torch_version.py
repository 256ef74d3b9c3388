"""The version of PyTorch that retrograd stands for, as `torch.__version__` gives it."""

from __future__ import annotations

import re
from typing import Any


class TorchVersion(str):
    """A version that is a string, and is compared as a version: with strings and with tuples.

    >>> version = TorchVersion("2.13.0+retrograd")
    >>> version >= "2.4", version > (2, 13, 1), version == "2.13"
    (True, False, False)
    >>> version.split("+")[0]
    '2.13.0'
    """

    def _compared(self, other: object) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        if isinstance(other, (tuple, list)):
            other = ".".join(str(part) for part in other)
        if not isinstance(other, str) or not re.match(r"v?\d", other):
            return None
        return _key(self), _key(other)

    def __lt__(self, other: object) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: object) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: object) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: object) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    def __eq__(self, other: object) -> bool:
        pair = self._compared(other)
        return str.__eq__(self, str(other)) if pair is None else pair[0] == pair[1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _key(version: str) -> tuple[Any, ...]:
    """What orders versions: the numbers, then a release after its previews, then what it is of."""
    public, _, local = version.lstrip("v").partition("+")
    found = re.match(r"\d+(\.\d+)*", public)
    assert found is not None
    numbers = [int(part) for part in found.group().split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    preview = public[found.end() :].strip(".-_")
    return (tuple(numbers), preview == "" or preview.startswith("post"), preview, local)


TORCH_VERSION = TorchVersion("2.13.0+retrograd")
