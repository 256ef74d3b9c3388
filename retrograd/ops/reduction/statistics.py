"""Spread of values: variance, standard deviation, covariance, correlation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from retrograd import dtypes, samples
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Gradients, Ints, Namespace, restore_dims, wrap_dims
from retrograd.ops.reduction.reduce import add_along, checked_dims, count_along, spread_mean
from retrograd.ops.registry import RECORDED, Table, composite, function_only, inner_op
from retrograd.samples import COMPLEX, Sample, T
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf

# ---------------------------------------------------------------------------- variance as an op


def _variance_gradient(
    m: Table, g: Tensor, input: Tensor, dim: Ints | None, correction: float, keepdim: bool
) -> Tensor:
    """2 (x - mean) / (n - correction), times the gradient."""
    shape = input.shape
    freedom = count_along(shape, dim) - correction
    if dim is None or not shape:
        mean = m._mean_all(input)
        if freedom <= 0:
            return m.mul(g, m.where(m.eq(input, mean), nan, inf))
    else:
        mean = m.mean(input, dim, True)
    factor = 2.0 / freedom if freedom else inf
    scaled = m.mul(restore_dims(m, g, shape, dim, keepdim), factor)
    return m.mul(scaled, m.sub(input, mean))


def _deviation_gradient(
    m: Table,
    g: Tensor,
    input: Tensor,
    out: Tensor,
    dim: Ints | None,
    correction: float,
    keepdim: bool,
) -> Tensor:
    """Through the square root; where the deviation is zero the gradient is taken as zero."""
    through_root = m.masked_fill(m.div(g, m.mul(out, 2.0)), m.eq(out, 0), 0.0)
    return _variance_gradient(m, through_root, input, dim, correction, keepdim)


def _variance(
    xp: Namespace, input: Array, dim: Ints | None, correction: float, keepdim: bool
) -> tuple[Array, Array]:
    """Variance and mean, in two passes: the mean first, then the squared distances from it."""
    axes = wrap_dims(dim, input.ndim)
    count = count_along(input.shape, dim)
    mean = xp.divide(add_along(xp, input, axes, True), count)
    centred = xp.subtract(input, mean)
    if centred.dtype.kind == "c":
        squares = xp.square(centred.real) + xp.square(centred.imag)
    else:
        squares = xp.square(centred)
    total = add_along(xp, squares, axes, keepdim)
    # below zero degrees of freedom: a division by zero, as at zero
    freedom = count - correction
    variance = xp.divide(total, freedom if freedom > 0 else 0.0)
    return variance, mean if keepdim else xp.squeeze(mean, axes)


@inner_op(
    input=_variance_gradient,
    forward="reduction",
    holomorphic=False,
    out=True,
    aten="var.correction",
    saved_names={"dim": ("dim",)},
)
def var(xp: Namespace, input: Array, dim: Ints | None, correction: float, keepdim: bool) -> Array:
    """Variance with ``n - correction`` degrees of freedom."""
    return _variance(xp, input, dim, correction, keepdim)[0]


@inner_op(
    input=_deviation_gradient,
    forward="reduction",
    holomorphic=False,
    out=True,
    aten="std.correction",
    saved_names={"dim": ("dim",)},
)
def std(xp: Namespace, input: Array, dim: Ints | None, correction: float, keepdim: bool) -> Array:
    """Standard deviation with ``n - correction`` degrees of freedom."""
    return xp.sqrt(_variance(xp, input, dim, correction, keepdim)[0])


def _with_mean_gradient(
    m: Table,
    g: Gradients,
    input: Tensor,
    spread: Callable[[Tensor], Tensor],
    dim: Ints | None,
    keepdim: bool,
) -> Tensor:
    """The gradient of (spread, mean): either part may be missing."""
    parts = [] if g[0] is None else [spread(g[0])]
    if g[1] is not None:
        parts.append(spread_mean(m, g[1], tuple(input.shape), dim, keepdim))
    return parts[0] if len(parts) == 1 else m.add(*parts)


@inner_op(
    input=lambda m, g, input, dim, correction, keepdim: _with_mean_gradient(
        m,
        g,
        input,
        lambda part: _variance_gradient(m, part, input, dim, correction, keepdim),
        dim,
        keepdim,
    ),
    holomorphic=False,
    outputs=2,
    aten="var_mean.correction",
    saved_names={"dim": ("dim",)},
)
def var_mean(
    xp: Namespace, input: Array, dim: Ints | None, correction: float, keepdim: bool
) -> tuple[Array, Array]:
    """Variance and mean."""
    return _variance(xp, input, dim, correction, keepdim)


@inner_op(
    input=lambda m, g, input, out0, dim, correction, keepdim: _with_mean_gradient(
        m,
        g,
        input,
        lambda part: _deviation_gradient(m, part, input, out0, dim, correction, keepdim),
        dim,
        keepdim,
    ),
    holomorphic=False,
    outputs=2,
    saved_names={"result0": "out0", "dim": ("dim",)},
    aten="std_mean.correction",
)
def std_mean(
    xp: Namespace, input: Array, dim: Ints | None, correction: float, keepdim: bool
) -> tuple[Array, Array]:
    """Standard deviation and mean."""
    variance, mean = _variance(xp, input, dim, correction, keepdim)
    return xp.sqrt(variance), mean


# ------------------------------------------------------------------------- the public functions


def _spread_function(
    name: str,
    input: Tensor,
    dim: Any,
    unbiased: bool | None,
    keepdim: bool,
    correction: float | None,
    out: Tensor | None = None,
) -> Any:
    """The forms var(unbiased), var(dim, unbiased, keepdim) and var(dim, correction=, keepdim=)."""
    if isinstance(dim, bool):  # x.var(False): the old form without a dimension
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes `unbiased` or `correction`, not both")
    if unbiased is not None:
        correction = 1 if unbiased else 0
    elif correction is None:
        correction = 1
    dim = checked_dims(name, dim, keepdim)
    if dim == ():
        dim = None
    if not isinstance(input, Tensor):
        raise errors.argument_type(name, "input", 1, "Tensor", input)
    if input.dtype.category < dtypes.FLOAT:
        subject = name if name.endswith("_mean") else "std and var"
        raise errors.runtime_error(
            f"{subject} only support floating point and complex dtypes", code="RG304"
        )
    shape = input._array.shape
    if count_along(shape, dim) - correction <= 0:
        axes = wrap_dims(dim, len(shape))
        if math.prod(n for d, n in enumerate(shape) if d not in axes):
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                "the reduction factor (input numel divided by output numel).",
                UserWarning,
                stacklevel=user_level(),
            )
    function = getattr(RECORDED, name)
    if out is not None:
        return function(input, dim, correction, keepdim, out=out)
    return function(input, dim, correction, keepdim)


def _spread_samples() -> list[Sample]:
    found = [Sample(T(5)), Sample(T(3, 4)), Sample(T(3, 4), False), Sample(T(3, 4), True)]
    found += samples.reduction(extra=[])()[3:6]
    found += [Sample(T(2, 3, 4), (0, 2)), Sample(T(2, 3, 4), (0, -1), False, True)]
    found += [Sample(T(3, 4), 0, False), Sample(T(3, 4), 1, True, True)]
    found += [Sample(T(3, 4), (), grad=False)]  # PyTorch's gradient is infinite here
    found += [Sample(T(3, 4), dim=0, unbiased=False, keepdim=True), Sample(T(3, 4), unbiased=False)]
    found += [Sample(T(3, 4), correction=c) for c in (0, 2, 0.5)]
    found += [Sample(T(3, 4), 1, correction=0, keepdim=True), Sample(T(3, 4), keepdim=True)]
    found += [Sample(T(3, 4), axis=1), Sample(T(3, 4), 2), Sample(T(3, 4), None)]
    found += [Sample(T()), Sample(T(), 0), Sample(T(1)), Sample(T(3, 1), 1), Sample(T(0, 3), 0)]
    found += [Sample(T(0)), Sample(T(3), correction=3), Sample(T(2, 3), 1, correction=4)]
    found += [Sample(T(values=[2.0, 2.0, 2.0])), Sample(T(values=[[1.0, 1.0], [1.0, 3.0]]), 1)]
    found += [Sample(T(values=[1.0, nan, inf]), second=False), Sample(T(3, 4), dtypes=COMPLEX)]
    found += [Sample(T(3, 4), 1, dtypes=COMPLEX), Sample(T(3, dtype="int64"), grad=False)]
    found += [Sample(T(6), dtypes=("float16", "bfloat16"))]
    return found


@composite(samples=_spread_samples)
def _var(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Variance, of all elements or along dimensions; by default with n - 1 in the denominator.

    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    >>> torch.tensor([1.0, 2.0, 3.0]).var(correction=0)
    tensor(0.6667)
    """
    dim = dim if axis is None else axis
    result: Tensor = _spread_function(
        "var", input, dim, unbiased, keepdim or keepdims, correction, out
    )
    return result


