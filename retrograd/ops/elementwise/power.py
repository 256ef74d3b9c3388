"""Powers and roots: pow in its three overloads, float_power, square, sqrt, rsqrt."""

from __future__ import annotations

from typing import Any

from retrograd import core, dtypes, samples
from retrograd.backend import CPU
from retrograd.ops import errors
from retrograd.ops.calling.operands import NUMBERS, OPERANDS
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import OPS, RECORDED, Table, composite, method_only, op, table_entry
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES, *COMPLEX)


def _power(xp: Namespace, base: Any, exponent: Any) -> Array:
    """NumPy's power with PyTorch's integers: a negative exponent gives 0, 1 or -1."""
    if getattr(base, "dtype", None) is None or base.dtype.kind not in "iu":
        if getattr(base, "dtype", None) is not None and xp.ndim(exponent) == 0 and exponent == 0.5:
            # NumPy takes a root here, where -inf and -0.0 are not what they are to a power
            exponent = xp.full_like(base, 0.5)
        return xp.power(base, exponent)
    if base.dtype.kind == "u":
        return xp.power(base, exponent)
    negative = exponent < 0
    power = xp.power(base, xp.where(negative, 0, exponent))
    inverse = xp.where(base == -1, xp.where(exponent % 2 == 0, 1, -1), base == 1)
    return xp.where(negative, inverse, power).astype(base.dtype, copy=False)


def _power_of_number(xp: Namespace, base: Array, exponent: Operand) -> Array:
    """``base ** exponent`` for one number (possibly as a 0-d array), with PyTorch's short cuts."""
    number = exponent if type(exponent) in (int, float) else complex(exponent)
    if number == 2:
        return xp.multiply(base, base)
    if number == 1:
        return xp.array(base)
    if number == 0:
        return xp.ones_like(base)
    if base.dtype is dtypes.F16:  # which has no short cuts beyond
        base, exponent = base.astype(dtypes.F32), xp.asarray(exponent, dtypes.F32)
    elif base.dtype.kind in "fc" or base.dtype is dtypes.BF16:
        if number == 0.5:
            return xp.sqrt(base)
        if number == -1:
            return xp.reciprocal(base)
        if number == 3 and base.dtype.kind != "c":
            return xp.multiply(xp.multiply(base, base), base)
        if number == -0.5 and base.dtype.kind != "c":
            wide = base if base.dtype.kind == "f" else base.astype(dtypes.F32)
            return xp.reciprocal(xp.sqrt(wide))
    return _power(xp, base, exponent)


def _check_pow(input: Operand, exponent: Operand) -> None:
    if dtypes.result_dtype([input, exponent]) is dtypes.bool_:
        raise errors.not_implemented_for("pow", dtypes.B8)


def _check_pow_number(input: Array, exponent: complex) -> None:
    if input.dtype.kind in "biu" and isinstance(exponent, int) and exponent < 0:
        raise errors.runtime_error(
            "Integers to negative integer powers are not allowed.", code="RG304"
        )
    as_element(exponent, dtypes.result_dtype([input, exponent]))


def _number_rule(m: Table, g: Tensor, input: Tensor, exponent: complex) -> Tensor:
    if exponent == 0:
        return m.zeros_like(g)
    return m.mul(g, m.mul(m.pow(input, exponent - 1), exponent))


def _base_rule(m: Table, g: Tensor, input: Tensor, exponent: Tensor) -> Tensor:
    gradient = m.mul(g, m.mul(exponent, m.pow(input, m.sub(exponent, 1))))
    return m.where(m.eq(exponent, 0), 0, gradient)


def _exponent_rule(
    m: Table, g: Tensor, input: Tensor, exponent: Tensor, out: Tensor, out_dtype: DType
) -> Tensor:
    # 0 ** positive is constant 0 near the exponent, although log(0) is infinite
    flat = m.logical_and(m.eq(input, 0), m.ge(m.real(exponent), 0))
    if out_dtype.kind == "c":
        input = m._to_dtype(input, out_dtype)  # negative numbers have a logarithm there
    return m.mul(g, m.where(flat, 0, m.mul(out, m.log(input))))


def _number_base_rule(
    m: Table, g: Tensor, input: float, exponent: Tensor, out: Tensor, out_dtype: DType
) -> Tensor:
    base = complex(input) if out_dtype.kind == "c" else float(input)
    logarithm = CPU.xp.log(base).item()
    gradient = m.mul(out, logarithm)
    if input == 0:
        gradient = m.where(m.ge(m.real(exponent), 0), 0, gradient)
    return m.mul(g, gradient)


