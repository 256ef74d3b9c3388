"""The largest entries of a row, in PyTorch's order even among equals.

PyTorch's ``topk`` selects and sorts with the C++ standard library, whose algorithms leave equal
entries in an order that depends on every comparison made. For rows in which equal entries matter
they are followed here step by step, as GNU's library takes them; other rows are sorted by NumPy.
"""

from __future__ import annotations

import numpy as np

from retrograd.random.generator import Array

__all__ = ["largest_first"]


def largest_first(row: Array, count: int) -> Array:
    """The indices of the ``count`` largest entries, the largest first; a NaN counts as largest.

    >>> largest_first(np.array([1.0, 3.0, 2.0]), 2)
    array([1, 2])
    """
    if row.dtype.itemsize < 4:
        row = row.astype(np.float32)
    keys = np.where(np.isnan(row), -np.inf, -row)  # ascending from here on
    order = np.argsort(keys, kind="stable")
    selected = keys[order[: count + 1]]
    # Infinities and NaNs have one key here, but differ there: they count as equals too.
    if (selected[1:] != selected[:-1]).all():
        return order[:count]
    ranks = np.where(np.isnan(row), -1, np.searchsorted(keys[order], keys)).tolist()
    return np.array(_Selection(ranks).largest_first(count), np.int64)


class _Selection:
    """Indices whose ranks are compared; a smaller rank comes first."""

    def __init__(self, ranks: list[int]) -> None:
        self.ranks = ranks
        self.items = list(range(len(ranks)))

    def largest_first(self, count: int) -> list[int]:
        size = len(self.items)
        if count * 64 <= size:
            self.heap_select(0, count, size)
            self.sort_heap(0, count)
        else:
            self.nth_element(count - 1)
            self.sort(0, count - 1)
        return self.items[:count]

    def before(self, i: int, j: int) -> bool:
        return self.ranks[self.items[i]] < self.ranks[self.items[j]]

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    # ---- quicksort's partition

    def partition(self, first: int, last: int) -> int:
        """Split [first, last) around the median of three; return where the second part begins."""
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        self.swap(first, self.median(a, b, c))
        pivot = self.ranks[self.items[first]]
        items, ranks = self.items, self.ranks
        low, high = first + 1, last
        while True:
            while ranks[items[low]] < pivot:
                low += 1
            high -= 1
            while pivot < ranks[items[high]]:
                high -= 1
            if low >= high:
                return low
            items[low], items[high] = items[high], items[low]
            low += 1

    def median(self, a: int, b: int, c: int) -> int:
        before = self.before
        if before(a, b):
            return b if before(b, c) else c if before(a, c) else a
        return a if before(a, c) else c if before(b, c) else b

    def nth_element(self, nth: int) -> None:
        """Bring the item of place ``nth`` there, smaller ones before it."""
        first, last = 0, len(self.items)
        for _ in range(_depth(last)):
            if last - first <= 3:
                break
            cut = self.partition(first, last)
            if cut <= nth:
                first = cut
            else:
                last = cut
        else:
            if last - first > 3:
                self.heap_select(first, nth + 1, last)
                self.swap(first, nth)
                return
        self.insertion_sort(first, last)

    def sort(self, first: int, last: int) -> None:
        self.sort_roughly(first, last, _depth(last - first))
        self.insertion_sort(first, last)

    def sort_roughly(self, first: int, last: int, depth: int) -> None:
        """Until no part is longer than 16."""
        while last - first > 16:
            if depth == 0:
                self.heap_select(first, last, last)
                self.sort_heap(first, last)
                return
            depth -= 1
            cut = self.partition(first, last)
            self.sort_roughly(cut, last, depth)
            last = cut

    def insertion_sort(self, first: int, last: int) -> None:
        # Stable: after the rough sort it moves items within their part only.
        items, ranks = self.items, self.ranks
        for i in range(first + 1, last):
            item = items[i]
            rank = ranks[item]
            j = i
            while j > first and rank < ranks[items[j - 1]]:
                items[j] = items[j - 1]
                j -= 1
            items[j] = item

    # ---- heaps: the root is the item that would come last

    def heap_select(self, first: int, middle: int, last: int) -> None:
        """Make a heap of [first, middle), then let it take every earlier item of [middle, last)."""
        length = middle - first
        for parent in range((length - 2) // 2, -1, -1):
            self.sift(first, parent, length, self.items[first + parent])
        for i in range(middle, last):
            if self.before(i, first):
                self.pop_heap(first, middle, i)

    def sort_heap(self, first: int, last: int) -> None:
        for end in range(last - 1, first, -1):
            self.pop_heap(first, end, end)

    def pop_heap(self, first: int, last: int, result: int) -> None:
        """Move the root to ``result``, and the item from there into the heap [first, last)."""
        item = self.items[result]
        self.items[result] = self.items[first]
        self.sift(first, 0, last - first, item)

    def sift(self, first: int, hole: int, length: int, item: int) -> None:
        """Fill the hole by moving children up to the bottom, then let the item rise from there."""
        items, top, child = self.items, hole, hole
        while child < (length - 1) // 2:
            child = 2 * (child + 1)
            if self.before(first + child, first + child - 1):
                child -= 1
            items[first + hole] = items[first + child]
            hole = child
        if length % 2 == 0 and child == (length - 2) // 2:
            child = 2 * (child + 1)
            items[first + hole] = items[first + child - 1]
            hole = child - 1
        ranks, rank = self.ranks, self.ranks[item]
        while hole > top:
            parent = (hole - 1) // 2
            if ranks[items[first + parent]] >= rank:
                break
            items[first + hole] = items[first + parent]
            hole = parent
        items[first + hole] = item


def _depth(size: int) -> int:
    return 2 * (size.bit_length() - 1) if size else 0
