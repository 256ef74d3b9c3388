"""Norms and distances: vector norms, dist, cdist, renorm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.above import above
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.notices import runtime_error
from retrograd.ops.errors import argument_type
from retrograd.ops.kinds import Array, Gradients, Ints, Namespace, restore_dims, wrap_dim, wrap_dims
from retrograd.ops.reduction.reduce import checked_dims
from retrograd.ops.registry import PUBLIC, RECORDED, Table, composite, function_only, inner_op, op
from retrograd.samples import COMPLEX, HALVES, Sample, T
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf


# --------------------------------------------------------------------------------- vector norms


def norm_gradient(
    m: Table, g: Tensor, input: Tensor, p: float, norm: Tensor, dim: Ints | None
) -> Tensor | None:
    """The gradient of a p-norm along `dim`; `g` and `norm` have the reduced dimensions as ones.

    At a zero norm it is zero, where the quotients below would be nan.
    """
    if p == 0:
        return None
    if p == 1:
        return m.mul(m.sgn(input), g)
    if p == 2:
        return m.mul(g, m.masked_fill(m.div(input, norm), m.eq(norm, 0), 0.0))
    magnitude = m.abs(input)
    if math.isinf(p):
        mask = m.logical_or(m.eq(magnitude, norm), m.isnan(magnitude))
        return m.mul(m.sgn(input), m.mul(m.div(g, m._count_true(mask, g, dim)), mask))
    if p < 1:
        power = m.masked_fill(m.pow(magnitude, p - 1), m.eq(input, 0), 0.0)
        return m.mul(m.mul(m.mul(m.sgn(input), power), g), m.pow(norm, 1 - p))
    if p < 2:
        scaled = m.mul(m.sgn(input), m.pow(magnitude, p - 1))
    else:
        scaled = m.mul(input, m.pow(magnitude, p - 2))
    return m.mul(scaled, m.masked_fill(m.div(g, m.pow(norm, p - 1)), m.eq(norm, 0), 0.0))


def _restored_norm_gradient(
    m: Table, g: Tensor, input: Tensor, ord: float, out: Tensor, dim: Ints | None, keepdim: bool
) -> Tensor | None:
    shape = input.shape
    g, norm = (restore_dims(m, value, shape, dim, keepdim) for value in (g, out))
    return norm_gradient(m, g, input, ord, norm, dim)


def vector_norm_of(
    xp: Namespace, input: Array, p: float, axes: tuple[int, ...], keepdims: bool
) -> Array:
    """The p-norm of an array along axes, in its own precision."""
    if p == 2 and input.dtype.kind == "f" and len(axes) == input.ndim and not keepdims:
        flat = input.ravel(order="K")
        return xp.sqrt(xp.dot(flat, flat))
    if p == 2:
        squares = xp.square(input.real) + xp.square(input.imag) if input.dtype.kind == "c" \
            else xp.square(input)  # fmt: skip
        return xp.sqrt(xp.sum(squares, axis=axes, keepdims=keepdims))
    magnitude = xp.abs(input)
    if p == 0:
        return xp.sum(magnitude != 0, axis=axes, keepdims=keepdims, dtype=magnitude.dtype)
    if p == 1:
        return xp.sum(magnitude, axis=axes, keepdims=keepdims)
    if math.isinf(p):
        return (xp.max if p > 0 else xp.min)(magnitude, axis=axes, keepdims=keepdims)
    powers = xp.power(magnitude, p, dtype=dtypes.F64)
    total = xp.sum(powers, axis=axes, keepdims=keepdims)
    return xp.power(total, 1 / p).astype(magnitude.dtype)


def _cast_for_norm(input: Array, dtype: dtypes.dtype | None) -> Array:
    found = dtypes.from_numpy_dtype(input.dtype)
    if found.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{found.type_name}"
        )
    if dtype is None:
        return input
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{dtype.type_name}"
        )
    if dtype.is_complex is not found.is_complex:
        kind = "complex" if found.is_complex else "real"
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
            f"{dtype.type_name}"
        )
    if dtypes.promote_types(found, dtype) is not dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({found.type_name}) should be "
            f"convertible without narrowing to the specified dtype ({dtype.type_name})"
        )
    return input.astype(dtype.numpy)


def _check_identity(
    p: float, shape: tuple[int, ...], dim: Ints | None, axes: tuple[int, ...]
) -> None:
    """Maxima and minima, and negative powers, of nothing are not defined."""
    if p >= 0 and p != inf:
        return
    start = f"linalg.vector_norm cannot compute the {p:g} norm on"
    if dim is None and 0 in shape:
        raise RuntimeError(
            f"{start} an empty tensor because the operation does not have an identity"
        )
    for axis in axes:
        if shape and not shape[axis]:
            raise RuntimeError(
                f"{start} the dimension {axis}because this dimension is empty and the operation "
                "does not have an identity"
            )


@inner_op(
    input=_restored_norm_gradient,
    forward="reduction",
    holomorphic=False,
    out="structured",
    saved_names={"dim": ("dim",)},
)
def linalg_vector_norm(
    xp: Namespace,
    input: Array,
    ord: float = 2,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Array:
    """The `ord`-norm of the elements along `dim`, taken as one vector."""
    axes = wrap_dims(dim, input.ndim)
    input = _cast_for_norm(input, dtype)
    _check_identity(ord, input.shape, dim if dim != () else None, axes)
    return vector_norm_of(xp, input, ord, axes, keepdim)


def _norm_samples() -> list[Sample]:
    found = [Sample(T(5)), Sample(T(3, 4)), Sample(T()), Sample(T(3, 4), 2, 0), Sample(T(0, 3))]
    orders: tuple[Any, ...] = (0, 0.5, 1, 1.5, 2, 2.5, 3, inf, -inf, -1, "fro", None)
    found += [Sample(T(3, 4), p) for p in orders]
    found += [Sample(T(3, 4), p, 1, True) for p in orders if p != "fro"]
    found += [Sample(T(2, 3, 2), p, (0, 2)) for p in (1, 2, 3, inf)]
    # zeros and ties: where the quotient formulas divide by zero
    zeros = [[0.0, 0.0, 0.0], [0.0, 2.0, -2.0], [3.0, 0.0, -3.0]]
    found += [Sample(T(values=zeros), p, 1, second=False) for p in (1, 1.5, 2, 3, inf, 0.5)]
    found += [Sample(T(values=[0.0, 0.0]), second=False), Sample(T(values=[1.0, nan]), inf)]
    found += [
        Sample(T(3, 4), "fro", 0),
        Sample(T(3, 4), "fro", (0, 1), True),
        Sample(T(3, 4), dim=0),
    ]
    found += [Sample(T(3, 4), p, dtypes=COMPLEX) for p in (1, 2, 3, inf, 0)]
    found += [Sample(T(3), 3, dtypes=HALVES), Sample(T(3), dtypes=HALVES), Sample(T(3), 2, 1)]
    found += [Sample(T(3), dtype="dtype:float64"), Sample(T(3), dtype="dtype:float16")]
    found += [
        Sample(T(0, 3), inf),
        Sample(T(0, 3), inf, 0),
        Sample(T(0, 3), -1),
        Sample(T(0, 3), 0),
    ]
    found += [
        Sample(T(3, dtype="int64"), grad=False),
        Sample(T(2, 3), "what"),
        Sample(T(2, 3), 2, ()),
    ]
    found += [
        Sample(T(2, 3), "nuc"),
        Sample(T(2, 3), "nuc", (0, 1), True),
        Sample(T(2, 3, 4), "nuc"),
    ]
    return found


@above
def sparse_norm(input: Tensor, p: object, dim: object, **options: object) -> Tensor:
    """The norm of a sparse tensor."""
    raise NotImplementedError


@composite(samples=_norm_samples, out="structured")
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of a tensor or along dimensions: "fro", "nuc", or a number, infinity too.

    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    if type(input._array) is SPARSE_ARRAY:
        return sparse_norm(input, p, dim, keepdim=keepdim, out=out, dtype=dtype)
    dim = checked_dims("norm", dim)
    dtype = dtypes.as_dtype(dtype, "norm")
    result: Tensor
    if isinstance(p, str) and (p != "fro" or (isinstance(dim, tuple) and len(dim) > 2)):
        dims = tuple(range(input.ndim)) if dim is None else dim
        matrix_norm = PUBLIC["linalg"]["matrix_norm"]
        result = matrix_norm(input, p, dims, keepdim, dtype=dtype)
        return result
    order = 2 if p is None or p == "fro" else p
    if dtype is input.dtype:
        dtype = None  # half precision is computed in float32, from which it would be narrowed
    result = RECORDED.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)
    return result


# ------------------------------------------------------------------------------------ distances


@op(
    input=lambda m, g, input, other, p, out: norm_gradient(m, g, m.sub(input, other), p, out, None),
    other=lambda m, g, input, other, p, out: (
        None if p == 0 else m.neg(norm_gradient(m, g, m.sub(input, other), p, out, None))
    ),
    promote=True,
    holomorphic=False,
    samples=lambda: [
        *(Sample(T(3, 4), T(3, 4), p) for p in (2, 1, 3, 1.5, 0.5, inf, -inf)),
        Sample(T(3), T(3), 0, grad=False),  # PyTorch fails to differentiate it
        *(Sample(T(3, 4), T(4)), Sample(T(), T()), Sample(T(3), T(3), p=3)),
        *(Sample(T(3, dtype="int64"), T(3, dtype="int64")), Sample(T(3), T(2))),
        *(Sample(T(3), T(3, dtype="float64")), Sample(T(3), T(3), dtypes=(*COMPLEX, *HALVES))),
        Sample(T(values=[1.0, 2.0]), T(values=[1.0, 2.0]), second=False),
    ],
)
def dist(xp: Namespace, input: Array, other: Array, p: float = 2) -> Array:
    """The p-norm of ``input - other``."""
    found = dtypes.from_numpy_dtype(input.dtype)
    if found.category < dtypes.FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{found.type_name} instead."
        )
    difference = xp.subtract(input, other)
    axes = tuple(range(difference.ndim))
    _check_identity(p, difference.shape, None, axes)
    return vector_norm_of(xp, difference, p, axes, False)


def _pairwise_gradient(
    m: Table, g: Tensor, x1: Tensor, x2: Tensor, p: float, out: Tensor
) -> Tensor | None:
    """The gradient with respect to every difference of a row of x1 and a row of x2."""
    difference = m.sub(m.unsqueeze(x1, -2), m.unsqueeze(x2, -3))
    g, out = m.unsqueeze(g, -1), m.unsqueeze(out, -1)
    if p == 0:
        return m.mul(m.zeros_like(difference), g)
    if p == inf:  # unlike a norm's, this gradient is not shared among ties
        return m.mul(m.mul(g, m.sgn(difference)), m.eq(m.abs(difference), out))
    return norm_gradient(m, g, difference, p, out, -1)


# elements of one block of differences, so that large inputs need little memory
_BLOCK = 1 << 22


@op(
    x1=lambda m, g, x1, x2, p, out: m.sum(_pairwise_gradient(m, g, x1, x2, p, out), -2, False),
    x2=lambda m, g, x1, x2, p, out: m.neg(
        m.sum(_pairwise_gradient(m, g, x1, x2, p, out), -3, False)
    ),
    autocast="float32",
    aten="_cdist_forward",
    event="cdist",
)
def _cdist(xp: Namespace, x1: Array, x2: Array, p: float) -> Array:
    batch = xp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    rows, columns = x1.shape[-2], x2.shape[-2]
    result = xp.empty((*batch, rows, columns), x1.dtype)
    one_row = math.prod(batch) * columns * x1.shape[-1]
    step = max(1, _BLOCK // max(1, one_row))
    axis = (len(batch) + 2,)
    for start in range(0, rows, step):
        part = x1[..., start : start + step, None, :] - x2[..., None, :, :]
        if part.shape[-1] == 0:
            result[..., start : start + step, :] = 0
        else:
            result[..., start : start + step, :] = vector_norm_of(xp, part, p, axis, False)
    return result


def _distance_ratio(m: Table, g: Tensor, out: Tensor) -> Tensor:
    return m.masked_fill(m.div(g, out), m.eq(out, 0), 0.0)


def _euclidean_gradients(
    m: Table, g: Tensor, needs: Sequence[bool], x1: Tensor, x2: Tensor, out: Tensor
) -> Gradients:
    ratio = _distance_ratio(m, g, out)
    first = second = None
    if needs[0]:
        first = m.sub(m.mul(x1, m.sum(ratio, -1, True)), m.matmul(ratio, x2))
    if needs[1]:
        total = m.unsqueeze(m.sum(ratio, -2, False), -1)
        second = m.sub(m.mul(x2, total), m.matmul(m.transpose(ratio, -1, -2), x1))
    return first, second


@op(
    gradients=_euclidean_gradients,
    differentiable=("x1", "x2"),
    node_name="EuclideanDistBackward0",
    event="cdist",
    autocast="float32",
    aten="_euclidean_dist",
)
def _euclidean_dist(xp: Namespace, x1: Array, x2: Array) -> Array:
    """All Euclidean distances by one matrix product: |a|² - 2 ab + |b|²."""
    squares1 = xp.sum(xp.square(x1), axis=-1, keepdims=True)
    squares2 = xp.sum(xp.square(x2), axis=-1)[..., None, :]
    products = xp.matmul(x1 * -2.0, xp.swapaxes(x2, -1, -2))
    return xp.sqrt(xp.maximum(products + squares1 + squares2, 0.0))


_EUCLIDEAN = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}


def _cdist_samples() -> list[Sample]:
    orders = (0, 0.5, 1, 1.5, 2, 3, inf)
    found = [Sample(T(3, 2), T(4, 2), p=p, second=False) for p in orders]
    found += [
        Sample(T(2, 3, 4), T(2, 5, 4), second=False),
        Sample(T(3, 4), T(2, 5, 4), second=False),
    ]
    found += [Sample(T(30, 3), T(4, 3)), Sample(T(3, 2), T(2, 2), 2.0, "use_mm_for_euclid_dist")]
    same = T(values=[[1.0, 2.0], [3.0, 4.0]])
    found += [Sample(same, same, p=p, second=False) for p in (0.5, 1, 1.5, 2, 3, inf)]
    found += [Sample(T(0, 3), T(2, 3), second=False), Sample(T(2, 0), T(3, 0), second=False)]
    found += [Sample(T(3), T(3, 3))]
    found += [
        Sample(T(2, 3), T(2, 4)),
        Sample(T(2, 3), T(2, 3), p=-1),
        Sample(T(2, 3), T(2, 3), 2, "x"),
    ]
    found += [
        Sample(T(2, 3, dtype="int64"), T(2, 3)),
        Sample(T(2, 3), T(2, 3, dtype="float64"), dtypes=("float32",)),
    ]
    return found


@function_only(samples=_cdist_samples, autocast="float32")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Distances between all rows of `x1` and all rows of `x2`, by the p-norm.

    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    for place, (name, given) in enumerate((("x1", x1), ("x2", x2)), 1):
        if not isinstance(given, Tensor):
            raise argument_type("cdist", name, place, "Tensor", given)
    for name, value in (("X1", x1), ("X2", x2)):
        if value.dtype.category != dtypes.FLOAT:
            raise runtime_error(
                f"cdist only supports floating-point dtypes, {name} got: {value.dtype.type_name}",
                code="RG304",
            )
        if value.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {value.ndim}D"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise runtime_error(
            f"expected scalar type {x1.dtype.type_name} but found {x2.dtype.type_name}",
            code="RG301",
        )
    if compute_mode not in _EUCLIDEAN:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    by_product = _EUCLIDEAN[compute_mode]
    if by_product is None:
        by_product = x1.shape[-2] > 25 or x2.shape[-2] > 25
    if p == 2 and by_product and 0 not in (*x1.shape, *x2.shape):
        result: Tensor = RECORDED._euclidean_dist(x1, x2)
    else:
        result = RECORDED._cdist(x1, x2, float(p))
    return result


# --------------------------------------------------------------------------------------- renorm


def _renorm_gradient(
    m: Table, g: Tensor, input: Tensor, p: float, dim: int, maxnorm: float
) -> Tensor:
    others = tuple(d for d in range(input.ndim) if d != wrap_dim(dim, input.ndim))
    norm = m.linalg_vector_norm(input, p, others, True)
    product = m.sum(m.mul(m.conj(input), g), others, True)
    if product.dtype is not norm.dtype:
        product = m.real(product)
    inner = norm_gradient(m, product, input, p, norm, others)
    assert inner is not None  # p is above zero
    inverse = m.reciprocal(m.add(norm, 1e-7))
    shrunk = m.mul(m.mul(inverse, maxnorm), m.sub(g, m.mul(inverse, inner)))
    return m.where(m.gt(norm, maxnorm), shrunk, g)


@op(
    input=_renorm_gradient,
    half="steps",
    holomorphic=False,
    inplace=True,
    lies="rows",
    out=True,
    samples=lambda: [
        *(Sample(T(3, 4), p, dim, 1.5) for p in (1, 2, 3, inf) for dim in (0, 1, -1)),
        *(
            Sample(T(2, 3, 4), 2, 1, 100.0),
            Sample(T(3, 4), 2, 0, -1.0),
            Sample(T(3, 4), -1, 0, 1.0),
        ),
        *(Sample(T(3), 2, 0, 1.0), Sample(T(3, 4), 2, 2, 1.0), Sample(T(0, 3), 2, 0, 1.0)),
        Sample(T(3, 4), 2, 0, 1.0, dtypes=(*COMPLEX, *HALVES)),
    ],
)
def renorm(xp: Namespace, input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Each slice along `dim` scaled down so that its p-norm is at most `maxnorm`."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    _cast_for_norm(input, None)
    others = tuple(d for d in range(input.ndim) if d != wrap_dim(dim, input.ndim))
    half = input.dtype in dtypes.HALF_TYPES
    norm = vector_norm_of(xp, input.astype(dtypes.F32) if half else input, p, others, True)
    factor = xp.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return xp.multiply(input, factor.astype(input.dtype if half else norm.dtype))
