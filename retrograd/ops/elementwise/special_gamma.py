"""Gamma functions, zeta, and the modified Bessel functions I that have gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes, samples
from retrograd.ops import errors
from retrograd.ops.elementwise.special import check_real, no_derivative
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.registry import OPS, Table, composite, function_only, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[0.0, -0.0, 1.0, -1.5, _INF, _NAN, 9.0, 50.0]), second=False)

# ---------------------------------------------------------------------------------- gamma family


@op(
    input=lambda m, g, input: m.mul(g, m.digamma(input)),
    float_result=True,
    check=check_real("lgamma_vml_cpu"),
    inplace_names=(),
    samples=samples.unary(0.2, 5, dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.gammaln",),
)
def lgamma(xp: Namespace, input: Array) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return xp.lgamma(input)


@op(
    input=lambda m, g, input: m.mul(g, m._polygamma(input, 1)),
    float_result=True,
    check=check_real("digamma"),
    inplace_names=(),
    samples=samples.unary(0.2, 5, dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.psi", "special.digamma"),
)
def digamma(xp: Namespace, input: Array) -> Array:
    """The derivative of `lgamma`."""
    return xp.digamma(input)


def _check_polygamma(input: Array, n: int) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    kernel = {0: "digamma", 1: "trigamma"}.get(n, "polygamma")
    check_real(kernel)(input)


@op(
    input=lambda m, g, input, n: m.mul(g, m._polygamma(input, n + 1)),
    float_result=True,
    check=_check_polygamma,
    inplace="polygamma_",
    aten="polygamma",
)
def _polygamma(xp: Namespace, input: Array, n: int) -> Array:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return xp.digamma(input) if n == 0 else xp.polygamma(n, input)


def _polygamma_samples() -> list[Sample]:
    found = [Sample(n, T(3, 4, low=0.3, high=4)) for n in (0, 2, 3, 5)]
    found += [
        Sample(1, T(3, 4, low=0.3, high=4), dtypes=("float32",)),  # PyTorch's has ten digits
        Sample(2, T(3, low=0.5, high=3), dtypes=HALVES),
        Sample(1, T(3, low=1, high=5, dtype="int64"), grad=False),
        Sample(1, T(), dtypes=COMPLEX),
        Sample(-1, T(3), error=(RuntimeError, "polygamma(n, x) does not")),
        Sample(T(3), 1, error=(TypeError, "polygamma()")),
    ]
    return found


@function_only(samples=_polygamma_samples, second_names=("special.polygamma",))
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of `digamma`."""
    if isinstance(n, Tensor):
        raise errors.argument_type("polygamma", "n", 1, "int", n)
    chosen = OPS["_polygamma"].function
    result: Tensor = chosen(input, n) if out is None else chosen(input, n, out=out)
    return result


