"""Unit vectors, for derivatives in all directions at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from retrograd.backend import NAMED
from retrograd.tensor import Tensor, wrap


def standard_basis(tensors: Sequence[Tensor], chunk_size: int | None) -> Iterator[list[Tensor]]:
    """The unit vectors of all tensors together, some at a time; a batch dimension comes first."""
    sizes = [tensor.numel() for tensor in tensors]
    total = sum(sizes)
    step = total if chunk_size is None or chunk_size >= total else chunk_size
    for start in range(0, total, step) if total else [0]:
        count = min(step, total - start)
        chunk: list[Tensor] = []
        before = 0
        for tensor, size in zip(tensors, sizes, strict=True):
            array = np.zeros((count, size), tensor._array.dtype)
            first, last = max(start, before), min(start + count, before + size)
            if first < last:  # a diagonal: every (size + 1)th element in the order of memory
                corner = (first - start) * size + first - before
                array.reshape(-1)[corner :: size + 1][: last - first] = 1
            vectors = array.reshape((count, *tensor._array.shape))
            chunk.append(wrap(NAMED["cpu"].from_numpy(vectors)))
            before += size
        yield chunk