@op(
    input=_number_rule,
    promote=True,
    check=_check_pow_number,
    half="steps",
    inplace="pow_",
    out=True,
    elementwise=True,
    aten="pow.Tensor_Scalar",
    aten_inplace="pow_.Scalar",
)
def _pow_number(xp: Namespace, input: Array, exponent: Operand) -> Array:
    """``input ** exponent`` for a number."""
    return _power_of_number(xp, input, exponent)


@op(
    input=_base_rule,
    exponent=_exponent_rule,
    promote=True,
    check=_check_pow,
    node_name="PowBackward1",
    inplace="pow_",
    out=True,
    elementwise=True,
    aten="pow.Tensor_Tensor",
    aten_inplace="pow_.Tensor",
)
def _pow_tensor(xp: Namespace, input: Array, exponent: Array) -> Array:
    """``input ** exponent`` for two tensors."""
    return _power(xp, input, exponent)


@op(
    exponent=_number_base_rule,
    promote=True,
    check=_check_pow,
    node_name="PowBackward2",
    out=True,
    fast=False,
    elementwise=True,
    aten="pow.Scalar",
)
def _pow_base(xp: Namespace, input: Operand, exponent: Array) -> Array:
    """``input ** exponent`` for a number `input`."""
    return _power(xp, input, exponent)


_TENSOR, _NUMBER, _BASE = (
    OPS[name].function for name in ("_pow_tensor", "_pow_number", "_pow_base")
)
_SPECIAL = [0.0, 0.0, 0.0, -1.0, float("nan"), 2.0, 0.0, float("inf")]
_EXPONENTS = [0.0, 1.0, -1.0, 0.5, 2.0, float("nan"), 2.0, 0.0]


def _pow_samples() -> list[Sample]:
    found = samples.binary(0.3, 2, -2, 2, dtypes=_ALL, mixed=False)()
    found += [
        Sample(T(6), exponent, dtypes=_ALL)
        for exponent in (0, 0.0, 1, 2, 3, -1, -2, 1.0, 2.0, 3.0, -1.0, -2.0, 4)
    ]
    found += [Sample(T(6, low=0.2), exponent) for exponent in (0.5, -0.5, 1.5, 2.5, -1.5)]
    found += [Sample(T(values=_SPECIAL), exponent) for exponent in (0, 1, 2, 3, -1, 0.5, 1.5)]
    found += [Sample(T(values=_SPECIAL), T(values=_EXPONENTS))]
    found += [Sample(base, T(values=_EXPONENTS)) for base in (0, 0.0, 1, 2, 2.5)]
    found += [Sample(base, T(3, 2), dtypes=(*FLOATS, *HALVES)) for base in (2, 0.5, 3.0)]
    found += [Sample(2 + 1j, T(3)), Sample(T(3), 1 + 1j), Sample(2.5, T(3), dtypes=COMPLEX)]
    found += [Sample(T(3), T(3, dtype="complex128", grad=True))]
    kinds = ("int64", "int32", "uint8", "int8", "bool", "float32", "float16")
    for first in kinds:
        base = T(4, low=1, high=4, dtype=first)
        found += [Sample(base, T(4, low=0, high=3, dtype=k), grad=False) for k in kinds]
        found += [Sample(base, e, grad=False) for e in (2, 0, -1, 2.0, 0.5, True)]
        found += [Sample(b, T(4, low=0, high=3, dtype=first), grad=False) for b in (2, 3.0, True)]
    found += [
        Sample(T(values=[1, -1, 2, 0, -1]), T(values=[-1, -1, -2, -1, -2]), dtypes=("float64",)),
        Sample(
            T(values=[1, -1, 2, 0, -1, 3], dtype="int64"),
            T(values=[-1, -1, -2, -1, -2, 3], dtype="int64"),
            grad=False,
        ),
        Sample(T(3), "a", error=(TypeError, "")),
    ]
    return found