@method_only()
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The `n`-th derivative of `digamma`."""
    result: Tensor = OPS["_polygamma"].function(self, n)
    return result


def _mvlgamma_rule(m: Table, g: Tensor, input: Tensor, p: int) -> Tensor:
    total = m.digamma(input)
    for j in range(1, p):
        total = m.add(total, m.digamma(m.sub(input, j / 2)))
    return m.mul(g, total)


def _check_mvlgamma(input: Array, p: int) -> None:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    check_real("arange_cpu")(input)


@op(
    input=_mvlgamma_rule,
    float_result=True,
    check=_check_mvlgamma,
    samples=lambda: [
        *(Sample(T(3, 4, low=2, high=5), p, dtypes=(*FLOATS, *HALVES)) for p in (1, 2, 3)),
        Sample(T(3, low=2, high=5, dtype="int64"), 2, grad=False),
        Sample(T(values=[0.4, 0.5, 1.0]), 2, grad=False),
        Sample(T(3, low=2), p=0, error=(RuntimeError, "p has to be")),
        Sample(T(3), 1, dtypes=COMPLEX),
    ],
    second_names=("special.multigammaln",),
)
def mvlgamma(xp: Namespace, input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    constant = p * (p - 1) / 4 * math.log(math.pi)
    parts = xp.stack(
        [xp.lgamma(xp.asarray(input - xp.asarray(j / 2, input.dtype))) for j in range(p)]
    )
    return xp.add(xp.sum(parts, 0, input.dtype), xp.asarray(constant, input.dtype))


# ---------------------------------------------------------------------------------- incomplete


def _check_igamma(kernel: str) -> Callable[..., None]:
    def check(input: Operand, other: Operand) -> None:
        found = dtypes.result_dtype([input, other])
        if not found.is_floating_point:
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def _igamma_slope(m: Table, input: Tensor, other: Tensor) -> Tensor:
    return m.exp(m.sub(m.sub(m.mul(m.sub(input, 1), m.log(other)), other), m.lgamma(input)))


def _igamma_tangent(name: str, sign: int) -> Callable[..., Tensor]:
    def forward(m: Table, tangents: Tensor, input: Tensor, other: Tensor) -> Tensor:
        if tangents[0] is not None:
            raise errors.no_forward_mode(name)
        return m.mul(m.mul(tangents[1], sign), _igamma_slope(m, input, other))

    return forward


def _igamma_samples() -> list[Sample]:
    def a(*shape: int, **more: Any) -> T:
        return T(*shape, low=0.2, high=4, grad=False, **more)

    return [
        Sample(a(3, 4), T(3, 4, low=0.1, high=6), dtypes=(*FLOATS, *HALVES)),
        Sample(a(3, 1), T(4, low=0.1, high=6)),
        Sample(a(), T(low=0.5)),
        Sample(T(values=[0.0, 1, 2, -1, _NAN]), T(values=[1.0, 0, _INF, 1, 1]), grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(a(3), 2.0, error=(TypeError, "")),
        Sample(T(3), T(3), dtypes=COMPLEX),
    ]


@op(
    input=no_derivative("igamma: input"),
    other=lambda m, g, input, other: m.mul(g, _igamma_slope(m, input, other)),
    promote=True,
    check=_check_igamma("igamma_cpu"),
    inplace=True,
    out=True,
    samples=_igamma_samples,
    forward=_igamma_tangent("igamma", 1),
    elementwise=True,
    second_names=("special.gammainc",),
)
def igamma(xp: Namespace, input: Array, other: Array) -> Array:
    """The regularized lower incomplete gamma function."""
    return xp.gammainc(input, other)


@op(
    input=no_derivative("igammac: input"),
    other=lambda m, g, input, other: m.mul(m.neg(g), _igamma_slope(m, input, other)),
    promote=True,
    check=_check_igamma("igammac_cpu"),
    inplace=True,
    out=True,
    samples=_igamma_samples,
    forward=_igamma_tangent("igammac", -1),
    elementwise=True,
    second_names=("special.gammaincc",),
)
def igammac(xp: Namespace, input: Array, other: Array) -> Array:
    """The regularized upper incomplete gamma function."""
    return xp.gammaincc(input, other)


# ------------------------------------------------------------------------------------------ zeta


def _zeta_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    if isinstance(input, (int, float)):
        return _zeta_number_rule(m, g, input, other)
    return m.mul(g, m.mul(m.neg(input), m.zeta(m.add(input, 1), other)))


def _zeta_number_rule(m: Table, g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return m.mul(g, m.mul(m.zeta(input + 1.0, other), -input))


def _check_zeta(input: Operand, other: Operand) -> None:
    found = dtypes.result_dtype([input, other])
    if found.is_complex or found.numpy in dtypes.HALF_TYPES:
        raise errors.not_implemented_for("zeta_cpu", found.numpy)


@inner_op(
    input=no_derivative("zeta"),
    other=_zeta_rule,
    float_result=True,
    check=_check_zeta,
    event="special_zeta",
)
def zeta(xp: Namespace, input: Operand, other: Operand) -> Array:
    """The Hurwitz zeta function."""
    return xp.zeta(xp.asarray(input), xp.asarray(other))


@op(
    other=_zeta_number_rule,
    float_result=True,
    check=_check_zeta,
    node_name="SpecialZetaBackward1",
    fast=False,
    aten="special_zeta.self_scalar",
)
def _zeta_number_input(xp: Namespace, input: Operand, other: Array) -> Array:
    return xp.zeta(xp.asarray(input), xp.asarray(other))


@op(
    input=no_derivative("zeta"),
    float_result=True,
    check=_check_zeta,
    node_name="SpecialZetaBackward2",
    fast=False,
    aten="special_zeta.other_scalar",
)
def _zeta_number_other(xp: Namespace, input: Array, other: Operand) -> Array:
    return xp.zeta(xp.asarray(input), xp.asarray(other))


def _zeta_samples() -> list[Sample]:
    return [
        Sample(T(3, 4, low=1.5, high=5, grad=False), T(4, low=0.5, high=4)),
        Sample(2, T(3, low=0.5, high=4)),
        Sample(2.5, T(3, low=0.5, high=4)),
        Sample(T(3, low=1.5, high=5), 2, grad=False),
        Sample(T(values=[1.0, 0.5, 2, 2, _NAN]), T(values=[1.0, 1, 0, -1.5, 1]), grad=False),
        Sample(T(3, low=2, high=4, dtype="int64"), T(3, low=1, dtype="int64"), grad=False),
        Sample(T(3), T(3), dtypes=COMPLEX),
    ]


@composite(namespace="special", samples=_zeta_samples)
def _zeta(input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function, the sum over k of ``(other + k) ** -input``."""
    if isinstance(input, Tensor):
        chosen = OPS["zeta" if isinstance(other, Tensor) else "_zeta_number_other"].function
    else:
        chosen = OPS["_zeta_number_input"].function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result


