"""Running reductions along a dimension, and differences: cumsum, cumprod, cummax, diff."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.ops import errors
from retrograd.ops.elementwise.special import complex_logaddexp
from retrograd.ops.kinds import Array, DType, Namespace, wrap_dim
from retrograd.ops.reduction.reduce import cast_summands, cast_total, has_zeros
from retrograd.ops.registry import RECORDED, Table, composite, function_only, op, table_entry
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

nan, inf = math.nan, math.inf


def _along(*extra: Sample, distinct: bool = False) -> Callable[..., list[Sample]]:
    """Samples of a function of a tensor and a dimension."""

    def make() -> list[Sample]:
        found = [Sample(T(3, 4, distinct=distinct), dim) for dim in (0, 1, -1, -2)]
        found += [Sample(T(5), 0, dtypes=(*FLOATS, *HALVES)), Sample(T(), 0), Sample(T(), -1)]
        found += [Sample(T(2, 3, 2), dim=1), Sample(T(0, 3), 0, second=False)]
        found += [Sample(T(2, 0), 1, second=False)]
        found += [Sample(T(3, 1), 1), Sample(T(3), 1), Sample(T(3), -2)]
        return found + list(extra)

    return make


def _dtype_samples(dtype: str) -> list[Sample]:
    found = [Sample(T(3, dtype=name), 0, grad=False) for name in ("bool", "uint8", "int32")]
    found += [Sample(T(3), 0, dtype=f"dtype:{dtype}"), Sample(T(2, 3), 1, dtypes=COMPLEX)]
    return found


# ------------------------------------------------------------------------------- sum and product


def _reversed_cumsum(m: Table, g: Any, dim: int) -> Any:
    return m.flip(m.cumsum(m.flip(g, (dim,)), dim), (dim,))


def _recorded_reversed_cumsum(g: Tensor, dim: int) -> Tensor:
    found: Tensor = _reversed_cumsum(RECORDED, g, dim)
    return found


table_entry(
    "_reversed_cumsum",
    lambda xp, g, dim: _reversed_cumsum(xp.raw, g, dim),
    _recorded_reversed_cumsum,
)
compiled_first("_reversed_cumsum", "sum_to_end")


def reversed_cumsum(m: Table, g: Tensor, dim: int) -> Tensor:
    """Sums from each place to the end."""
    return m._reversed_cumsum(g, dim)


@op(
    input=lambda m, g, dim: reversed_cumsum(m, g, dim) if g.ndim else g,
    inplace=True,
    out=True,
    samples=_along(*_dtype_samples("float64"), Sample(T(values=[1.0, nan, inf, -inf]), 0)),
    forward="linear",
    lies="rows",
)
def cumsum(xp: Namespace, input: Array, dim: int, *, dtype: dtypes.dtype | None = None) -> Array:
    """Sum of the elements up to and including each place."""
    return _accumulate("cumsum", xp.cumsum, input, dim, dtype)


compiled_first(
    "cumsum",
    lambda input, dim, *, dtype=None: rows.running_sum(input, dim) if dtype is None else None,
)


@op(
    input=lambda m, g, input, out, dim: _cumprod_gradient(m, g, input, out, dim),
    inplace=True,
    out=True,
    samples=_along(
        *_dtype_samples("float64"),
        Sample(T(values=[[1.0, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0]]), 1),
        Sample(T(values=[[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]]), 0),
    ),
    lies="rows",
)
def cumprod(xp: Namespace, input: Array, dim: int, *, dtype: dtypes.dtype | None = None) -> Array:
    """Product of the elements up to and including each place."""
    return _accumulate("cumprod", xp.cumprod, input, dim, dtype)


def _accumulate(
    name: str,
    running: Callable[..., Array],
    input: Array,
    dim: int,
    dtype: dtypes.dtype | None,
) -> Array:
    axis = wrap_dim(dim, input.ndim)
    if dtype is dtypes.bool_ and input.ndim and input.size:
        raise errors.not_implemented_for(f"{name}_out_cpu", dtypes.B8)
    summands = cast_summands(input, dtype)
    if not summands.ndim:
        return cast_total(summands.copy(), dtype)
    wide = _WIDER.get(summands.dtype.char)
    if wide is None:
        return cast_total(running(summands, axis=axis, dtype=summands.dtype), dtype)
    # PyTorch keeps the running value of single precision in double precision
    return cast_total(running(summands, axis=axis, dtype=wide).astype(summands.dtype), dtype)


_WIDER = {"f": dtypes.F64, "F": dtypes.C128}


def _cumprod_gradient(m: Table, g: Tensor, input: Tensor, out: Tensor, dim: int) -> Tensor:
    """The quotient formula, or with zeros among the factors a recurrence without division.

    With P the product of what comes before a place and S = g + (next factor) * (next S), the sum
    over later outputs of g times their other factors there, the gradient is P * S.
    """
    if not input.ndim or input.shape[dim] <= 1:
        return g
    if not has_zeros(input):
        return m.div(reversed_cumsum(m, m.mul(out, g), dim), input)
    dim = wrap_dim(dim, input.ndim)
    count = input.shape[dim]
    later = m.select(g, dim, count - 1)
    sums = [later]
    for place in range(count - 2, -1, -1):
        later = m.add(m.select(g, dim, place), m.mul(m.select(input, dim, place + 1), later))
        sums.append(later)
    ones = m.ones_like(m.narrow(input, dim, 0, 1))
    before = m.cat([ones, m.cumprod(m.narrow(input, dim, 0, count - 1), dim)], dim)
    return m.mul(before, m.stack(sums[::-1], dim))


def _logcumsumexp_gradient(
    m: Table, g: Tensor, input: Tensor, out: Tensor, dim: int, input_dtype: DType
) -> Tensor:
    """exp(input) times the sum of later g * exp(-out), in logarithms; g by parts of each sign."""
    if not input.ndim:
        return g
    if input_dtype.kind == "c":  # where a logarithm knows the sign
        logarithm = m.flip(m.sub(m.log(g), out), (dim,))
        return m.exp(m.add(m.flip(m.logcumsumexp(logarithm, dim), (dim,)), input))
    lowest = dtypes.finfo(dtypes.float64 if input_dtype is dtypes.F64 else dtypes.float32).min
    magnitude = m.log(m.abs(g))
    parts = []
    for mask in (m.gt(g, 0), m.lt(g, 0)):
        logarithm = m.sub(m.where(mask, magnitude, lowest), out)
        later = m.flip(m.logcumsumexp(m.flip(logarithm, (dim,)), dim), (dim,))
        parts.append(m.exp(m.add(later, input)))
    return m.sub(*parts)


def _logcumsumexp_tangent(
    m: Table, tangent: Tensor, input: Tensor, out: Tensor, dim: int
) -> Tensor:
    """Each tangent so far, weighted by its share of the sum of exponentials."""
    if not input.shape:
        return tangent
    terms, sums, moves = (m.transpose(x, dim, -1) for x in (input, out, tangent))
    shares = m.exp(m.sub(m.unsqueeze(terms, -2), m.unsqueeze(sums, -1)))
    none = m.unsqueeze(m.isneginf(m.real(sums)), -1)  # no terms yet, so nothing to share
    shares = m.tril(m.masked_fill(shares, none, 0.0), 0)
    return m.transpose(m.squeeze(m.matmul(shares, m.unsqueeze(moves, -1)), -1), dim, -1)


def _complex_logcumsumexp(xp: Namespace, input: Array, axis: int) -> Array:
    result = xp.array(input)
    steps = xp.moveaxis(result, axis, 0)
    for place in range(1, len(steps)):
        steps[place] = complex_logaddexp(xp, steps[place - 1], steps[place])
    return result


@op(
    input=_logcumsumexp_gradient,
    forward=lambda m, tangents, input, out, dim: _logcumsumexp_tangent(
        m, tangents[0], input, out, dim
    ),
    lies="rows",
    out=True,
    samples=_along(
        Sample(T(values=[-inf, -inf, 1.0, 2.0]), 0, second=False),
        Sample(T(values=[1000.0, 0.0, -1000.0, 1001.0]), 0),
        Sample(T(3, dtype="int64"), 0, grad=False),
        Sample(T(3, 4), 1, dtypes=COMPLEX),
        Sample(T(), 0, dtypes=COMPLEX),
    ),
)
def logcumsumexp(xp: Namespace, input: Array, dim: int) -> Array:
    """Logarithm of the running sum of exponentials, without overflow."""
    axis = wrap_dim(dim, input.ndim)
    if input.dtype.kind in "biu":
        raise errors.not_implemented_for("logcumsumexp_out_cpu", input.dtype)
    if input.dtype.kind == "c" and input.ndim:
        return _complex_logcumsumexp(xp, input, axis)
    return xp.logaddexp_accumulate(input, axis=axis) if input.ndim else input.copy()


# ---------------------------------------------------------------------------------- max and min


@op(
    input=lambda m, g, index, dim: m.gather(g, dim, index),
    node_name="ScatterAddBackward0",
    half="move",
)
def _collect(xp: Namespace, input: Array, index: Array, dim: int) -> Array:
    """Zeros, with each element of the input added at its index along `dim`."""
    result = xp.zeros(input.shape, input.dtype)
    if not input.ndim:
        return result + input
    last = input.ndim - 1
    places = [xp.arange(n).reshape((n, *(1,) * (last - i))) for i, n in enumerate(input.shape)]
    places[wrap_dim(dim, input.ndim)] = index
    xp.add_at(result, tuple(places), input)
    return result


def _running(xp: Namespace, input: Array, dim: int, largest: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, input.ndim)
    if input.dtype.kind == "c":
        raise errors.not_implemented_for(f"cum{'max' if largest else 'min'}_cpu", input.dtype)
    if not input.ndim:
        return input.copy(), xp.zeros((), dtypes.I64)
    accumulate = xp.maximum_accumulate if largest else xp.minimum_accumulate
    values = accumulate(input, axis=axis)
    # among equals the latest place counts, and a nan, once met, stays the extreme
    new = (input == values) | ((input != input) & (values != values))
    shape = [1] * input.ndim
    shape[axis] = input.shape[axis]
    places = xp.where(new, xp.arange(input.shape[axis]).reshape(shape), 0)
    found = xp.maximum_accumulate(places, axis=axis)
    return xp.ascontiguousarray(values), xp.ascontiguousarray(found)


_RUNNING = _along(
    Sample(T(values=[1.0, 3.0, 3.0, 2.0, 3.0, 5.0]), 0),
    Sample(T(values=[1.0, nan, 2.0, nan, 0.0]), 0),
    Sample(T(3, 4, dtype="int64"), 1, grad=False),
    Sample(T(3, 4, dtype="bool"), 0, grad=False),
    Sample(T(3, dtype="complex64"), 0, grad=False),
    distinct=True,
)


@op(
    input=lambda m, g, out1, dim: m._collect(g[0], out1, dim),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.cummax,
    out=True,
    saved_names={"indices": "out1"},
    samples=_RUNNING,
)
def cummax(xp: Namespace, input: Array, dim: int) -> tuple[Array, Array]:
    """Largest element up to each place, and where it is."""
    return _running(xp, input, dim, True)


@op(
    input=lambda m, g, out1, dim: m._collect(g[0], out1, dim),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.cummin,
    out=True,
    saved_names={"indices": "out1"},
    samples=_RUNNING,
)
def cummin(xp: Namespace, input: Array, dim: int) -> tuple[Array, Array]:
    """Smallest element up to each place, and where it is."""
    return _running(xp, input, dim, False)


# ------------------------------------------------------------------- differences and trapezoids


def _diff_samples() -> list[Sample]:
    found = [Sample(T(5)), Sample(T(3, 4)), Sample(T(3, 4), 2), Sample(T(3, 4), 1, 0)]
    found += [Sample(T(3, 4), 0), Sample(T(3, 4), 5), Sample(T(3), 1, 1), Sample(T(), 1)]
    found += [Sample(T(3, 4), prepend=T(3, 1), append=T(3, 2)), Sample(T(3), -1)]
    found += [Sample(T(3, 4), dim=0, prepend=T(1, 4)), Sample(T(3, 4), n=2, append=T(3, 2))]
    found += [Sample(T(3, 4, dtype="bool"), grad=False), Sample(T(4, dtype="uint8"), grad=False)]
    found += [Sample(T(3, 4), 1, -1, T(4)), Sample(T(5), n=3, dtypes=COMPLEX)]
    return found


@composite(samples=_diff_samples)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along a dimension, `n` times over.

    >>> torch.diff(torch.tensor([1, 3, 6]))
    tensor([2, 3])
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    dim = wrap_dim(dim, input.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    ends = [end for end in (prepend, append) if end is not None]
    for end in ends:
        if end.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if ends and n:
        parts = [part for part in (prepend, input, append) if part is not None]
        input = RECORDED.cat(parts, dim)
    size = input.shape[dim]
    if n == 0 or n >= size:
        return RECORDED.clone(input if n == 0 else RECORDED.narrow(input, dim, 0, 0))
    for _ in range(n):
        earlier, later = _neighbours(input, dim)
        if input.dtype is dtypes.bool_:
            input = RECORDED.logical_xor(later, earlier)
        else:
            input = RECORDED.sub(later, earlier)
    return input


def _neighbours(y: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    size = y.shape[dim]
    return RECORDED.slice(y, dim, 0, size - 1, 1), RECORDED.slice(y, dim, 1, size, 1)


def _spacing(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """Distances of the sample points, in a shape that broadcasts along `dim` of y."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = RECORDED.reshape(x, (x.shape[0], *(1,) * (y.ndim - 1 - dim)))
    left, right = _neighbours(x, dim - y.ndim + x.ndim)
    return RECORDED.sub(right, left)


