"""Division and its remainders: div with rounding modes, floor_divide, remainder, fmod, gcd, lcm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes, samples
from retrograd.ops import errors
from retrograd.ops.calling.operands import OPERANDS
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import OPS, RECORDED, Op, Table, composite, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_NAN, _INF = float("nan"), float("inf")


def _check_real_number(kernel: str) -> Callable[..., None]:
    """A check that refuses bool and complex results in the words of PyTorch's kernel."""

    def check(input: Operand, other: Operand, *_: object) -> None:
        found = dtypes.result_dtype([input, other])
        if found.category in (dtypes.BOOL, dtypes.COMPLEX):
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def _check_zero(input: Any, other: Any) -> None:
    """Integers have no infinity to answer a division by zero with."""
    if other.dtype.kind in "iu" and input.size and not other.all():
        raise RuntimeError("ZeroDivisionError")


def _as_steps(xp: Namespace, input: Any, other: Any) -> tuple[Any, Any, bool]:
    """The operands, and whether each step of a division rounds to half precision.

    With one number as the second operand PyTorch computes in float32.
    """
    found = getattr(other if getattr(input, "dtype", None) is None else input, "dtype", None)
    if found not in dtypes.HALF_TYPES:
        return input, other, False
    if getattr(other, "size", 1) == 1:
        return xp.asarray(input, dtypes.F32), xp.asarray(other, dtypes.F32), False
    return input, other, True


def _floor_divide(xp: Namespace, input: Operand, other: Any) -> Array:
    if getattr(other, "dtype", None) is not None:
        _check_zero(input, other)
    input, other, steps = _as_steps(xp, input, other)
    if not steps:
        return xp.floor_divide(input, other)
    one = xp.asarray(1, other.dtype)
    rest = xp.fmod(input, other)
    quotient = (input - rest) / other
    quotient = xp.where((rest != 0) & ((other < 0) != (rest < 0)), quotient - one, quotient)
    floor = xp.floor(quotient)
    floor = xp.where(quotient - floor > xp.asarray(0.5, other.dtype), floor + one, floor)
    whole = input / other
    floor = xp.where(quotient == 0, xp.copysign(one - one, whole), floor)
    return xp.where(other == 0, whole, floor)


def _truncated(xp: Namespace, input: Any, other: Any) -> Array:
    input, other, _ = _as_steps(xp, input, other)
    if getattr(other, "dtype", None) is None or other.dtype.kind not in "iu":
        return xp.trunc(xp.divide(input, other))
    _check_zero(input, other)
    quotient = xp.floor_divide(input, other)
    inexact = xp.not_equal(xp.multiply(quotient, other), input)
    upward = xp.logical_and(inexact, xp.not_equal(input < 0, other < 0))
    return xp.add(quotient, upward, dtype=quotient.dtype)


def _check_mode(input: Operand, other: Operand, rounding_mode: str) -> None:
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    _check_real_number(f"div_{rounding_mode}_cpu")(input, other)


@op(
    input=lambda m, g, rounding_mode: m.zeros_like(g),  # the mode is kept to be looked at
    other=lambda m, g: m.zeros_like(g),
    promote=True,
    check=_check_mode,
    half="steps",
    fast=False,
    node_name="DivBackward2",
    inplace="div_",
    out=True,
    elementwise=True,
    numbers=("wrapped", "alone", "exact"),
    aten="div.Tensor_mode",
)
def _div_rounded(xp: Namespace, input: Operand, other: Operand, rounding_mode: str) -> Array:
    """The quotient rounded down ("floor") or towards zero ("trunc")."""
    rounded = _floor_divide if rounding_mode == "floor" else _truncated
    return rounded(xp, input, other)


