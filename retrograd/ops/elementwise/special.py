"""Special functions of statistics: the error function family, logit, xlogy, logaddexp, sinc."""

from __future__ import annotations

import math
from collections.abc import Callable

from retrograd import dtypes, samples
from retrograd.backend import is_array
from retrograd.ops import errors
from retrograd.ops.calling.dispatch_inplace import write_out
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import OPS, RECORDED, Op, Table, composite, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_REAL = (*FLOATS, *HALVES)
_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[0.0, -0.0, 1.0, -1.0, _INF, -_INF, _NAN, 9.0, -9.0]), second=False)
_SQRT_PI = math.sqrt(math.pi)


def check_real(kernel: str) -> Callable[..., None]:
    """A check that refuses complex numbers in the words of PyTorch's kernel."""

    def check(*arguments: object) -> None:
        arrays = [x for x in arguments if is_array(x) or isinstance(x, complex)]
        found = dtypes.result_dtype(arrays) if arrays else dtypes.float32
        if found.is_complex:
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def no_derivative(name: str) -> Callable[..., Tensor]:
    """A rule for an argument that PyTorch cannot differentiate either."""

    def rule(m: Table, g: Tensor) -> Tensor:
        raise errors.explained(
            NotImplementedError(f"the derivative for '{name}' is not implemented."), code="RG121"
        )

    return rule


# ------------------------------------------------------------------------- error function family


@op(
    input=lambda m, g, input: m.mul(m.mul(m.exp(m.neg(m.pow(input, 2))), 2 / _SQRT_PI), g),
    float_result=True,
    check=check_real("erf_vml_cpu"),
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.erf",),
)
def erf(xp: Namespace, input: Array) -> Array:
    """The error function."""
    return xp.erf(input)


@op(
    input=lambda m, g, input: m.mul(m.mul(m.exp(m.neg(m.pow(input, 2))), -2 / _SQRT_PI), g),
    float_result=True,
    check=check_real("erfc_vml_cpu"),
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.erfc",),
)
def erfc(xp: Namespace, input: Array) -> Array:
    """``1 - erf(input)``, exact also where that is tiny."""
    return xp.erfc(input)