@composite(samples=_spread_samples)
def _std(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Standard deviation, of all elements or along dimensions (see `var`).

    >>> torch.tensor([1.0, 2.0, 3.0]).std()
    tensor(1.)
    """
    dim = dim if axis is None else axis
    result: Tensor = _spread_function(
        "std", input, dim, unbiased, keepdim or keepdims, correction, out
    )
    return result


@function_only(samples=_spread_samples)
def _var_mean(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]:
    """Variance and mean, as a pair."""
    dim = dim if axis is None else axis
    result: tuple[Tensor, Tensor] = _spread_function(
        "var_mean", input, dim, unbiased, keepdim or keepdims, correction
    )
    return result


@function_only(samples=_spread_samples)
def _std_mean(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Ints | None = None,
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean, as a pair."""
    dim = dim if axis is None else axis
    result: tuple[Tensor, Tensor] = _spread_function(
        "std_mean", input, dim, unbiased, keepdim or keepdims, correction
    )
    return result


# ------------------------------------------------------------------- covariance and correlation


def _check_weights(name: str, weights: Tensor, count: int, integral: bool) -> None:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.ndim} dimensions"
        )
    if (weights.dtype.category == dtypes.INTEGER) is not integral:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.type_name} dtype"
        )
    if weights._array.size != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {weights._array.size} != {count}"
        )
    if (weights._elements() < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _cov_samples() -> list[Sample]:
    counts = T(values=[1, 2, 3, 4], dtype="int64")
    found = [Sample(T(3, 4)), Sample(T(4)), Sample(T()), Sample(T(3, 4), correction=0)]
    found += [Sample(T(3, 4), correction=4), Sample(T(3, 4), fweights=counts), Sample(T(2, 3, 4))]
    found += [Sample(T(3, 4), aweights=T(4, low=0.5, grad=False)), Sample(T(3, 4, dtype="int64"))]
    found += [Sample(T(3, 4), fweights=counts, aweights=T(4, low=0.5, grad=False))]
    found += [Sample(T(3, 4), fweights=T(4)), Sample(T(3, 5), fweights=counts)]
    found += [Sample(T(3, 4), fweights=T(values=[1, 2, 3, -1], dtype="int64"))]
    found += [Sample(T(3, 4), dtypes=COMPLEX)]
    return found


@composite(samples=_cov_samples)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariance matrix of variables (rows) over observations (columns), optionally weighted.

    >>> torch.cov(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    table = input if input.ndim == 2 else RECORDED.reshape(input, (1, input._array.size))
    count = table.shape[1]
    weights: Any = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, False)
        weights = aweights if weights is None else RECORDED.mul(weights, aweights)
    total: Any = count if weights is None else weights.sum()
    if weights is not None and not bool(total != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    weighted = table if weights is None else RECORDED.mul(table, weights)
    mean = RECORDED.div(RECORDED.sum(weighted, 1, False), total)
    if aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    if bool(freedom <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "number of observations.",
            UserWarning,
            stacklevel=user_level(),
        )
        freedom = 0
    centred = RECORDED.sub(table, RECORDED.unsqueeze(mean, 1))
    other = centred if weights is None else RECORDED.mul(centred, weights)
    product = RECORDED.mm(centred, other.t().conj())
    return RECORDED.div(product, freedom).squeeze()


@composite(
    samples=lambda: [
        *(Sample(T(3, 4)), Sample(T(4)), Sample(T()), Sample(T(2, 3, 4))),
        Sample(T(3, 5), dtypes=COMPLEX),
    ]
)
def corrcoef(input: Tensor) -> Tensor:
    """Correlation matrix of variables (rows) over observations (columns)."""
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    matrix = cov(input)
    result: Tensor
    if not matrix.ndim:
        return matrix / matrix
    diagonal = matrix.diag()
    deviation = (diagonal.real if diagonal.is_complex() else diagonal).sqrt()
    matrix = matrix / deviation.view(-1, 1) / deviation.view(1, -1)
    if matrix.is_complex():
        real, imaginary = (part.clamp(-1, 1) for part in (matrix.real, matrix.imag))
        result = RECORDED._make_complex(real, imaginary)
    else:
        result = matrix.clamp(-1, 1)
    return result
