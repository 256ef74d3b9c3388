"""Batches of matrices: transposes on both faces, checks, and errors of those that fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from retrograd import dtypes
from retrograd.backend import CPU, backend_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.products import type_name
from retrograd.ops.registry import PUBLIC, Table
from retrograd.tensor import Tensor

I32 = dtypes.int32.numpy


class _LinAlgError(RuntimeError):
    """A matrix that an algorithm cannot work with: singular, not positive-definite, not finite."""


LinAlgError = _LinAlgError
PUBLIC.setdefault("linalg", {})["LinAlgError"] = LinAlgError


# ------------------------------------------------------------------------------- on both faces


def mT(m: Table, x: Tensor) -> Tensor:
    """The matrices transposed."""
    return m.transpose(x, -2, -1)


def mH(m: Table, x: Tensor) -> Tensor:
    """The matrices transposed and conjugated."""
    return m.conj(m.transpose(x, -2, -1))


def column(m: Table, x: Tensor) -> Tensor:
    """Vectors as matrices of one column; a factor for the rows of a matrix."""
    return m.unsqueeze(x, -1)


def row(m: Table, x: Tensor) -> Tensor:
    """Vectors as matrices of one row; a factor for the columns of a matrix."""
    return m.unsqueeze(x, -2)


# -------------------------------------------------------------------------------------- checks


def require(function: str, name: str, position: int, value: object) -> Array:
    """The array of an argument that must be a tensor."""
    if not isinstance(value, Tensor):
        raise errors.argument_type(function, name, position, "Tensor", value)
    return value._array


def check_field(name: str, array: Array, kernel: str | None = None) -> None:
    """Floating point or complex, of full precision; `kernel` names what lacks the others."""
    if array.dtype not in dtypes.DIFFERENTIABLE:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {type_name(array)}"
        )
    if array.dtype in dtypes.WIDER:
        if kernel is not None:
            raise errors.not_implemented_for(kernel, array.dtype)
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {type_name(array)}")


def check_kernel(kernel: str, array: Array) -> None:
    """Floating point or complex, of full precision, in the words of PyTorch's kernels."""
    if array.dtype not in dtypes.DIFFERENTIABLE or array.dtype in dtypes.WIDER:
        raise errors.not_implemented_for(kernel, array.dtype)


def check_matrix(name: str, array: Array, argument: str = "A") -> None:
    """At least two dimensions."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, array: Array) -> None:
    """A square matrix or a batch of them, with elements that can be divided."""
    check_matrix(name, array)
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} "
            "matrices"
        )


def matrices(
    function: str,
    name: str,
    value: object,
    square: bool = True,
    kernel: str | None = None,
) -> Array:
    """All checks of a function of one (batch of) matrices."""
    array = require(function, "A", 1, value)
    check_field(name, array, kernel)
    if square:
        check_square(name, array)
    else:
        check_matrix(name, array)
    return array


def batch_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The batch dimensions of two operands together."""
    try:
        return CPU.xp.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        raise errors.broadcast(a, b) from None


def first_failure(info: Array) -> tuple[str, int] | None:
    """The first entry of `info` that is not zero, with words for its place in the batch."""
    if not info.any():
        return None
    place = int(backend_of(info).xp.flatnonzero(info)[0])
    where = f"(Batch element {place}): " if info.ndim else ""
    return where, int(info.reshape(-1)[place])


def raise_singular(name: str, info: Array) -> None:
    """Raise if some inverse does not exist."""
    failure = first_failure(info)
    if failure is not None:
        where, element = failure
        raise errors.explained(
            LinAlgError(
                f"{name}: {where}The diagonal element {element} is zero, the inversion could not "
                "be completed because the input matrix is singular."
            ),
            code="RG502",
        )


def places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The index of every matrix of a batch of this shape."""
    return itertools.product(*map(range, shape))


def one_by_one(
    xp: Namespace,
    function: Callable[[Array], Sequence[Array]],
    matrix: Array,
    *shapes: tuple[int, ...],
) -> list[Array]:
    """Results of `function` for each matrix of a batch; nan where it raises LinAlgError."""
    lead = matrix.shape[:-2]
    found = [xp.full((*lead, *shape), xp.nan, matrix.dtype) for shape in shapes]
    for place in places(lead):
        try:
            results = function(matrix[place])
        except xp.linalg.LinAlgError:
            continue
        for target, result in zip(found, results, strict=True):
            target[place] = result
    return found