@op(
    input=lambda m, g, input: m.mul(m.mul(m.exp(m.pow(m.erfinv(input), 2)), 0.5 * _SQRT_PI), g),
    float_result=True,
    check=check_real("erfinv_vml_cpu"),
    inplace_names=(),
    samples=samples.unary(-0.9, 0.9, dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.erfinv",),
)
def erfinv(xp: Namespace, input: Array) -> Array:
    """The inverse of `erf`; infinite at -1 and 1, nan outside."""
    return xp.erfinv(input)


@op(
    input=lambda m, g, input, out: m.mul(m.sub(m.mul(m.mul(input, 2), out), 2 / _SQRT_PI), g),
    float_result=True,
    check=check_real("erfcx_cpu"),
    namespace="special",
    samples=samples.unary(dtypes=(*FLOATS, *COMPLEX), extra=[_POINTS]),
)
def erfcx(xp: Namespace, input: Array) -> Array:
    """``exp(input**2) * erfc(input)``."""
    return xp.erfcx(input)


@composite(namespace="special", samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]))
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The standard normal distribution function."""
    result = (RECORDED.erf(input * math.sqrt(0.5)) + 1) * 0.5
    if out is not None:
        write_out("special_ndtr", out, result._array)
        return out
    return result


@op(
    input=lambda m, g, out: m.mul(m.mul(g, math.sqrt(2 * math.pi)), m.exp(m.div(m.pow(out, 2), 2))),
    float_result=True,
    check=check_real("ndtri_cpu"),
    namespace="special",
    samples=samples.unary(0.05, 0.95, dtypes=(*FLOATS, *COMPLEX), extra=[_POINTS]),
)
def ndtri(xp: Namespace, input: Array) -> Array:
    """The quantiles of the standard normal distribution."""
    return xp.ndtri(input)


@op(
    input=lambda m, g, input: m.mul(
        m.div(g, m.erfcx(m.div(m.neg(input), math.sqrt(2)))), math.sqrt(2 / math.pi)
    ),
    float_result=True,
    check=check_real("log_ndtr_cpu"),
    namespace="special",
    samples=samples.unary(
        dtypes=(*FLOATS, *COMPLEX),
        extra=[
            Sample(T(values=[0.0, _INF, _NAN, 9.0, -9.0, -30.0]), second=False),
            Sample(T(values=[-_INF]), grad=False),
        ],
    ),
)
def log_ndtr(xp: Namespace, input: Array) -> Array:
    """The logarithm of `ndtr`, exact far into the lower tail."""
    return xp.log_ndtr(input)


# ------------------------------------------------------------------------------ logit, entr, sinc


def _logit_rule(m: Table, g: Tensor, input: Tensor, eps: float | None) -> Tensor:
    slope = m.div(g, m.mul(input, m.rsub(input, 1)))
    low, beyond = (0.0, _NAN) if eps is None or eps < 0 else (eps, 0.0)
    outside = m.logical_or(m.lt(input, low), m.gt(input, 1 - low))
    return m.where(outside, beyond, slope)


def _check_logit(input: Array, eps: float | None) -> None:
    check_real("logit_cpu")(input)
    if eps is not None and input.dtype in dtypes.HALF_TYPES:
        as_element(eps, dtypes.from_numpy_dtype(input.dtype))


@op(
    input=_logit_rule,
    float_result=True,
    check=_check_logit,
    half="steps",
    samples=lambda: [
        *samples.unary(0.1, 0.9, dtypes=_EVERY)(),
        *(Sample(T(6, low=0, high=1), eps, dtypes=_REAL) for eps in (0.2, 1e-3, 0.0)),
        Sample(T(values=[0.0, -0.5, 0.5, 1, 1.5, _NAN]), second=False),
        Sample(T(values=[0.0, -0.5, 0.5, 1, 1.5, _NAN]), eps=0.1, second=False),
    ],
    second_names=("special.logit",),
    inplace_names=("torch.logit_",),
)
def logit(xp: Namespace, input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, with the input first limited to [eps, 1 - eps]."""
    return xp.logit(input, eps)


@op(
    input=lambda m, g, input: m.mul(g, m.neg(m.add(m.log(input), 1))),
    float_result=True,
    check=check_real("entr_cpu"),
    namespace="special",
    samples=samples.unary(0.1, 2, dtypes=_EVERY, extra=[_POINTS]),
)
def entr(xp: Namespace, input: Array) -> Array:
    """``-input * log(input)``: 0 at zero, -inf below."""
    return xp.entr(input)


def _sinc_rule(m: Table, g: Tensor, input: Tensor) -> Tensor:
    angle = m.mul(input, math.pi)
    square = m.mul(m.mul(input, input), math.pi)
    slope = m.div(m.sub(m.mul(angle, m.cos(angle)), m.sin(angle)), square)
    return m.where(m.eq(square, 0), 0, m.mul(g, slope))


@op(
    input=_sinc_rule,
    float_result=True,
    samples=samples.unary(
        dtypes=(*FLOATS, *COMPLEX), extra=[_POINTS, Sample(T(5), grad=False, dtypes=HALVES)]
    ),
    second_names=("special.sinc",),
)
def sinc(xp: Namespace, input: Array) -> Array:
    """``sin(pi x) / (pi x)``, and 1 at zero."""
    if input.dtype.kind != "c":
        return xp.sinc(input)
    angle = xp.multiply(input, math.pi)
    result: Array = xp.where(input == 0, 1, xp.divide(xp.sin(angle), angle))
    return result.astype(input.dtype, copy=False)


# -------------------------------------------------------------------------------------- logaddexp


