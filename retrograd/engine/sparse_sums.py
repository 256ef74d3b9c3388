"""NumPy's part: entries that share a place, products with dense matrices, sums. No tensors here.

`np.add.at` is slow, so everything that adds up sorts first and sums runs with `reduceat`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.engine.sparse_array import Array, SparseArray, coo, csr
from retrograd.notices import runtime_error
from retrograd.tensor.size import layout, sparse_coo, sparse_csc, sparse_csr


def flat_places(indices: Array, sizes: tuple[int, ...]) -> Array:
    """Each column of indices as one number, in row-major order."""
    places = np.zeros(indices.shape[1], np.int64)
    for row, size in zip(indices, sizes, strict=True):
        places *= size
        places += row
    return places


def sum_runs(values: Array, starts: Array) -> Array:
    """The sums of runs of values that begin at `starts`; none of them is empty."""
    if not starts.size:
        return np.zeros((0, *values.shape[1:]), values.dtype)
    if values.dtype in dtypes.HALF_TYPES:
        wide: Array = np.add.reduceat(values.astype(np.float32), starts, axis=0)
        return wide.astype(values.dtype)
    if values.dtype == np.bool_:
        return np.logical_or.reduceat(values, starts, axis=0)
    total: Array = np.add.reduceat(values, starts, axis=0)
    return total.astype(values.dtype, copy=False)


def check_bounds(array: SparseArray) -> None:
    """Places outside of the shape, which nothing refused when they were made."""
    sizes = array.shape[: array.sparse_dim]
    rows = array.indices
    if rows.size and (rows.min() < 0 or np.any(rows.max(1) >= np.array(sizes))):
        for axis, size in enumerate(sizes):
            row = rows[axis]
            bad = row[(row < 0) | (row >= size)]
            if bad.size and bad[0] < 0:
                raise runtime_error(
                    f"found negative index {int(bad[0])} for dim {axis}", code="RG211"
                )
            if bad.size:
                raise runtime_error(
                    f"size is inconsistent with indices: for dim {axis}, size is {size} but found "
                    f"index {int(bad[0])}",
                    code="RG211",
                )


def coalesced(array: SparseArray) -> SparseArray:
    """Entries of COO sorted by place, and those that share one summed."""
    if array.coalesced or array.layout is not sparse_coo:
        return array
    check_bounds(array)
    sizes = array.shape[: array.sparse_dim]
    if not array.sparse_dim:
        values = array.values.sum(0, keepdims=True, dtype=array.values.dtype)
        if not array.nnz:
            values = array.values
        return coo(np.zeros((0, values.shape[0]), np.int64), values, array.shape, True)
    places = flat_places(array.indices, sizes)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = _starts(ordered)
    values = sum_runs(array.values[order], starts)
    return coo(array.indices[:, order[starts]], values, array.shape, True)


def _starts(ordered: Array) -> Array:
    """Where runs of equal numbers begin."""
    if not ordered.size:
        return np.zeros(0, np.int64)
    fresh = np.empty(ordered.size, np.bool_)
    fresh[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return np.flatnonzero(fresh)


# ---------------------------------------------------------------------------------- conversions


def dense_of(array: SparseArray) -> Array:
    """All elements, as an ordinary array."""
    if array.layout is not sparse_coo:
        array = places_of(array)
    whole = coalesced(array)
    result: Array = np.zeros(whole.shape, whole.values.dtype)
    if not whole.sparse_dim:
        if whole.nnz:
            result[...] = whole.values[0]
        return result
    result[tuple(whole.indices)] = whole.values
    return result


def coo_of_dense(array: Array, sparse_dim: int) -> SparseArray:
    """The entries that are not zero; an entry is zero where all its dense part is."""
    used = array != 0
    if sparse_dim < array.ndim:
        used = used.any(axis=tuple(range(sparse_dim, array.ndim)))
    if not sparse_dim:
        count = 1 if bool(used) else 0
        values = np.array(array[None][:count])
        return coo(np.zeros((0, count), np.int64), values, array.shape, True)
    places = np.nonzero(used)
    return coo(np.stack(places).astype(np.int64), array[places], array.shape, True)


def places_of(array: SparseArray) -> SparseArray:
    """The entries of a compressed matrix by coordinates, in the order that they have there."""
    pointers, plain = array.indices
    by_rows = array.layout is sparse_csr
    lines = np.repeat(np.arange(array.shape[0 if by_rows else 1]), np.diff(pointers))
    plain = plain.astype(np.int64)
    indices = np.stack([lines, plain] if by_rows else [plain, lines]).astype(np.int64)
    return coo(indices, array.values, array.shape, array.coalesced and by_rows)


def csr_of_coo(array: SparseArray) -> SparseArray:
    """The same entries compressed by rows."""
    whole = coalesced(array)
    return csr(_pointers(whole, 0), whole.indices[1].copy(), whole.values, whole.shape)


def csc_of_coo(array: SparseArray) -> SparseArray:
    """The same entries compressed by columns."""
    whole = coalesced(array)
    order = np.argsort(whole.indices[1], kind="stable")
    indices = (_pointers(whole, 1), whole.indices[0][order])
    return SparseArray(sparse_csc, indices, whole.values[order], whole.shape, True)


def _pointers(whole: SparseArray, axis: int) -> Array:
    """Where the entries of each row, or of each column, begin."""
    pointers = np.zeros(whole.shape[axis] + 1, np.int64)
    counts = np.bincount(whole.indices[axis], minlength=whole.shape[axis])
    np.cumsum(counts, out=pointers[1:])
    return pointers


def compressed_of_coo(kind: layout, array: SparseArray) -> SparseArray:
    """The same entries in a compressed layout."""
    return csr_of_coo(array) if kind is sparse_csr else csc_of_coo(array)


def as_coo(array: SparseArray) -> SparseArray:
    """By coordinates, coalesced."""
    return coalesced(array if array.layout is sparse_coo else places_of(array))


def values_at(array: Array | SparseArray, indices: Array, sizes: tuple[int, ...]) -> Array:
    """The elements of a dense or sparse array at given places (zero where it has none)."""
    if not isinstance(array, SparseArray):
        found: Array = array[tuple(indices)] if len(indices) else array[None].repeat(
            indices.shape[1], 0
        )  # fmt: skip
        return found
    whole = as_coo(array)
    result = np.zeros((indices.shape[1], *whole.values.shape[1:]), whole.values.dtype)
    if not whole.nnz or not indices.shape[1]:
        return result
    if not sizes:
        result[...] = whole.values[0]
        return result
    known, wanted = flat_places(whole.indices, sizes), flat_places(indices, sizes)
    spots = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    hits = known[spots] == wanted
    result[hits] = whole.values[spots[hits]]
    return result


# ----------------------------------------------------------------------------------------- sums


def add_arrays(one: SparseArray | Array, two: SparseArray) -> Any:
    """The sum of two gradients: sparse if both are, else dense."""
    if not isinstance(one, SparseArray):
        one, two = two, one
    if not isinstance(two, SparseArray):
        return two + dense_of(one)
    made = add_sparse(one, two)
    made.kept = True
    return made


def add_sparse(one: SparseArray, two: SparseArray, alpha: float = 1) -> SparseArray:
    """The sum of two sparse arrays of one shape and one dtype."""
    scaled = two.values if alpha == 1 else two.values * np.asarray(alpha).astype(two.values.dtype)
    if one.layout is not sparse_coo:
        both = add_sparse(as_coo(one), coo(as_coo(two).indices, scaled, two.shape, True))
        return compressed_of_coo(one.layout, both)
    if one.indices.shape == two.indices.shape and np.array_equal(one.indices, two.indices):
        together = one.values | scaled if one.values.dtype == np.bool_ else one.values + scaled
        return coo(one.indices, together, one.shape, one.coalesced and two.coalesced)
    if one.nnz == 0 or two.nnz == 0:
        indices, values, whole = (
            (two.indices, scaled, two.coalesced)
            if one.nnz == 0
            else (one.indices, one.values, one.coalesced)
        )
        return coo(indices, values.astype(one.values.dtype), one.shape, whole)
    made = coo(
        np.concatenate([one.indices, two.indices], axis=1),
        np.concatenate([one.values, scaled.astype(one.values.dtype)]),
        one.shape,
        False,
    )
    return coalesced(made) if one.coalesced and two.coalesced else made


# ------------------------------------------------------------------------------------- products


# From the entry on that fewer rows than this have, what is left of each is a product of its own.
_FEW = 16


class Plan:
    """The entries of a matrix in the order of its rows (or columns).

    `rows` are numbered by falling length. `steps` is, for p = 0, 1, ..., the entry number p of all
    rows that have one: its place among the values, and its column. So each step is one gather,
    one product and one sum over many rows. A few rows may be much longer than the others: `tails`
    is what is left of them, by their rank.
    """

    __slots__ = ("rows", "steps", "tails")

    def __init__(self, rows: Array, columns: Array, height: int) -> None:
        lengths = np.bincount(rows, minlength=height)
        order: Any = None
        if rows.size > 1 and bool((rows[1:] < rows[:-1]).any()):
            order = np.argsort(rows, kind="stable")
        starts = np.cumsum(lengths) - lengths
        self.rows: Array = np.argsort(-lengths, kind="stable")
        falling, begin = lengths[self.rows], starts[self.rows]
        self.steps: list[tuple[Array, Array]] = []
        self.tails: list[tuple[int, Array, Array]] = []
        number = 0
        while True:
            count = int(np.searchsorted(-falling, -number, side="left"))
            if count < min(_FEW, height) or not count:
                break
            spots = begin[:count] + number
            spots = spots if order is None else order[spots]
            self.steps.append((spots, columns[spots]))
            number += 1
        for rank in range(count):
            spots = np.arange(begin[rank] + number, begin[rank] + falling[rank])
            spots = spots if order is None else order[spots]
            self.tails.append((rank, spots, columns[spots]))


def plan_of(array: SparseArray, transposed: bool) -> Plan:
    """How to walk a matrix by rows, or by columns; remembered with it."""
    if array.plans is None:
        array.plans = {}
    found: Plan | None = array.plans.get(transposed)
    if found is None:
        if array.layout is sparse_coo:
            check_bounds(array)
            rows, columns = array.indices[0], array.indices[1]
        else:
            rows, columns = places_of(array).indices
        height = array.shape[1] if transposed else array.shape[0]
        if transposed:
            rows, columns = columns, rows
        found = array.plans[transposed] = Plan(rows, columns, height)
    return found


def times_dense(array: SparseArray, other: Array, transposed: bool = False) -> Array:
    """The product of a sparse matrix, or of its transpose, and a dense matrix."""
    plan = plan_of(array, transposed)
    half = array.values.dtype in dtypes.HALF_TYPES
    values = array.values.astype(np.float32) if half else array.values
    other = other.astype(np.float32) if half else np.ascontiguousarray(other)
    height = plan.rows.shape[0]
    ranked: Array = np.zeros((height, other.shape[1]), np.result_type(values, other))
    for spots, columns in plan.steps:
        part = other.take(columns, axis=0) * values.take(spots)[:, None]
        ranked[: spots.size] += part
    for rank, spots, columns in plan.tails:
        ranked[rank] += values.take(spots) @ other.take(columns, axis=0)
    result = np.empty_like(ranked)
    result[plan.rows] = ranked
    return result.astype(array.values.dtype) if half else result


def times_sparse(one: SparseArray, two: SparseArray) -> SparseArray:
    """The product of two sparse matrices, sparse."""
    one, two = as_coo(one), as_coo(two)
    rows, middle = one.indices
    lengths = np.bincount(two.indices[0], minlength=two.shape[0])
    starts = np.zeros(two.shape[0] + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    counts = lengths[middle]
    left = np.repeat(np.arange(one.nnz), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    right = np.repeat(starts[middle], counts) + (np.arange(left.size) - first)
    indices = np.stack([rows[left], two.indices[1][right]])
    values = one.values[left] * two.values[right]
    return coalesced(coo(indices, values, (one.shape[0], two.shape[1]), False))


def products_at(indices: Array, one: Array, two: Array) -> Array:
    """The elements of ``one @ two.T`` at given places, without computing the others."""
    found: Array = np.einsum("ij,ij->i", one[indices[0]], two[indices[1]])
    return found
