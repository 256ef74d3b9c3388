"""Trigonometry and hyperbolic functions, with atan2 and hypot."""

from __future__ import annotations

import math
from collections.abc import Callable

from retrograd import dtypes, samples
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import Table, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[0.0, -0.0, 1.0, -1.0, _INF, -_INF, _NAN]), second=False)
_ANYWHERE = samples.unary(dtypes=_EVERY, extra=[_POINTS])
_INSIDE = samples.unary(-0.9, 0.9, dtypes=_EVERY, extra=[_POINTS])

# ---------------------------------------------------------------------------------- sin, cos, tan


@op(
    input=lambda m, g, input: m.mul(g, m.cos(input)),
    ufunc="sin",
    float_result=True,
    samples=_ANYWHERE,
)
def sin(xp: Namespace, input: Array) -> Array:
    """Sine of every element."""
    return xp.sin(input)


@op(
    input=lambda m, g, input: m.mul(g, m.neg(m.sin(input))),
    ufunc="cos",
    float_result=True,
    samples=_ANYWHERE,
)
def cos(xp: Namespace, input: Array) -> Array:
    """Cosine of every element."""
    return xp.cos(input)


@op(
    input=lambda m, g, out: m.mul(g, m.add(m.pow(out, 2), 1)),
    ufunc="tan",
    float_result=True,
    samples=samples.unary(-1.3, 1.3, dtypes=_EVERY, extra=[_POINTS]),
)
def tan(xp: Namespace, input: Array) -> Array:
    """Tangent of every element."""
    return xp.tan(input)


@op(
    input=lambda m, g, input: m.mul(g, m.rsqrt(m.rsub(m.mul(input, input), 1))),
    ufunc="arcsin",
    float_result=True,
    public=("asin", "arcsin"),
    samples=_INSIDE,
)
def asin(xp: Namespace, input: Array) -> Array:
    """Inverse sine of every element; nan outside [-1, 1]."""
    return xp.arcsin(input)


@op(
    input=lambda m, g, input: m.mul(g, m.neg(m.rsqrt(m.rsub(m.mul(input, input), 1)))),
    ufunc="arccos",
    float_result=True,
    public=("acos", "arccos"),
    samples=_INSIDE,
)
def acos(xp: Namespace, input: Array) -> Array:
    """Inverse cosine of every element; nan outside [-1, 1]."""
    return xp.arccos(input)


@op(
    input=lambda m, g, input: m.div(g, m.add(m.mul(input, input), 1)),
    ufunc="arctan",
    float_result=True,
    public=("atan", "arctan"),
    samples=_ANYWHERE,
)
def atan(xp: Namespace, input: Array) -> Array:
    """Inverse tangent of every element."""
    return xp.arctan(input)


# --------------------------------------------------------------------------- sinh, cosh, inverses


@op(
    input=lambda m, g, input: m.mul(g, m.cosh(input)),
    ufunc="sinh",
    float_result=True,
    samples=_ANYWHERE,
)
def sinh(xp: Namespace, input: Array) -> Array:
    """Hyperbolic sine of every element."""
    return xp.sinh(input)


@op(
    input=lambda m, g, input: m.mul(g, m.sinh(input)),
    ufunc="cosh",
    float_result=True,
    samples=_ANYWHERE,
)
def cosh(xp: Namespace, input: Array) -> Array:
    """Hyperbolic cosine of every element."""
    return xp.cosh(input)


@op(
    input=lambda m, g, input: m.mul(g, m.rsqrt(m.add(m.pow(input, 2), 1))),
    ufunc="arcsinh",
    float_result=True,
    public=("asinh", "arcsinh"),
    samples=_ANYWHERE,
)
def asinh(xp: Namespace, input: Array) -> Array:
    """Inverse hyperbolic sine of every element."""
    return xp.arcsinh(input)


@op(
    input=lambda m, g, input: m.mul(g, m.rsqrt(m.sub(m.pow(input, 2), 1))),
    ufunc="arccosh",
    float_result=True,
    public=("acosh", "arccosh"),
    samples=samples.unary(1.1, 4, dtypes=_EVERY, extra=[_POINTS]),
)
def acosh(xp: Namespace, input: Array) -> Array:
    """Inverse hyperbolic cosine of every element; nan below 1."""
    return xp.arccosh(input)