def _check_logaddexp(kernel: str) -> Callable[..., None]:
    def check(input: Operand, other: Operand) -> None:
        found = dtypes.result_dtype([input, other])
        if found.category < dtypes.FLOAT or (found.is_complex and kernel == "logaddexp2_cpu"):
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def _pair_samples() -> list[Sample]:
    return samples.binary(
        dtypes=_EVERY,
        numbers=(),
        extra=[
            Sample(T(values=[_INF, -_INF, _INF, 1, _NAN]), T(values=[_INF, -_INF, 1.0, -_INF, 1])),
            Sample(T(values=[800.0, -800]), T(values=[801.0, -800])),
            Sample(T(3), 2, error=(TypeError, "")),
        ],
    )()


@op(
    input=lambda m, g, input, other: m.div(g, m.add(m.exp(m.sub(other, input)), 1)),
    other=lambda m, g, input, other: m.div(g, m.add(m.exp(m.sub(input, other)), 1)),
    promote=True,
    check=_check_logaddexp("logaddexp_cpu"),
    out=True,
    samples=_pair_samples,
    elementwise=True,
)
def logaddexp(xp: Namespace, input: Array, other: Array) -> Array:
    """``log(exp(input) + exp(other))`` without overflow."""
    if input.dtype.kind != "c":
        return xp.logaddexp(input, other)
    return complex_logaddexp(xp, input, other)


def complex_logaddexp(xp: Namespace, input: Array, other: Array) -> Array:
    """`logaddexp` of complex numbers; two infinities are not subtracted from each other."""
    input, other = xp.broadcast_arrays(input, other)
    first = input.real >= other.real
    larger, smaller = xp.where(first, input, other), xp.where(first, other, input)
    result = larger + xp.log1p(xp.exp(smaller - larger))
    same = xp.logical_and(smaller.real == larger.real, xp.isinf(larger.real))
    if not same.any():
        return result
    infinite = xp.where(larger.real < 0, larger, xp.log(xp.exp(smaller) + xp.exp(larger)))
    return xp.where(same, infinite, result)


@op(
    input=lambda m, g, input, other: m.div(g, m.add(m.exp2(m.sub(other, input)), 1)),
    other=lambda m, g, input, other: m.div(g, m.add(m.exp2(m.sub(input, other)), 1)),
    promote=True,
    check=_check_logaddexp("logaddexp2_cpu"),
    out=True,
    samples=_pair_samples,
    elementwise=True,
)
def logaddexp2(xp: Namespace, input: Array, other: Array) -> Array:
    """``log2(2**input + 2**other)`` without overflow."""
    return xp.logaddexp2(input, other)


# --------------------------------------------------------------------------------- xlogy, xlog1py


def _xlogy_input_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    flat = m.logical_and(m.eq(input, 0), m.le(other, 0))
    return m.masked_fill(m.xlogy(g, other), flat, 0)


def _xlog1py_input_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    flat = m.logical_and(m.eq(input, 0), m.le(other, -1))
    return m.masked_fill(m.xlog1py(g, other), flat, 0)


