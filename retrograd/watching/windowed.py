"""Records of a long run: the first ones and the newest, with the positions that they always had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

FIRST = 2_000  # records that stay for ever
NEWEST = 20_000  # and of those that follow

Item = TypeVar("Item")


class Windowed(list[Item]):
    """A list that forgets its middle. Positions count from the very first; `len` counts them all.

    >>> records: Windowed[int] = Windowed(first=1, newest=2)
    >>> for number in range(8):
    ...     records.append(number)
    >>> len(records), list(records), records[2:], records[-1]
    (8, [0, 6, 7], [6, 7], 7)
    """

    def __init__(self, first: int | None = None, newest: int | None = None) -> None:
        super().__init__()
        self._first = FIRST if first is None else first
        self._newest = NEWEST if newest is None else newest
        self.dropped = 0  # behind the first ones

    def append(self, item: Item) -> None:
        """Add one; now and then the middle is forgotten."""
        super().append(item)
        kept = super().__len__()
        if kept > self._first + self._newest + self._newest // 4:
            over = kept - self._first - self._newest
            super().__delitem__(slice(self._first, self._first + over))
            self.dropped += over

    def forget(self, stays: Callable[[Item], bool]) -> None:
        """Forget those that do not stay; they follow each other, in the middle."""
        gone = [number for number, item in enumerate(self) if not stays(item)]
        if not gone:
            return
        start, stop = gone[0], gone[-1] + 1
        if self.dropped:  # there is one gap, and it grows
            start, stop = min(start, self._first), max(stop, self._first)
        super().__delitem__(slice(start, stop))
        self._first, self.dropped = start, self.dropped + stop - start

    def is_kept(self, position: int) -> bool:
        """Whether the record of a position is still there."""
        return position < self._first or position >= self._first + self.dropped

    def __len__(self) -> int:
        return super().__len__() + self.dropped

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Item]:
        return iter(super().__getitem__(slice(None)))

    def __reversed__(self) -> Iterator[Item]:
        return reversed(super().__getitem__(slice(None)))

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            start, stop, step = position.indices(len(self))
            assert step == 1, "only plain slices"
            return super().__getitem__(slice(self._within(start), self._within(stop)))
        index = position + len(self) if position < 0 else position
        if not self.is_kept(index):
            raise IndexError(f"record {index} of {len(self)} is forgotten")
        return super().__getitem__(self._within(index))

    def _within(self, position: int) -> int:
        """Where a position lies among what is kept; a forgotten one lies at the gap."""
        if position <= self._first:
            return position
        return max(self._first, position - self.dropped)