def _trapezoid_samples() -> list[Sample]:
    found = [Sample(T(5)), Sample(T(3, 4)), Sample(T(3, 4), dim=0), Sample(T(3, 4), dx=2.5)]
    found += [Sample(T(3, 4), T(4)), Sample(T(3, 4), T(3, 4)), Sample(T(3, 4), T(3), dim=0)]
    found += [Sample(T(3, 4), T(1, 4)), Sample(T(3, 1)), Sample(T(4), x=T(4))]
    found += [Sample(T(3, 4), T(3)), Sample(T(3), dim=1), Sample(T(4, dtype="int64"), grad=False)]
    return found


@function_only(public=("trapezoid", "trapz"), samples=_trapezoid_samples)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Integral along a dimension by the trapezoidal rule, at points `x` or `dx` apart."""
    dim = wrap_dim(dim, y.ndim)
    size = y.shape[dim]
    if size == 0:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])
    left, right = _neighbours(y, dim)
    if x is not None:
        both = RECORDED.mul(RECORDED.add(left, right), _spacing("trapezoid", y, x, dim))
        return RECORDED.div(RECORDED.sum(both, dim, False), 2.0)
    ends = RECORDED.add(RECORDED.select(y, dim, 0), RECORDED.select(y, dim, size - 1))
    inner = RECORDED.sub(RECORDED.sum(y, dim, False), RECORDED.mul(ends, 0.5))
    return RECORDED.mul(inner, dx)


@function_only(samples=_trapezoid_samples)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1
) -> Tensor:
    """Running integral along a dimension by the trapezoidal rule."""
    dim = wrap_dim(dim, y.ndim)
    left, right = _neighbours(y, dim)
    both = RECORDED.add(left, right)
    if x is not None:
        product = RECORDED.mul(both, _spacing("cumulative_trapezoid", y, x, dim))
        result: Tensor = RECORDED.div(RECORDED.cumsum(product, dim), 2.0)
    else:
        result = RECORDED.cumsum(RECORDED.mul(both, dx / 2.0), dim)
    return result
