"""Unit vectors, for derivatives in all directions at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.backend import NAMED
from retrograd.tensor import Tensor, wrap


class Layout(NamedTuple):
    """What a basis needs to know of a tensor. Holding the tensor would hold its elements."""

    size: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    place: str


def layouts_of(tensors: Sequence[Tensor]) -> list[Layout]:
    """What a basis needs to know of each tensor."""
    return [Layout(t.numel(), tuple(t.shape), t._array.dtype, t.device.type) for t in tensors]


def standard_basis(layouts: Sequence[Layout], chunk_size: int | None) -> Iterator[list[Tensor]]:
    """The unit vectors of all tensors together, some at a time; a batch dimension comes first."""
    sizes = [layout.size for layout in layouts]
    total = sum(sizes)
    step = total if chunk_size is None or chunk_size >= total else chunk_size
    for start in range(0, total, step) if total else [0]:
        count = min(step, total - start)
        chunk: list[Tensor] = []
        before = 0
        for layout, size in zip(layouts, sizes, strict=True):
            array = np.zeros((count, size), layout.dtype)
            first, last = max(start, before), min(start + count, before + size)
            if first < last:  # a diagonal: every (size + 1)th element in the order of memory
                corner = (first - start) * size + first - before
                array.reshape(-1)[corner :: size + 1][: last - first] = 1
            vectors = array.reshape((count, *layout.shape))
            chunk.append(wrap(NAMED[layout.place].from_numpy(vectors)))
            before += size
        yield chunk
