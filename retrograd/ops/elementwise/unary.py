"""Exponentials, logarithms and the sigmoid family: functions of one operand."""

from __future__ import annotations

import math

from retrograd import samples
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_SMALL = 1024  # elements up to which whole arrays are faster than cache-sized pieces
_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[0.0, -0.0, 1.0, -1.0, _INF, -_INF, _NAN]), second=False)

# --------------------------------------------------------------------------------- exponentials


@op(
    input=lambda m, g, out: m.mul(g, out),
    ufunc="exp",
    float_result=True,
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
)
def exp(xp: Namespace, input: Array) -> Array:
    """e to the power of every element."""
    return xp.exp(input)


@op(
    input=lambda m, g, out: m.mul(m.mul(g, out), math.log(2)),
    float_result=True,
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.exp2",),
)
def exp2(xp: Namespace, input: Array) -> Array:
    """2 to the power of every element."""
    return xp.power(2, input) if input.dtype.kind == "c" else xp.exp2(input)


@op(
    input=lambda m, g, out: m.mul(g, m.add(out, 1)),
    ufunc="expm1",
    float_result=True,
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.expm1",),
)
def expm1(xp: Namespace, input: Array) -> Array:
    """``exp(input) - 1``, exact also near zero."""
    return xp.expm1(input)


# ----------------------------------------------------------------------------------- logarithms

_LOG_SAMPLES = samples.unary(0.2, 4, dtypes=_EVERY, extra=[_POINTS])


@op(input=lambda m, g, input: m.div(g, input), ufunc="log", float_result=True, samples=_LOG_SAMPLES)
def log(xp: Namespace, input: Array) -> Array:
    """Natural logarithm of every element."""
    return xp.log(input)


@op(
    input=lambda m, g, input: m.div(g, m.mul(input, math.log(2))),
    ufunc="log2",
    float_result=True,
    samples=_LOG_SAMPLES,
)
def log2(xp: Namespace, input: Array) -> Array:
    """Logarithm to base 2 of every element."""
    return xp.log2(input)


@op(
    input=lambda m, g, input: m.div(g, m.mul(input, math.log(10))),
    ufunc="log10",
    float_result=True,
    samples=_LOG_SAMPLES,
)
def log10(xp: Namespace, input: Array) -> Array:
    """Logarithm to base 10 of every element."""
    return xp.log10(input)


@op(
    input=lambda m, g, input: m.div(g, m.add(input, 1)),
    ufunc="log1p",
    float_result=True,
    samples=samples.unary(-0.7, 4, dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.log1p",),
)
def log1p(xp: Namespace, input: Array) -> Array:
    """``log(1 + input)``, exact also near zero."""
    result = xp.log1p(input)
    if input.dtype.kind != "c":
        return result
    # NumPy loses small real parts: the squared length less one is x * (x + 2) + y * y
    x, y = input.real, input.imag
    length = xp.log1p(x * (x + 2) + y * y) / 2
    small = xp.logical_and(xp.abs(x) < 0.5, xp.abs(y) < 0.5)
    return xp.where(small, length + 1j * xp.arctan2(y, x + 1), result).astype(input.dtype)


# ------------------------------------------------------------------------------- sigmoid, tanh


@op(
    grad=lambda m, g, output: m.mul(m.mul(g, output), m.rsub(output, 1)),
    output=lambda m, g, grad, output: m.mul(m.mul(g, grad), m.rsub(m.mul(output, 2), 1)),
    elementwise=True,
)
def _sigmoid_gradient(xp: Namespace, grad: Array, output: Array) -> Array:
    """``grad * output * (1 - output)``."""
    result = xp.subtract(1.0, output)
    return xp.multiply(xp.multiply(result, output), grad)


@op(
    input=lambda m, g, out: m._sigmoid_gradient(g, out),
    float_result=True,
    samples=samples.unary(
        dtypes=_EVERY,
        extra=[_POINTS, Sample(T(values=[-1000.0, 1000.0, -88.0, 20.0]), second=False)],
    ),
    second_names=("special.expit",),
)
def sigmoid(xp: Namespace, input: Array) -> Array:
    """``1 / (1 + exp(-input))``, elementwise."""
    if input.dtype.kind == "c":
        return xp.reciprocal(xp.add(1, xp.exp(xp.negative(input))))
    if input.size > _SMALL:
        return xp.expit(input)
    return xp.divide(1.0, xp.add(xp.exp(xp.negative(input)), 1.0))


@op(
    grad=lambda m, g, output: m._tanh_gradient(g, output),
    output=lambda m, g, grad, output: m.mul(m.mul(m.mul(g, grad), output), -2),
    elementwise=True,
)
def _tanh_gradient(xp: Namespace, grad: Array, output: Array) -> Array:
    """``grad * (1 - output * output)``."""
    result = xp.subtract(1.0, xp.multiply(output, output))
    return xp.multiply(result, grad)


@op(
    input=lambda m, g, out: m._tanh_gradient(g, out),
    ufunc="tanh",
    float_result=True,
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
)
def tanh(xp: Namespace, input: Array) -> Array:
    """Hyperbolic tangent of every element."""
    return xp.tanh(input)
