"""Inputs of `gradcheck` that are sparse: their entries are varied, or all places in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from retrograd.engine.sparse_array import SPARSE_ARRAY, coo, csr
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import sparse_coo


def is_sparse(value: object) -> bool:
    """Whether a value is a sparse tensor."""
    return isinstance(value, Tensor) and type(value._array) is SPARSE_ARRAY


@contextmanager
def all_places(source: Tensor, masked: bool) -> Iterator[None]:
    """Give a sparse input an entry for every place while it is varied, unless `masked`."""
    if masked or not is_sparse(source):
        yield
        return
    array: Any = source._array
    before = array.copy()
    before.coalesced = array.coalesced
    sparse = array.shape[: array.sparse_dim]
    places = np.indices(sparse).reshape(len(sparse), -1)
    values = source.detach().to_dense()._array.reshape(-1, *array.shape[array.sparse_dim :]).copy()
    if array.layout is sparse_coo:
        array.become(coo(places, values, array.shape, True))
    else:
        pointers = np.arange(sparse[0] + 1) * sparse[1]
        array.become(csr(pointers, places[1], values, array.shape))
    try:
        yield
    finally:
        array.become(before)


def entries(source: Tensor) -> Iterator[tuple[int, tuple[int, ...], Tensor]]:
    """Each entry: its number among all elements, its index, and the element, which can be written.

    Of a strided tensor that is every element.
    """
    if not is_sparse(source):
        elements = source.data  # no history, no version: the function must not notice the writes
        for row, index in enumerate(product(*map(range, source.shape))):
            yield row, index, elements[index]
        return
    array: Any = source._array
    for number, place in enumerate(_places(array)):
        for inner in product(*map(range, array.values.shape[1:])):
            index = (*place, *inner)
            row = int(np.ravel_multi_index(index, array.shape)) if index else 0
            yield row, index, wrap(array.values[(number, *inner, ...)])


def _places(array: Any) -> list[tuple[int, ...]]:
    """Where the entries are, in the dimensions that the indices are about."""
    if not isinstance(array.indices, tuple):
        return [tuple(place) for place in array.indices.T.tolist()]
    pointers, columns = array.indices
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def dense_gradient(gradient: Tensor) -> Tensor:
    """A gradient with all its elements."""
    plain: Tensor = gradient.detach()
    return plain.to_dense() if is_sparse(plain) else plain
