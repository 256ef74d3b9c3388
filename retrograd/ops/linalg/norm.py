"""Norms of matrices and vectors, and the condition number, in PyTorch's `linalg` forms."""

from __future__ import annotations

from math import inf
from typing import Any

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.ops.kinds import Ints, wrap_dim
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.linalg.matrices import check_field, check_matrix, check_square, require
from retrograd.ops.linalg.products import type_name
from retrograd.ops.linalg.spectral import singular_values
from retrograd.ops.registry import RECORDED, linalg_function
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_FIELDS = (*FLOATS, *COMPLEX)
_MATRIX_ORDERS: tuple[Any, ...] = ("fro", "nuc", inf, -inf, 1, -1, 2, -2)


@linalg_function(
    samples=lambda: [
        *(Sample(T(3, 4), p) for p in (0, 1, 2, 3, 0.5, inf, -inf, -1)),
        Sample(T(3, 4), dtypes=(*_FIELDS, *HALVES)),
        Sample(T(2, 3, 4), 2, (0, 2), True),
        Sample(T(3, 4), 3, dim=-1),
        Sample(T(3, 4), dtype="dtype:float64"),
        Sample(T(3, 4, dtype="int64"), grad=False),
    ]
)
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The `ord`-norm of the elements along `dim` (all of them by default), as one vector."""
    if isinstance(x, Tensor) and dtype is x.dtype:
        dtype = None  # half precision is computed in float32, from which it would be narrowed
    return RECORDED.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


def _converted(name: str, A: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    """The input in the dtype to compute in, which may not lose anything."""
    if dtype is None:
        return A
    wanted, own = dtypes.as_dtype(dtype, name), dtypes.from_numpy_dtype(A._array.dtype)
    assert wanted is not None
    if wanted.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {wanted.type_name}"
        )
    if wanted.is_complex is not own.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(
            f"{name}: dtype should be {kind} for {kind} inputs, but got {wanted.type_name}"
        )
    if dtypes.promote_types(own, wanted) is not wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({own.type_name}) should be convertible without "
            f"narrowing to the specified dtype ({wanted.type_name})"
        )
    return A.to(wanted)


def _spectral_norm(A: Tensor, ord: object, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """A norm of the singular values: their sum, largest or smallest."""
    ndim = A._array.ndim
    rest = tuple(d for d in range(ndim) if d not in dims)
    values = singular_values(RECORDED.permute(A, rest + dims))
    if ord == "nuc":
        result: Tensor = RECORDED.sum(values, -1, False)
    elif ord == 2:
        result = RECORDED.amax(values, -1, False) if values._array.shape[-1] else _zero(values)
    else:
        result = RECORDED.amin(values, -1, False)
    if keepdim:
        for dim in sorted(dims):
            result = RECORDED.unsqueeze(result, dim)
    return result


def _zero(values: Tensor) -> Tensor:
    return RECORDED.sum(values, -1, False)


def _matrix_norm(
    A: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    name = "linalg.matrix_norm"
    array = require("linalg_matrix_norm", "A", 1, A)
    check_matrix(name, array)
    if array.dtype not in dtypes.DIFFERENTIABLE:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {type_name(array)}"
        )
    if isinstance(dim, int) or len(dim) != 2:
        if isinstance(dim, int):
            raise TypeError(
                "linalg_matrix_norm() received an invalid combination of arguments - got (Tensor, "
                "dim=int), but expected one of:"
            )
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {_listed(dim)}")
    dims = (wrap_dim(dim[0], array.ndim), wrap_dim(dim[1], array.ndim))
    if dims[0] == dims[1]:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, inf):
        raise RuntimeError(f"{name}: Order {ord:g} not supported.")
    if ord == "fro":
        return RECORDED.linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype)
    A = _converted(name, A, dtype)
    if ord == "nuc" or abs(ord) == 2:
        check_field(name, A._array)
        return _spectral_norm(A, ord, dims, keepdim)
    # sums along one dimension, then the extreme one along the other
    summed, chosen = dims if abs(ord) == 1 else dims[::-1]
    sums = RECORDED.linalg_vector_norm(A, 1, (summed,), keepdim)
    if not keepdim and summed < chosen:
        chosen -= 1
    return (RECORDED.amax if ord > 0 else RECORDED.amin)(sums, chosen, keepdim)


def _listed(values: Any) -> str:
    return "(" + ", ".join(str(value) for value in values) + ")"


@linalg_function(
    samples=lambda: [
        *(Sample(T(3, 4), p, dtypes=_FIELDS) for p in _MATRIX_ORDERS),
        *(Sample(T(2, 3, 4), p, (0, 2)) for p in _MATRIX_ORDERS),
        *(Sample(T(2, 3, 4), p, (-1, 0), True) for p in _MATRIX_ORDERS),
        Sample(T(3, 4), dtypes=HALVES),
        Sample(T(3, 4), 1, dtypes=HALVES),
        Sample(T(3, 4), 2, dtypes=HALVES),
        Sample(T(3, 4), dtype="dtype:float64"),
        Sample(T(3, 4), 2, dtype="dtype:float64"),
        Sample(T(0, 2)),
        Sample(T(0, 2), 2, grad=False),
        Sample(T(3, 4, dtype="int64"), grad=False),
        Sample(T(2), error=(RuntimeError, "linalg.matrix_norm: The input tensor A must")),
        Sample(T(2, 2), 3, error=(RuntimeError, "linalg.matrix_norm: Order 3 not")),
        Sample(T(2, 2), "foo", error=(RuntimeError, "linalg.matrix_norm: Order foo not")),
        Sample(T(2, 2), dim=(0, 0), error=(RuntimeError, "linalg.matrix_norm: dims must be")),
        Sample(T(2, 2), dim=0, error=(TypeError, "linalg_matrix_norm() received an")),
    ]
)
def matrix_norm(
    A: Tensor,
    ord: float | str | None = "fro",
    dim: Ints | None = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of matrices: "fro", "nuc", or 1, 2, infinity and their negatives.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return finish("linalg_matrix_norm", _matrix_norm(A, ord, dim, keepdim, dtype), out)


@linalg_function(
    samples=lambda: [
        Sample(T(3, 4), dtypes=(*_FIELDS, *HALVES)),
        Sample(T(5)),
        Sample(T()),
        Sample(T(2, 3, 4)),
        *(Sample(T(3, 4), p) for p in _MATRIX_ORDERS),
        *(Sample(T(5), p) for p in (0, 1, 2, 3.5, inf, -inf)),
        *(Sample(T(3, 4), p, 1) for p in (0, 1, 2, 3, inf)),
        Sample(T(2, 3, 4), None, (0, 1, 2)),
        Sample(T(2, 3, 4), 1, (0, 2), True),
        Sample(T(2, 3, 4), "fro", (0, 2)),
        Sample(T(3, 4), dim=0),
        Sample(T(3, 4), 2, dtype="dtype:float64"),
        Sample(T(2, 2, 2), "fro", error=(RuntimeError, "linalg.norm: If dim is not spec")),
        Sample(T(2, 2, 2), 2, error=(RuntimeError, "linalg.norm: If dim is not spec")),
        Sample(T(2), "fro", error=(RuntimeError, "linalg.matrix_norm: The input tensor A")),
        Sample(T(2, 2), 2, (0, 1, 2), error=(RuntimeError, "linalg.norm: If dim is spec")),
        Sample(T(2, 2, dtype="int64"), grad=False),
        Sample(T(2, 2), dtype="dtype:int64", grad=False),
    ]
)
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """A norm of a vector (one dimension) or a matrix (two), or of all elements."""
    array = require("linalg_norm", "A", 1, A)
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if ord is None:
        result: Tensor = RECORDED.linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype)
        return finish("linalg_norm", result, out)
    if dims is None and array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{array.ndim}D."
        )
    if isinstance(ord, str):
        result = _matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype)
    elif len(dims) == 2 if dims is not None else array.ndim == 2:
        result = _matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype)
    else:
        result = RECORDED.linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)
    return finish("linalg_norm", result, out)


# ----------------------------------------------------------------------------- condition number


def _cond(A: Tensor, p: Any) -> Tensor:
    array = require("linalg_cond", "A", 1, A)
    check_matrix("linalg.cond", array)
    if not isinstance(p, str) and p is not None and abs(p) not in (1, 2, inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p:g}")
    if p is None or p in (2, -2):
        check_field("linalg.svd", array, "linalg_svd_cpu")
        values = singular_values(A)
        count = values._array.shape[-1]
        if not count:
            return wrap(backend_of(array).xp.zeros(array.shape[:-2], values._array.dtype))
        largest = RECORDED.narrow(values, -1, 0, 1)
        smallest = RECORDED.narrow(values, -1, count - 1, 1)
        ratio = smallest / largest if p == -2 else largest / smallest
        return RECORDED.squeeze(ratio, -1)
    if array.shape[-1] != array.shape[-2]:
        shown = p if isinstance(p, str) else f"{p:g}"
        check_square(f"linalg.cond(ord={shown})", array)
    check_field("linalg.inv", array)
    if not array.size:
        real = dtypes.from_numpy_dtype(array.dtype).to_real().numpy
        return wrap(backend_of(array).xp.zeros(array.shape[:-2], real))
    own = _matrix_norm(A, p, (-2, -1), False, None)
    inverse, info = RECORDED.linalg_inv_ex(A)
    singular = RECORDED.unsqueeze(RECORDED.unsqueeze(RECORDED.gt(info, 0), -1), -1)
    inverse = RECORDED.masked_fill(inverse, singular, inf)
    product = own * _matrix_norm(inverse, p, (-2, -1), False, None)
    return RECORDED.nan_to_num(product, inf, inf, -inf)


@linalg_function(
    samples=lambda: [
        *(Sample(T(values=[[3.0, 1.0], [-0.5, 2.0]]), p) for p in (None, 2, -2)),
        # PyTorch overwrites what its own gradient would need
        *(
            Sample(T(values=[[3.0, 1.0], [-0.5, 2.0]]), p, grad=False)
            for p in ("fro", "nuc", inf, -inf, 1, -1)
        ),
        Sample(T(3, 3), dtypes=COMPLEX),
        Sample(T(2, 3, 3)),
        Sample(T(2, 3, 3), 1, grad=False),
        Sample(T(3, 4)),
        Sample(T(values=[[1.0, 1.0], [1.0, 1.0]]), 1, grad=False),
        Sample(T(2, 0, 0), grad=False),
        Sample(T(3, 3), dtypes=HALVES),
        Sample(T(2, 3), 1, error=(RuntimeError, "linalg.cond(ord=1): A must be batches")),
        Sample(T(2, 3), 3, error=(RuntimeError, "linalg.cond got an invalid norm type: 3")),
    ],
    autocast="float32",
)
def cond(A: Tensor, p: float | Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """How much solving with this matrix can magnify an error: norm times norm of the inverse."""
    return finish("linalg_cond", _cond(A, p), out)