def _div_samples() -> list[Sample]:
    every = (*FLOATS, *HALVES, *COMPLEX)
    found = samples.binary(0.3, 2, dtypes=every)()
    found += [
        Sample(T(3), T(3, dtype="complex128", grad=True)),
        Sample(T(3), 2j),
        Sample(3, T(3, low=0.5)),
        Sample(T(values=[1.0, -1, 0]), T(values=[0.0, 0, 0]), second=False),
        Sample(T(4, dtype="int64"), 0, grad=False),
        Sample(T(3), T(3), rounding_mode="down", error=(RuntimeError, "div expected")),
    ]
    for mode in ("floor", "trunc"):
        found += [
            Sample(T(3, 4, low=-5, high=5), T(4, low=0.5), rounding_mode=mode, dtypes=every),
            Sample(T(values=[5.0, -5, 5, -5]), T(values=[3.0, 3, -3, -3]), rounding_mode=mode),
            Sample(T(values=[1.0, -1, 0, _INF]), T(values=[0.0, 0, 0, 2]), rounding_mode=mode),
            Sample(T(4), 0.7, rounding_mode=mode),
        ]
        found += [
            Sample(
                T(values=[7, -7, 7, -7, 6], dtype=kind),
                T(values=[2, 2, -2, -2, 3], dtype=kind),
                rounding_mode=mode,
                grad=False,
            )
            for kind in ("int64", "int32", "int8")
        ]
        found += [
            Sample(T(4, low=0, high=9, dtype=kind), other, rounding_mode=mode, grad=False)
            for kind in ("int64", "uint8", "bool", "float16")
            for other in (2, -2, 1.5, 0, True)
        ]
    return found


