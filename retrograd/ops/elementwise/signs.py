"""Signs and neighbours: abs, sign, sgn, signbit, copysign, heaviside, nextafter, ldexp."""

from __future__ import annotations

from collections.abc import Callable

from retrograd import dtypes, samples
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.registry import OPS, Op, Table, composite, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[_NAN, 0.0, -0.0, _INF, -_INF, 1.0]), second=False)


def _check_abs(input: Array) -> None:
    if input.dtype is dtypes.B8:
        raise errors.not_implemented_for("abs_cpu", dtypes.B8)


@op(
    input=lambda m, g, input: m.mul(g, m.sgn(input)),
    holomorphic=False,
    ufunc="absolute",
    check=_check_abs,
    operators=("__abs__",),
    inplace=True,
    inplace_names=(),
    out="elementwise",
    public=("abs", "absolute"),
    samples=samples.unary(
        dtypes=_EVERY, extra=[_POINTS, Sample(T(values=[0j, 1 + 1j]), dtypes=COMPLEX)]
    ),
)
def abs(xp: Namespace, input: Array) -> Array:
    """The absolute value of every element, real also for complex numbers."""
    return xp.absolute(input)


@method_only(methods=("abs_", "absolute_"), second_names=("torch.abs_",))
def abs_(self: Tensor) -> Tensor:
    """In-place version of `abs`; complex numbers have no room for a real result."""
    if self._array.dtype in dtypes.COMPLEX_TYPES:
        raise errors.runtime_error(
            "In-place abs is not supported for complex tensors.", code="RG304"
        )
    in_place = OPS["abs"].in_place
    result: Tensor = in_place(self)
    return result


def _sign(xp: Namespace, input: Array) -> Array:
    """-1, 0 or 1 in the input's dtype; 0 for nan, as in PyTorch."""
    if input.dtype.kind == "b":
        return xp.array(input)
    if input.dtype.kind in "iu":
        return xp.sign(input)
    return xp.subtract(input > 0, input < 0, dtype=input.dtype)


def _check_sign(input: Array) -> None:
    if input.dtype in dtypes.COMPLEX_TYPES:
        raise errors.explained(
            NotImplementedError(
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
                "torch.sgn instead."
            ),
            code="RG304",
        )


@op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_sign,
    inplace=True,
    inplace_names=(),
    out="elementwise",
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    elementwise=True,
)
def sign(xp: Namespace, input: Array) -> Array:
    """-1, 0 or 1, the sign of every element."""
    return _sign(xp, input)


def _sgn_rule(m: Table, g: Tensor, input: Tensor, input_dtype: DType, out: Tensor) -> Tensor:
    if input_dtype not in dtypes.COMPLEX_TYPES:
        return m.zeros_like(g)
    length = m.abs(input)
    along = m.real(m.div(g, out))  # turning changes sgn, growing does not
    return m.where(m.eq(length, 0), 0, m.sub(m.div(g, length), m.div(m.mul(along, out), length)))


@op(
    input=_sgn_rule,
    holomorphic=False,
    inplace=True,
    inplace_names=(),
    out="elementwise",
    samples=samples.unary(
        dtypes=_EVERY, extra=[_POINTS, Sample(T(values=[0j, 1 + 1j]), dtypes=COMPLEX, second=False)]
    ),
    elementwise=True,
)
def sgn(xp: Namespace, input: Array) -> Array:
    """The sign of a real number, ``z / |z|`` of a complex one."""
    if input.dtype.kind != "c":
        return _sign(xp, input)
    length = xp.absolute(input)
    return xp.where(length == 0, 0, xp.divide(input, length)).astype(input.dtype, copy=False)


def _check_signbit(input: Array) -> None:
    if input.dtype.kind == "c":
        raise errors.explained(
            NotImplementedError("signbit is not implemented for complex tensors."), code="RG304"
        )


@op(
    fast=False,
    check=_check_signbit,
    out="signbit does not support non-boolean outputs.",
    samples=samples.unary(dtypes=_EVERY, extra=[_POINTS]),
    elementwise=True,
)
def signbit(xp: Namespace, input: Array) -> Array:
    """Whether the sign bit is set: true for negative numbers and for -0.0."""
    return xp.less(input, 0) if input.dtype.kind in "biu" else xp.signbit(input)


# ------------------------------------------------------------------------------------- copysign