@inner_op(
    input=_xlogy_input_rule,
    other=lambda m, g, input, other: m.div(m.mul(g, input), other),
    float_result=True,
    check=check_real("xlogy_cpu"),
    half="steps",
    inplace="xlogy_",
)
def xlogy(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input * log(other)``, and 0 where `input` is 0."""
    return xp.xlogy(xp.asarray(input), xp.asarray(other))


@op(
    other=lambda m, g, input, other: m.div(m.mul(g, input), other),
    float_result=True,
    check=check_real("xlogy_cpu"),
    half="steps",
    node_name="XlogyBackward1",
    fast=False,
    aten="xlogy.Scalar_Self",
)
def _xlogy_number_input(xp: Namespace, input: Operand, other: Array) -> Array:
    return xp.xlogy(xp.asarray(input), xp.asarray(other))


def _xlogy_number_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    if other > 0:
        return m.mul(g, math.log(other))
    return m.masked_fill(m.xlogy(g, float(other)), m.eq(input, 0), 0)


@op(
    input=_xlogy_number_rule,
    float_result=True,
    check=check_real("xlogy_cpu"),
    half="steps",
    node_name="XlogyBackward2",
    inplace="xlogy_",
    fast=False,
    aten="xlogy.Scalar_Other",
)
def _xlogy_number_other(xp: Namespace, input: Array, other: Operand) -> Array:
    return xp.xlogy(xp.asarray(input), xp.asarray(other))


def _overload(name: str, input: Tensor | complex, other: Tensor | complex) -> Op:
    """The op of `name` for two tensors, a number first, or a number second."""
    if isinstance(input, Tensor):
        return OPS[name if isinstance(other, Tensor) else f"_{name}_number_other"]
    if not isinstance(other, Tensor):
        raise errors.invalid_combination(name, (input, other))
    return OPS[f"_{name}_number_input"]


def _xlogy_samples() -> list[Sample]:
    points = T(values=[0.0, -0.5, 0.5, 1, 1.5, _NAN, 0.9999, -0.0])
    return samples.binary(
        0.1,
        2,
        dtypes=_REAL,
        numbers=(2, 0.5),
        extra=[
            Sample(points, T(values=[0.0, -0.5, 0.5, 1, 1.5, 1, -1, -1]), second=False),
            Sample(points, 2.5),
            Sample(points, 0, second=False),
            Sample(2.5, T(4, low=0.1)),
            Sample(0, points, second=False),
            Sample(T(3), T(3), dtypes=COMPLEX),
        ],
    )()


@composite(public=("xlogy",), samples=_xlogy_samples, second_names=("special.xlogy",))
def _xlogy(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``input * log(other)``, and 0 where `input` is 0."""
    chosen = _overload("xlogy", input, other).function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result


@method_only(second_names=("torch.xlogy_",))
def xlogy_(self: Tensor, other: Tensor | complex) -> Tensor:
    """In-place version of `xlogy`."""
    return _overload("xlogy", self, other).in_place(self, other)


@inner_op(
    input=_xlog1py_input_rule,
    other=lambda m, g, input, other: m.div(m.mul(g, input), m.add(other, 1)),
    float_result=True,
    check=check_real("xlog1py_cpu"),
    half="steps",
    event="special_xlog1py",
)
def xlog1py(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input * log1p(other)``, and 0 where `input` is 0."""
    return xp.xlog1py(xp.asarray(input), xp.asarray(other))


@op(
    other=lambda m, g, input, other: m.div(m.mul(g, input), m.add(other, 1)),
    float_result=True,
    check=check_real("xlog1py_cpu"),
    half="steps",
    node_name="SpecialXlog1PyBackward1",
    fast=False,
    aten="special_xlog1py.self_scalar",
)
def _xlog1py_number_input(xp: Namespace, input: Operand, other: Array) -> Array:
    return xp.xlog1py(xp.asarray(input), xp.asarray(other))


def _xlog1py_number_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    if other > -1:
        return m.mul(g, math.log1p(other))
    return m.masked_fill(m.xlog1py(g, float(other)), m.eq(input, 0), 0)


@op(
    input=_xlog1py_number_rule,
    float_result=True,
    check=check_real("xlog1py_cpu"),
    half="steps",
    node_name="SpecialXlog1PyBackward2",
    fast=False,
    aten="special_xlog1py.other_scalar",
)
def _xlog1py_number_other(xp: Namespace, input: Array, other: Operand) -> Array:
    return xp.xlog1py(xp.asarray(input), xp.asarray(other))


@composite(namespace="special", samples=_xlogy_samples)
def _xlog1py(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``input * log1p(other)``, and 0 where `input` is 0."""
    chosen = _overload("xlog1py", input, other).function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result
