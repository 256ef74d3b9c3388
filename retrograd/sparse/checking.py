"""Whether indices, values and size fit together; and `check_sparse_tensor_invariants`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from retrograd import dtypes
from retrograd.engine import sparse_sums as sums
from retrograd.engine.sparse_array import Array, coo
from retrograd.notices import explained, runtime_error
from retrograd.sparse.graph import names_of
from retrograd.tensor.size import layout, sparse_csr


class _Checks:
    """Whether constructors look at every index, unless they are told by `check_invariants`."""

    enabled = False


CHECKS = _Checks()

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _bad(message: str) -> Exception:
    return runtime_error(message, code="RG211")


def check_coo(
    indices: Array, values: Array, size: Any, check: bool, is_coalesced: bool | None
) -> tuple[int, ...]:
    """The shape of a COO tensor of these parts; an error if they do not fit."""
    if indices.ndim != 2:
        if size is None:
            raise _bad(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
        sparse_dim, dense_dim = indices.shape[0], values.ndim - 1
        if sparse_dim + dense_dim != len(size):
            raise _dimensions(len(size), sparse_dim, dense_dim)
        raise _bad(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sparse_dim, nnz = indices.shape
    dense_dim = values.ndim - 1
    if size is not None and len(size) != sparse_dim + dense_dim:
        raise _dimensions(len(size), sparse_dim, dense_dim)
    if nnz != values.shape[0]:
        raise _bad(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from "
            f"values: {values.shape[0]}"
        )
    if size is None:
        shape = _inferred(indices, values)
    else:
        shape = tuple(int(length) for length in size)
        if any(length < 0 for length in shape):
            raise _bad("numel: integer multiplication overflow")
        expected = [nnz, *shape[sparse_dim:]]
        if list(values.shape) != expected:
            raise _bad(f"values has incorrect size, expected {expected}, got {list(values.shape)}")
    if check:
        made = coo(indices, values, shape, False)
        sums.check_bounds(made)
        if is_coalesced and nnz:
            places = sums.flat_places(indices, shape[:sparse_dim])
            if bool((places[1:] <= places[:-1]).any()):
                raise _bad(
                    "cannot set is_coalesced to true if indices correspond to uncoalesced COO "
                    "tensor"
                )
    return shape


def _dimensions(length: int, sparse_dim: int, dense_dim: int) -> Exception:
    return _bad(
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {length}, sparse_dim "
        f"= {sparse_dim}, dense_dim = {dense_dim}"
    )


def _inferred(indices: Array, values: Array) -> tuple[int, ...]:
    """The smallest shape that has all the places."""
    if not indices.shape[1]:
        return (*(0,) * indices.shape[0], *values.shape[1:])
    for axis, row in enumerate(indices):
        if row.min() < 0:
            raise _bad(f"found negative index {int(row.min())} for dim {axis}")
    return (*(int(row.max()) + 1 for row in indices), *values.shape[1:])


def check_compressed(
    kind: layout, pointers: Array, plain: Array, values: Array, size: Any, check: bool
) -> tuple[int, ...]:
    """The shape of a compressed matrix of these parts; an error if they do not fit."""
    by_rows = kind is sparse_csr
    starts, others = names_of(kind)
    lines, across = ("row", "col") if by_rows else ("column", "row")
    if pointers.ndim != 1 or plain.ndim != 1 or values.ndim != 1:
        raise explained(
            NotImplementedError(
                f"retrograd does not support {kind.name}_tensor with batches or dense dimensions: "
                f"{starts}, {others} and values have {pointers.ndim}, {plain.ndim} and "
                f"{values.ndim} dimensions, not one each"
            ),
            code="RG901",
        )
    if size is None:
        width = int(plain.max()) + 1 if plain.size else 0
        shape: tuple[int, ...] = (pointers.shape[0] - 1, width)
        shape = shape if by_rows else shape[::-1]
    else:
        shape = tuple(int(length) for length in size)
        if len(shape) != 2:
            raise _bad(f"size must have 2 dimensions here, but got {len(shape)}")
    if pointers.dtype.kind not in "iu" or plain.dtype.kind not in "iu":
        raise _bad(
            f"{starts} and {others} must be an int32 or int64 type, but got: "
            f"{dtypes.from_numpy_dtype(pointers.dtype).type_name}"
        )
    height, width = shape if by_rows else shape[::-1]
    if check and pointers.dtype != plain.dtype:
        one, two = (dtypes.from_numpy_dtype(x.dtype).type_name for x in (pointers, plain))
        raise _bad(
            f"{starts} and {others} must have the same dtype, bot got {one} and {two}, respectively"
        )
    # without `check` PyTorch takes anything here and may crash later
    if pointers.shape[0] != height + 1:
        raise _bad(
            f"{starts}.shape[-1] must be equal to the number of {lines}s + 1 "
            f"(={height + 1}), but got {pointers.shape[0]}"
        )
    if plain.shape[0] != values.shape[0]:
        raise _bad(
            f"{others}.shape[-1] must be equal to nnz (={values.shape[0]}) as defined by "
            f"values.shape[0], but got {plain.shape[0]}"
        )
    if pointers[0] != 0:
        raise _bad(f"`{starts}[..., 0] == 0` is not satisfied.")
    if pointers[-1] != plain.shape[0]:
        raise _bad(f"`{starts}[..., -1] == nnz` is not satisfied.")
    if plain.size and not (plain.min() >= 0 and plain.max() < width):
        raise _bad(f"`0 <= {others} < n{across}s` is not satisfied.")
    lengths = np.diff(pointers)
    if bool((lengths < 0).any()) or (check and not ascending(pointers, plain)):
        count = "nrows" if by_rows else "ncols"
        raise _bad(
            f"`{others}[..., {starts}[..., i - 1]:{starts}[..., i]] for all i = 1, ..., "
            f"{count} are sorted and distinct along the last dimension values` is not satisfied."
        )
    return shape


def ascending(rows: Array, columns: Array) -> bool:
    """Whether the columns of each row come in order, each once."""
    if columns.size < 2:
        return True
    falls = np.flatnonzero(columns[1:] <= columns[:-1]) + 1
    return bool(np.isin(falls, rows).all())


class check_sparse_tensor_invariants:
    """Check the indices of every sparse tensor that is made: a context, a decorator, a switch.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.0], (2,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5...
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked."""
        return CHECKS.enabled

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        CHECKS.enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check indices from now on."""
        CHECKS.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state = CHECKS.enabled
        CHECKS.enabled = self.state

    def __exit__(self, *exception: object) -> None:
        assert self.saved_state is not None
        CHECKS.enabled, self.saved_state = self.saved_state, None

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