def _copysign_rule(m: Table, g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    return m.mul(g, m.where(m.eq(input, 0), 0, m.div(out, input)))


def _check_copysign(input: Operand, other: Operand) -> None:
    found = dtypes.result_dtype([input, other])
    if found.is_complex:
        raise errors.not_implemented_for("copysign_cpu", found.numpy)


@op(
    input=_copysign_rule,
    other=lambda m, g: m.zeros_like(g),
    ufunc="copysign",
    float_result=True,
    check=_check_copysign,
    inplace="copysign_",
    forward="elementwise",
    aten="copysign.Tensor",
)
def _copysign_tensor(xp: Namespace, input: Array, other: Array) -> Array:
    return xp.copysign(input, other)


@op(
    input=_copysign_rule,
    ufunc="copysign",
    float_result=True,
    check=_check_copysign,
    node_name="CopysignBackward1",
    inplace="copysign_",
    forward="elementwise",
    aten="copysign.Scalar",
)
def _copysign_number(xp: Namespace, input: Array, other: Operand) -> Array:
    return xp.copysign(input, other)


def _copysign_op(other: Tensor | complex) -> Op:
    return OPS["_copysign_tensor" if isinstance(other, Tensor) else "_copysign_number"]


@composite(
    samples=samples.binary(
        dtypes=_EVERY,
        numbers=(2, -2.5, -0.0),
        extra=[Sample(T(values=[0.0, -1, 2, -0.0, _NAN]), T(values=[1.0, 1, -1, -1, -1]))],
    )
)
def copysign(input: Tensor, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The size of `input` with the sign of `other`."""
    chosen = _copysign_op(other).function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result


@method_only()
def _copysign_in_place(self: Tensor, other: Tensor | complex) -> Tensor:
    """In-place version of `copysign`."""
    return _copysign_op(other).in_place(self, other)


# ------------------------------------------------------------------------ heaviside, nextafter


def _not_differentiable(name: str) -> Callable[..., Tensor]:
    def rule(m: Table, g: Tensor) -> Tensor:
        raise errors.no_derivative(name)

    return rule


def _check_heaviside(input: Array, values: Array) -> None:
    if input.dtype.kind == "c" or values.dtype.kind == "c":
        raise errors.runtime_error(
            "heaviside is not yet implemented for complex tensors.", code="RG304"
        )
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@op(
    input=_not_differentiable("aten::heaviside"),
    values=_not_differentiable("aten::heaviside"),
    node_name="NotImplemented",
    check=_check_heaviside,
    fast=False,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(values=[-1.0, 0.0, 2.0, _NAN, -0.0]), T(5), grad=False, dtypes=_EVERY),
        Sample(T(3, 4), T(4), grad=False),
        Sample(T(4, dtype="int64"), T(4, dtype="int64"), grad=False),
        Sample(T(4, dtype="bool"), T(4, dtype="bool"), grad=False),
        Sample(T(4), T(4, dtype="int64"), grad=False),
    ],
    elementwise=True,
)
def heaviside(xp: Namespace, input: Array, values: Array) -> Array:
    """0 for negative elements, 1 for positive ones, `values` for zeros."""
    step = xp.where(input == 0, values, (input > 0).astype(input.dtype))
    return step.astype(input.dtype, copy=False)


def _check_nextafter(input: Operand, other: Operand) -> None:
    found = dtypes.result_dtype([input, other])
    if not found.is_floating_point:
        raise errors.not_implemented_for("nextafter_cpu", found.numpy)


@op(
    input=lambda m, g, input, other: m.where(m.ne(input, other), g, 0),
    other=lambda m, g: m.zeros_like(g),
    ufunc="nextafter",
    promote=True,
    half="move",
    check=_check_nextafter,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(3, 4), T(4)),
        Sample(T(values=[0.0, 1.0, 1.0, _NAN]), T(values=[1.0, _INF, 1.0, 1.0])),
        Sample(T(4, dtype="int64"), T(4, dtype="int64"), grad=False),
        Sample(T(4, dtype="float32"), T(4, dtype="float64"), grad=False),
        Sample(T(4), T(4), grad=False, dtypes=("bfloat16", "float16")),
    ],
    forward="elementwise",
)
def nextafter(xp: Namespace, input: Array, other: Array) -> Array:
    """The next representable number after `input` in the direction of `other`."""
    return xp.nextafter(input, other)
