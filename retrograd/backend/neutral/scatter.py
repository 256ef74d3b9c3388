"""Sums and other reductions into indexed places, with repeated indices handled right.

NumPy's `ufunc.at` on a flat array with flat integer indices runs at about a nanosecond per element;
on rows, or through any other form of index, it is ten times slower. So everything here first turns
its index into flat positions. Repeated places are reduced one after the other in the order given,
as in PyTorch's sequential code: results do not change from run to run.

`add_at`, `embedding_gradient` and `scatter_reduce(..., "sum")` are linear in their data arguments;
the adjoint of adding values at an index is reading that index.
"""

from __future__ import annotations

from math import prod
from types import EllipsisType
from typing import Any

import numpy as np

from retrograd.backend.arrays import Index
from retrograd.backend.device import is_array
from retrograd.backend.namespace import Namespace

from .folding import Array, narrow, widen

# Rows at least this wide are added one by one: the work in a row then outweighs the loop.
_WIDE_ROW = 512

# Positions made at a time when whole rows are added: bounds the memory they take.
_BLOCK_ELEMENTS = 1 << 18

# the function that reduces two values, by the name of the reduction
_REDUCTIONS = {
    "sum": "add",
    "mean": "add",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


def check_bounds(
    xp: Namespace, index: Array, size: int, dimension: int, wrap: bool = False
) -> Array:
    """The index as int64, or an IndexError that names the first value outside `size`.

    Values from `-size` to -1 count from the end where `wrap` is true; elsewhere they are outside.

    >>> check_bounds(np, np.array([0, 7]), 3, 0)
    Traceback (most recent call last):
    IndexError: index 7 is out of bounds for dimension 0 with size 3
    """
    index = index.astype(xp.int64, copy=False)
    if index.size == 0:
        return index
    lowest = index.min()
    if index.max() >= size or lowest < (-size if wrap else 0):
        outside = (index >= size) | (index < (-size if wrap else 0))
        first = int(index[outside].reshape(-1)[0])
        raise IndexError(
            f"index {first} is out of bounds for dimension {dimension} with size {size}"
        )
    return xp.where(index < 0, index + size, index) if lowest < 0 else index


def add_at(xp: Namespace, target: Array, index: Array | Index, values: Array) -> Array:
    """`target[index] += values` in place, with every repetition of an index counted.

    `index` is what NumPy indexes with: an integer or boolean array for the first dimensions, or a
    tuple that may hold slices, `None` and an ellipsis too. Values broadcast. Returns `target`.

    >>> from retrograd.backend import CPU
    >>> add_at(CPU.xp, np.zeros(3), np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]))
    array([4., 0., 2.])
    """
    parts: Any = index if isinstance(index, tuple) else (index,)
    parts = tuple(xp.asarray(part) if isinstance(part, list) else part for part in parts)
    integer = [is_array(part) and part.dtype.kind in "iu" for part in parts]
    parts = _checked_parts(xp, target.shape, parts)
    if not any(integer):
        target[parts] += values  # slices and masks name no place twice
        return target
    flat, work = _flat_work(xp, target)
    if all(integer):
        rows = xp.broadcast_arrays(*parts) if len(parts) > 1 else parts
        named = target.shape[: len(parts)]
        inner = target.shape[len(parts) :]
        row = rows[0] if len(rows) == 1 else xp.ravel_multi_index(rows, named)
        spread = xp.broadcast_to(values, (*row.shape, *inner))
        xp.add_rows(flat, row.reshape(-1), spread.reshape(row.size, prod(inner)))
    else:
        positions = _positions_of(xp, target.shape, parts)
        spread = xp.broadcast_to(values, positions.shape)
        xp.add_at(flat, positions.reshape(-1), spread.reshape(-1).astype(flat.dtype, copy=False))
    if work is not target:
        target[...] = narrow(work, target.dtype)
    return target


def embedding_gradient(
    xp: Namespace,
    indices: Array,
    grads: Array,
    num_rows: int,
    padding_index: int | None = None,
    scale_by_frequency: bool = False,
) -> Array:
    """Sum rows of gradients by index: `(*index, *row)` to `(num_rows, *row)`. Linear in `grads`.

    Rows at `padding_index` are left out. With `scale_by_frequency` each row is divided by the
    number of times that its index occurs.

    >>> from retrograd.backend import CPU
    >>> embedding_gradient(CPU.xp, np.array([1, 1]), np.array([[1.0], [2.0]]), 2)
    array([[0.],
           [3.]])
    """
    rows = check_bounds(xp, indices, num_rows, 0).reshape(-1)
    inner = grads.shape[indices.ndim :]
    values = widen(grads).reshape(rows.size, prod(inner))
    if padding_index is not None:
        keep = rows != padding_index
        if not keep.all():
            rows, values = rows[keep], values[keep]
    if scale_by_frequency:
        counts = xp.bincount(rows, minlength=num_rows)[rows]
        values = values / counts[:, None].astype(values.dtype)
    result: Array = xp.zeros(num_rows * prod(inner), values.dtype)
    xp.add_rows(result, rows, values)
    return narrow(result, grads.dtype).reshape(num_rows, *inner)


def gather(xp: Namespace, input: Array, dim: int, index: Array) -> Array:
    """Read `input` along `dim` at `index`. Linear in `input`; the adjoint is `scatter_reduce` by
    sum into zeros.

    >>> gather(np, np.array([[1, 2], [3, 4]]), 1, np.array([[1], [0]]))
    array([[2],
           [3]])
    """
    return xp.take(input.reshape(-1), flat_positions(xp, input.shape, dim, index))


def scatter(xp: Namespace, target: Array, dim: int, index: Array, values: Array) -> Array:
    """A copy of `target` with `values` put along `dim` at `index`; the last one given wins.

    >>> scatter(np, np.zeros(3), 0, np.array([2, 0]), np.array([5.0, 6.0]))
    array([6., 0., 5.])
    """
    result = target.copy(order="C")
    positions = flat_positions(xp, target.shape, dim, index)
    result.reshape(-1)[positions] = _matching(values, index)
    return result


def scatter_reduce(
    xp: Namespace,
    target: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    include_self: bool = True,
) -> Array:
    """A copy of `target` where each place named along `dim` by `index` is reduced with the source
    values sent there: `"sum"`, `"prod"`, `"mean"`, `"amax"` or `"amin"`.

    Without `include_self` the target's own value does not take part where anything arrives.
    A nan wins over every number in `"amax"` and `"amin"`.

    >>> from retrograd.backend import CPU
    >>> scatter_reduce(CPU.xp, np.ones(2), 0, np.array([0, 0]), np.array([2.0, 4.0]), "mean", False)
    array([3., 1.])
    """
    operation = _REDUCTIONS.get(reduce)
    if operation is None:
        raise ValueError(f"reduce must be one of {', '.join(_REDUCTIONS)}, not {reduce!r}")
    places = flat_positions(xp, target.shape, dim, index).reshape(-1)
    wide = widen(target)
    result = wide.astype(wide.dtype, order="C", copy=True)
    flat = result.reshape(-1)
    if not include_self:
        flat[places] = _identity(xp, reduce, flat.dtype)
    values = widen(_matching(source, index)).reshape(-1).astype(flat.dtype, copy=False)
    xp.reduce_at(operation, flat, places, values)
    if reduce == "mean":
        counts = xp.bincount(places, minlength=flat.size)
        if include_self:
            counts += 1
        counts = xp.maximum(counts, 1).astype(flat.dtype, copy=False)
        divide = xp.floor_divide if flat.dtype.kind in "iub" else xp.divide
        divide(flat, counts, out=flat)
    return narrow(result, target.dtype)


def flat_positions(xp: Namespace, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Where the places named by `index` along `dim` lie in a flattened array of that shape.

    Elsewhere than along `dim` an index reaches from the start of the dimension, possibly not to its
    end; it has as many dimensions as the array.

    >>> flat_positions(np, (2, 3), 1, np.array([[2, 0], [1, 1]]))
    array([[2, 0],
           [4, 4]])
    """
    if not shape:
        return check_bounds(xp, index, 1, 0)
    dim %= len(shape)
    positions = check_bounds(xp, index, shape[dim], dim)
    step = 1
    for axis in reversed(range(len(shape))):
        if axis == dim:
            positions = positions * step
        step *= shape[axis]
    step = 1
    for axis in reversed(range(len(shape))):
        if axis != dim and shape[axis] != 1:
            along = [1] * len(shape)
            along[axis] = index.shape[axis]
            positions = positions + (xp.arange(index.shape[axis]) * step).reshape(along)
        step *= shape[axis]
    return positions


def add_rows(xp: Namespace, flat: Array, rows: Array, values: Array) -> None:
    """Add row `i` of `values` to row `rows[i]` of a flat array of equal rows, in place."""
    width = values.shape[1]
    values = values.astype(flat.dtype, copy=False)
    if width == 1:
        xp.add_at(flat, rows, values.reshape(-1))
        return
    if width >= _WIDE_ROW:
        table = flat.reshape(-1, width)
        for row, value in zip(rows.tolist(), values, strict=True):
            table[row] += value
        return
    inside = xp.arange(width)
    step = max(1, _BLOCK_ELEMENTS // max(1, width))
    for start in range(0, len(rows), step):
        chosen = slice(start, start + step)
        positions = rows[chosen][:, None] * width + inside
        xp.add_at(flat, positions.reshape(-1), values[chosen].reshape(-1))


def _flat_work(xp: Namespace, target: Array) -> tuple[Array, Array]:
    """A flat view to accumulate in, and the array it views: the target itself where it can be."""
    work = widen(target)
    if not work.flags.c_contiguous:
        work = xp.ascontiguousarray(work)
    return work.reshape(-1), work


def _checked_parts(xp: Namespace, shape: tuple[int, ...], parts: Index) -> Index:
    """The parts of an index with integer arrays in bounds and counted from the start.

    As in PyTorch an error counts the dimension among those that arrays index.
    """
    taken = sum(
        part.ndim if is_array(part) and part.dtype.kind == "b" else 1
        for part in parts
        if part is not None and part is not Ellipsis
    )
    axis = counted = 0
    checked: list[int | slice | EllipsisType | Array | None] = []
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - taken
        elif is_array(part) and part.dtype.kind == "b":
            axis += part.ndim
            counted += part.ndim
        elif part is not None:
            if is_array(part):
                part = check_bounds(xp, part, shape[axis], counted, wrap=True)
                counted += 1
            axis += 1
        checked.append(part)
    return tuple(checked)


def _positions_of(xp: Namespace, shape: tuple[int, ...], index: Index) -> Array:
    """The flat positions that `array[index]` would read, for any index NumPy takes.

    Each coordinate is read through the same index from an array that repeats it without memory.
    """
    positions: Array | None = None
    step = 1
    for axis in reversed(range(len(shape))):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        coordinates = (xp.arange(shape[axis]) * step).reshape(along)
        part = xp.broadcast_to(coordinates, shape)[index]
        positions = part if positions is None else positions + part
        step *= shape[axis]
    assert positions is not None, "an array without dimensions has no integer index"
    return positions


def _matching(values: Array, index: Array) -> Array:
    """The leading part of `values` that `index` has places for."""
    if values.shape == index.shape:
        return values
    return values[tuple(slice(size) for size in index.shape)]


def _identity(xp: Namespace, reduce: str, dtype: np.dtype) -> Any:
    """The value that a reduction leaves unchanged."""
    if reduce == "prod":
        return 1
    if reduce in ("sum", "mean"):
        return 0
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = xp.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -xp.inf if reduce == "amax" else xp.inf