@op(
    input=lambda m, g, input: m.div(g, m.rsub(m.pow(input, 2), 1)),
    ufunc="arctanh",
    float_result=True,
    public=("atanh", "arctanh"),
    samples=_INSIDE,
)
def atanh(xp: Namespace, input: Array) -> Array:
    """Inverse hyperbolic tangent of every element; nan outside [-1, 1]."""
    return xp.arctanh(input)


# -------------------------------------------------------------------------------- two arguments


def _check_atan2(input: Operand, other: Operand) -> None:
    found = dtypes.result_dtype([input, other])
    if found.is_complex:
        raise errors.not_implemented_for("atan2_cpu", found.numpy)


def _atan2_share(m: Table, input: Tensor, other: Tensor) -> Tensor:
    """1 / (input^2 + other^2), and 0 at the origin, where no direction is right."""
    square = m.add(m.mul(input, input), m.mul(other, other))
    return m.where(m.eq(square, 0), 0, m.reciprocal(square))


@op(
    input=lambda m, g, input, other: m.mul(m.mul(g, other), _atan2_share(m, input, other)),
    other=lambda m, g, input, other: m.mul(m.mul(g, m.neg(input)), _atan2_share(m, input, other)),
    ufunc="arctan2",
    float_result=True,
    check=_check_atan2,
    public=("atan2", "arctan2"),
    samples=samples.binary(
        numbers=(),
        extra=[
            Sample(T(values=[0.0, 1, -0.0, 0]), T(values=[0.0, 0, -1, -1])),
            Sample(T(values=[_INF, -_INF, 1, _NAN]), T(values=[_INF, 1, -_INF, 1]), second=False),
            Sample(T(3), 2, error=(TypeError, "")),
            Sample(T(3), T(3), dtypes=COMPLEX),
        ],
    ),
)
def atan2(xp: Namespace, input: Array, other: Array) -> Array:
    """The angle of the point (other, input), in (-pi, pi]."""
    return xp.arctan2(input, other)


def _check_hypot(input: Operand, other: Operand) -> None:
    found = dtypes.result_dtype([input, other])
    if not found.is_floating_point:
        raise errors.not_implemented_for("hypot_cpu", found.numpy)


@op(
    input=lambda m, g, input, out: m.mul(g, m.div(input, out)),
    other=lambda m, g, other, out: m.mul(g, m.div(other, out)),
    ufunc="hypot",
    promote=True,
    check=_check_hypot,
    inplace=True,
    out=True,
    samples=samples.binary(
        numbers=(),
        extra=[
            Sample(T(values=[0.0, 1, _INF, 3]), T(values=[0.0, 0, _NAN, 4]), second=False),
            Sample(T(3), 2, error=(TypeError, "")),
            Sample(T(3), T(3), dtypes=COMPLEX),
        ],
    ),
)
def hypot(xp: Namespace, input: Array, other: Array) -> Array:
    """``sqrt(input**2 + other**2)`` without overflow in between."""
    return xp.hypot(input, other)


# ---------------------------------------------------------------------------------------- degrees


def _check_degrees(name: str) -> Callable[..., None]:
    def check(input: Array) -> None:
        if input.dtype.kind == "c":
            raise errors.runtime_error(
                f"{name} is not supported for complex tensors.", code="RG304"
            )

    return check


@op(
    input=lambda m, g: m.mul(g, math.pi / 180),
    float_result=True,
    check=_check_degrees("deg2rad"),
    samples=samples.unary(-360, 360, dtypes=_EVERY),
)
def deg2rad(xp: Namespace, input: Array) -> Array:
    """Degrees as radians."""
    return xp.multiply(input, math.pi / 180)


@op(
    input=lambda m, g: m.mul(g, 180 / math.pi),
    float_result=True,
    check=_check_degrees("rad2deg"),
    samples=samples.unary(dtypes=_EVERY),
)
def rad2deg(xp: Namespace, input: Array) -> Array:
    """Radians as degrees."""
    return xp.multiply(input, 180 / math.pi)