@composite(public=("div", "divide"), samples=_div_samples)
def _div(
    input: Tensor | complex,
    other: Tensor | complex,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """``input / other``; with `rounding_mode` "floor" or "trunc" the rounded quotient.

    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """
    more = {} if out is None else {"out": out}
    if rounding_mode is None:
        return RECORDED.div(input, other, **more)
    return RECORDED._div_rounded(input, other, rounding_mode, **more)


@method_only(methods=("div_", "divide_"))
def _div_in_place(
    self: Tensor, other: Tensor | complex, *, rounding_mode: str | None = None
) -> Tensor:
    """In-place version of `div`."""
    if rounding_mode is None:
        divide = OPS["div"].in_place
        return divide(self, other)
    rounded = OPS["_div_rounded"].in_place
    return rounded(self, other, rounding_mode)


@composite(methods=("true_divide",), samples=samples.binary(0.3, 2))
def true_divide(
    dividend: Tensor | complex, divisor: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``dividend / divisor``."""
    return _div(dividend, divisor, out=out)


@method_only()
def _true_divide_in_place(self: Tensor, other: Tensor | complex) -> Tensor:
    """In-place version of `true_divide`."""
    return _div_in_place(self, other)


# --------------------------------------------------------------------------------- floor_divide


def _floor_rule(m: Table, g: Tensor) -> Tensor:
    raise errors.no_derivative("aten::floor_divide")


_FLOORED = [
    Sample(T(3, 4, low=-5, high=5), T(4, low=0.5), grad=False, dtypes=(*FLOATS, *HALVES)),
    Sample(
        T(values=[1.0, -1, 0, 5, -5, _INF, _NAN]),
        T(values=[0.0, 0, 0, -2, 2, 2, 1]),
        grad=False,
    ),
    Sample(T(values=[7, -7, 6], dtype="int64"), T(values=[2, 2, -3], dtype="int64"), grad=False),
    Sample(T(values=[7, -7, 6], dtype="int64"), 0, grad=False),
    Sample(T(values=[7, -7, 6], dtype="int64"), T(values=[0, 1, 2], dtype="int8"), grad=False),
    Sample(T(0, dtype="int64"), 0, grad=False),
    Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
    Sample(T(3, dtype="bool"), 2, grad=False),
    Sample(T(3, dtype="int64"), 0.7, grad=False),
    Sample(T(3, low=1, high=9, dtype="uint8"), 2, grad=False),
    Sample(T(3), T(3), grad=False, dtypes=COMPLEX),
    Sample(T(3), 2.0, grad=False),
]


@op(
    input=_floor_rule,
    other=_floor_rule,
    promote=True,
    check=_check_real_number("div_floor_cpu"),
    half="steps",
    node_name="NotImplemented",
    operators=("__floordiv__",),
    inplace=True,
    inplace_operators=("__ifloordiv__",),
    out=True,
    samples=lambda: [*_FLOORED, Sample(5, T(3, low=1), grad=False)],
    elementwise=True,
    numbers=("alone", "exact"),
)
def floor_divide(xp: Namespace, input: Operand, other: Operand) -> Array:
    """The quotient rounded down; no gradient is defined, as in PyTorch."""
    return _floor_divide(xp, input, other)


@method_only(operators=("__rfloordiv__",))
def _reflected_floor_divide(self: Tensor, other: Tensor | complex) -> Any:
    """``other // self``."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return RECORDED.floor_divide(other, self)


# ------------------------------------------------------------------------------ remainder, fmod


def _remainder(xp: Namespace, input: Any, other: Any) -> Array:
    if getattr(other, "dtype", None) is not None:
        _check_zero(input, other)
    rest = xp.fmod(input, other)
    # NumPy's `remainder` gives a zero the sign of `other`, PyTorch the sign of `input`
    wrong = xp.logical_and(xp.not_equal(rest, 0), xp.not_equal(rest < 0, other < 0))
    return xp.where(wrong, xp.add(rest, other), rest)


def _fmod(xp: Namespace, input: Operand, other: Operand) -> Array:
    if getattr(other, "dtype", None) is not None:
        _check_zero(input, other)
    return xp.fmod(input, other)


def _remainder_scalar_rule(m: Table, g: Tensor) -> Tensor:
    raise errors.no_derivative("aten::remainder")


@op(
    input=lambda m, g: g,
    promote=True,
    check=_check_real_number("remainder_cpu"),
    inplace="remainder_",
    out=True,
    elementwise=True,
    aten="remainder.Scalar",
)
def _remainder_number(xp: Namespace, input: Array, other: Operand) -> Array:
    result: Array = _remainder(xp, input, other)
    return result


@inner_op(
    input=lambda m, g: g,
    other=lambda m, g, input, other: m.mul(m.neg(g), m._div_rounded(input, other, "floor")),
    promote=True,
    check=_check_real_number("remainder_cpu"),
    node_name="RemainderBackward1",
    inplace="remainder_",
    out=True,
    elementwise=True,
    aten="remainder.Tensor",
)
def remainder(xp: Namespace, input: Array, other: Array) -> Array:
    """The remainder of the division rounded down: it has the sign of `other`."""
    return _remainder(xp, input, other)


@op(
    other=_remainder_scalar_rule,
    promote=True,
    check=_check_real_number("remainder_cpu"),
    node_name="NotImplemented",
    fast=False,
    elementwise=True,
    aten="remainder.Scalar_Tensor",
)
def _remainder_of_number(xp: Namespace, input: Operand, other: Array) -> Array:
    result: Array = _remainder(xp, input, other)
    return result


def _remainder_samples() -> list[Sample]:
    found = list(_FLOORED)
    found += [
        Sample(T(3, 4, low=-5, high=5), T(4, low=0.5), dtypes=(*FLOATS, *HALVES)),
        Sample(T(3, 1, low=-5, high=5), T(1, 4, low=-2, high=-0.5)),
        Sample(T(3, low=-5, high=5), 1.5),
        Sample(T(3, low=-5, high=5), -2),
        Sample(T(values=[5.0, -5, _INF, 0, 5]), T(values=[_INF, _INF, 2, 0, _NAN])),
        Sample(T(), T(low=1)),
    ]
    return found


def _remainder_op(other: Tensor | complex) -> Op:
    return OPS["remainder" if isinstance(other, Tensor) else "_remainder_number"]


@composite(samples=lambda: [*_remainder_samples(), Sample(5, T(3, low=1), grad=False)])
def _remainder_function(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """The remainder of the division rounded down: it has the sign of `other`.

    >>> torch.remainder(torch.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """
    if not isinstance(input, Tensor) and isinstance(other, Tensor):
        return RECORDED._remainder_of_number(input, other)
    chosen = _remainder_op(other).function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result


@method_only(operators=("__mod__",))
def _remainder_operator(self: Tensor, other: Tensor | complex) -> Any:
    """``self % other``."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return _remainder_op(other).function(self, other)


@method_only()
def _remainder_in_place(self: Tensor, other: Tensor | complex) -> Tensor:
    """In-place version of `remainder`."""
    return _remainder_op(other).in_place(self, other)


@method_only(operators=("__imod__",))
def _remainder_inplace_operator(self: Tensor, other: Tensor | complex) -> Tensor:
    """``self %= other``."""
    return _remainder_in_place(self, other) if isinstance(other, OPERANDS) else NotImplemented


@method_only(operators=("__rmod__",))
def _reflected_remainder(self: Tensor, other: Tensor | complex) -> Any:
    """``other % self``."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return RECORDED._remainder_of_number(other, self)


@op(
    input=lambda m, g: g,
    promote=True,
    check=_check_real_number("fmod_cpu"),
    inplace="fmod_",
    out=True,
    elementwise=True,
    aten="fmod.Scalar",
)
def _fmod_number(xp: Namespace, input: Array, other: Operand) -> Array:
    result: Array = _fmod(xp, input, other)
    return result


@inner_op(
    input=lambda m, g: g,
    other=lambda m, g, input, other: m.mul(m.neg(g), m._div_rounded(input, other, "trunc")),
    promote=True,
    check=_check_real_number("fmod_cpu"),
    node_name="FmodBackward1",
    inplace="fmod_",
    out=True,
    elementwise=True,
    aten="fmod.Tensor",
)
def fmod(xp: Namespace, input: Array, other: Array) -> Array:
    """The remainder of the division rounded towards zero: it has the sign of `input`."""
    return _fmod(xp, input, other)


def _fmod_op(other: Tensor | complex) -> Op:
    return OPS["fmod" if isinstance(other, Tensor) else "_fmod_number"]


@composite(samples=_remainder_samples)
def _fmod_function(input: Tensor, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded towards zero: it has the sign of `input`."""
    chosen = _fmod_op(other).function
    result: Tensor = chosen(input, other) if out is None else chosen(input, other, out=out)
    return result


@method_only()
def _fmod_in_place(self: Tensor, other: Tensor | complex) -> Tensor:
    """In-place version of `fmod`."""
    return _fmod_op(other).in_place(self, other)


# --------------------------------------------------------------------------------------- gcd, lcm


def _check_integers(kernel: str) -> Callable[..., None]:
    def check(input: Operand, other: Operand) -> None:
        found = dtypes.result_dtype([input, other])
        if found.category != dtypes.INTEGER:
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def _integer_samples() -> list[Sample]:
    kinds = ("int64", "int32", "int8", "uint8", "bool", "float32")
    found = [
        Sample(T(4, low=-9, high=9, dtype=x), T(4, low=-9, high=9, dtype=y), grad=False)
        for x in kinds
        for y in kinds
    ]
    found += [
        Sample(T(values=[0, 4, -6], dtype="int64"), T(values=[0, 0, 4], dtype="int64"), grad=False),
        Sample(
            T(3, 1, low=1, high=9, dtype="int64"), T(4, low=1, high=9, dtype="int64"), grad=False
        ),
        Sample(T(3, dtype="int64"), 4, grad=False),
    ]
    return found


@op(
    ufunc="gcd",
    promote=True,
    fast=False,
    check=_check_integers("gcd_cpu"),
    inplace=True,
    out=True,
    samples=_integer_samples,
    inplace_names=("torch.gcd_",),
)
def gcd(xp: Namespace, input: Array, other: Array) -> Array:
    """Greatest common divisor of two integers."""
    return xp.gcd(input, other)


@op(
    ufunc="lcm",
    promote=True,
    fast=False,
    check=_check_integers("lcm_cpu"),
    inplace=True,
    out=True,
    samples=_integer_samples,
    inplace_names=("torch.lcm_",),
)
def lcm(xp: Namespace, input: Array, other: Array) -> Array:
    """Least common multiple of two integers."""
    return xp.lcm(input, other)