# -------------------------------------------------------------------------- modified Bessel, I


@op(
    input=lambda m, g, input: m.mul(g, m.i1(input)),
    float_result=True,
    check=check_real("i0_vml_cpu"),
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    second_names=("special.i0",),
)
def i0(xp: Namespace, input: Array) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return xp.i0(input)


@op(
    input=lambda m, g, input, out: m.mul(g, m.sub(m.i1e(input), m.mul(m.sgn(input), out))),
    float_result=True,
    check=check_real("i0e_cpu"),
    namespace="special",
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
)
def i0e(xp: Namespace, input: Array) -> Array:
    """``exp(-|input|) * i0(input)``."""
    return xp.i0e(input)


def _away_from_zero(m: Table, input: Tensor, input_dtype: DType) -> tuple[Tensor, Tensor]:
    """A mask of the elements that are not tiny, and the input with the tiny ones moved off zero."""
    eps = dtypes.finfo(dtypes.from_numpy_dtype(input_dtype)).eps
    large = m.gt(m.abs(input), eps)
    return large, m.where(large, input, eps)


def _i1_rule(m: Table, g: Tensor, input: Tensor, input_dtype: DType, out: Tensor) -> Tensor:
    large, safe = _away_from_zero(m, input, input_dtype)
    slope = m.sub(m.i0(safe), m.mul(out, m.reciprocal(safe)))
    return m.mul(g, m.where(large, slope, 0.5))


def _i1e_rule(m: Table, g: Tensor, input: Tensor, input_dtype: DType, out: Tensor) -> Tensor:
    large, safe = _away_from_zero(m, input, input_dtype)
    slope = m.sub(m.i0e(safe), m.mul(out, m.add(m.sgn(safe), m.reciprocal(safe))))
    return m.mul(g, m.where(large, slope, 0.5))


_I1_SAMPLES = samples.unary(
    dtypes=(*FLOATS, *COMPLEX), extra=[_POINTS, Sample(T(5), grad=False, dtypes=HALVES)]
)


@op(
    input=_i1_rule,
    float_result=True,
    check=check_real("i1_cpu"),
    namespace="special",
    samples=_I1_SAMPLES,
)
def i1(xp: Namespace, input: Array) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return xp.i1(input)


@op(
    input=_i1e_rule,
    float_result=True,
    check=check_real("i1e_cpu"),
    namespace="special",
    samples=_I1_SAMPLES,
)
def i1e(xp: Namespace, input: Array) -> Array:
    """``exp(-|input|) * i1(input)``."""
    return xp.i1e(input)
