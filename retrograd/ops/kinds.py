"""Annotations of op kernels, and small helpers that kernels and rules share.

`Array` is a tensor argument, `Operand` a tensor or a number, `Arrays` a sequence of tensors.
A helper that takes `m` first works on both faces (arrays and Tensors).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from retrograd.backend.arrays import Array as Array
from retrograd.backend.arrays import DType as DType
from retrograd.backend.arrays import Index as Index
from retrograd.backend.memory_order import as_it_lies
from retrograd.backend.namespace import Namespace as Namespace
from retrograd.ops import errors
from retrograd.ops.registry import RECORDED, Table
from retrograd.tensor import Tensor, wrap

Operand = Array | complex
Arrays = Sequence[Array]

# What a rule gets for several outputs: None for one that nothing came back to.
Gradients = Sequence[Tensor | None]

# What a caller gives: one number for all dimensions, or one for each.
Ints = int | Sequence[int]


def copy_to_write(xp: Namespace, array: Array) -> Array:
    """A copy in row-major order that can be written, also where NumPy made a 0-d array a number."""
    return xp.copy_in_rows(array)


def copy_as_it_lies(xp: Namespace, array: Array) -> Array:
    """The same in the memory order of the array, as PyTorch's `clone()` copies."""
    copy = xp.copy_in_rows(array)
    return as_it_lies(copy, array)


def operand(m: Table, array: Array) -> Tensor:
    """An array that a rule made, as its table takes it: as it is, or as a Tensor."""
    return wrap(array) if m is RECORDED else cast("Tensor", array)


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; 0-d tensors accept 0 and -1, as PyTorch's do."""
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise errors.dimension_range(dim, ndim)
    return dim + limit if dim < 0 else dim


def wrap_dims(dim: Ints | None, ndim: int) -> tuple[int, ...]:
    """Dimensions as a tuple counted from the front; None and () mean all of them."""
    if type(dim) is int:  # the common case, kept short
        only = wrap_dim(dim, ndim)
        return (only,) if ndim else ()
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    found = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(found)) != len(found):
        twice = next(d for d in found if found.count(d) > 1)
        raise errors.runtime_error(
            f"dim {twice} appears multiple times in the list of dims", code="RG205"
        )
    return found if ndim else ()


def restore_dims(
    m: Table, g: Tensor, shape: tuple[int, ...], dim: Ints | None, keepdim: bool
) -> Tensor:
    """Give a reduced gradient its reduced dimensions back, as size one."""
    if keepdim or not shape:
        return g
    dims = wrap_dims(dim, len(shape))
    if len(dims) == len(shape):
        return g  # a 0-d gradient broadcasts to anything
    for d in sorted(dims):
        g = m.unsqueeze(g, d)
    return g