@composite(samples=_pow_samples)
@core.shortcut("power", _NUMBER)
def _pow(
    input: Tensor | complex, exponent: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``input ** exponent``, where one of the two may be a number.

    >>> torch.pow(torch.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """
    if isinstance(exponent, Tensor):
        chosen = _TENSOR if isinstance(input, Tensor) else _BASE
    else:
        chosen = _NUMBER
    result: Tensor = chosen(input, exponent) if out is None else chosen(input, exponent, out=out)
    return result


@method_only(operators=("__pow__",))
@core.shortcut("power", _NUMBER)
def _pow_operator(self: Tensor, exponent: Tensor | complex) -> Any:
    """``self ** exponent``."""
    if isinstance(exponent, Tensor):
        return _TENSOR(self, exponent)
    if isinstance(exponent, NUMBERS):
        return _NUMBER(self, exponent)
    return NotImplemented


@method_only()
def _pow_in_place(self: Tensor, exponent: Tensor | complex) -> Tensor:
    """In-place version of `pow`."""
    chosen = OPS["_pow_tensor" if isinstance(exponent, Tensor) else "_pow_number"]
    return chosen.in_place(self, exponent)


@method_only(operators=("__ipow__",))
def _pow_inplace_operator(self: Tensor, exponent: Tensor | complex) -> Tensor:
    """``self **= exponent``."""
    return _pow_in_place(self, exponent) if isinstance(exponent, OPERANDS) else NotImplemented


@method_only(operators=("__rpow__",))
def _reflected_pow(self: Tensor, other: Tensor | complex) -> Any:
    """``other ** self``."""
    if isinstance(other, Tensor):
        return _TENSOR(other, self)
    if isinstance(other, NUMBERS):
        return _BASE(other, self)
    return NotImplemented


def _raw_pow(xp: Namespace, base: Any, exponent: Any) -> Array:
    if isinstance(exponent, (int, float, complex)):
        return base if exponent == 1 else _power_of_number(xp, xp.asarray(base), exponent)
    return _power(xp, base, exponent)


table_entry("pow", _raw_pow, _pow)


@composite(
    methods=("square",),
    samples=samples.unary(dtypes=_ALL),
)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``, recorded as a power."""
    return _pow(input, 2, out=out)


@method_only(second_names=("torch.square_",))
def _square_in_place(self: Tensor) -> Tensor:
    """In-place version of `square`."""
    return _pow_in_place(self, 2)


table_entry("square", lambda xp, a: xp.square(a), square)


def _as_double(value: Any, wanted: dtypes.dtype) -> complex | float | Tensor:
    if isinstance(value, Tensor):
        same = value._array.dtype is wanted.numpy
        return value if same else RECORDED._to_dtype(value, wanted.numpy)
    return complex(value) if wanted.is_complex else float(value)


def _float_power_samples() -> list[Sample]:
    found = [Sample(T(4, low=0.2), T(4)), Sample(T(4), 2), Sample(2, T(4)), Sample(T(4), 3 + 1j)]
    found += [Sample(T(4, low=0.2), T(4), dtypes=COMPLEX)]
    found += [Sample(T(4, dtype=k), 2, grad=False) for k in ("int64", "bool", "uint8", "float16")]
    return found


@composite(samples=_float_power_samples)
def float_power(
    input: Tensor | complex, exponent: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``input ** exponent`` in float64, or complex128 if one of them is complex."""
    is_complex = any(
        value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)
        for value in (input, exponent)
    )
    wanted = dtypes.complex128 if is_complex else dtypes.float64
    return _pow(_as_double(input, wanted), _as_double(exponent, wanted), out=out)


@method_only()
def _float_power_in_place(self: Tensor, exponent: Tensor | complex) -> Tensor:
    """In-place version of `float_power`: the tensor must already be of that dtype."""
    complex_exponent = (
        exponent.dtype.is_complex if isinstance(exponent, Tensor) else isinstance(exponent, complex)
    )
    is_complex = self.dtype.is_complex or complex_exponent
    wanted = dtypes.complex128 if is_complex else dtypes.float64
    if self.dtype is not wanted:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.type_name} but the operation's "
            f"result requires dtype {wanted.type_name}"
        )
    return _pow_in_place(self, _as_double(exponent, wanted))


@op(
    input=lambda m, g, out: m.div(g, m.mul(out, 2)),
    ufunc="sqrt",
    float_result=True,
    samples=samples.unary(
        0.2, 4, dtypes=_ALL, extra=[Sample(T(values=[0.0, -1.0, float("inf")]), second=False)]
    ),
)
def sqrt(xp: Namespace, input: Array) -> Array:
    """Square root of every element; nan for negative ones."""
    return xp.sqrt(input)


@op(
    input=lambda m, g, out: m.mul(m.mul(g, -0.5), m.pow(out, 3)),
    float_result=True,
    samples=samples.unary(
        0.2, 4, dtypes=_ALL, extra=[Sample(T(values=[0.0, -1.0, float("inf")]), second=False)]
    ),
)
def rsqrt(xp: Namespace, input: Array) -> Array:
    """``1 / sqrt(input)``."""
    return xp.reciprocal(xp.sqrt(input))
