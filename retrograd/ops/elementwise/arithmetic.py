"""Arithmetic of two or three operands: add, sub, mul, div, neg and their relatives."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes, samples
from retrograd.notices import runtime_error
from retrograd.ops.calling.operands import OPERANDS
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import RECORDED, composite, function_only, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES, *COMPLEX)


def _is_bool(operand: Operand) -> bool:
    return type(operand) is bool or bool(getattr(operand, "dtype", None) == dtypes.B8)


def _check_alpha(input: Operand, other: Operand, *, alpha: complex) -> None:
    if type(alpha) is int and alpha == 1:
        return
    category = dtypes.result_dtype([input, other]).category
    if isinstance(alpha, bool) and category != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category <= dtypes.INTEGER:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and category < dtypes.COMPLEX:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    as_element(alpha, dtypes.result_dtype([input, other]))


def _check_sub(input: Operand, other: Operand, *, alpha: complex) -> None:
    if _is_bool(input) and _is_bool(other):
        raise runtime_error(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
            "`^` or `logical_xor()` operator instead.",
            code="RG304",
        )
    if _is_bool(input) or _is_bool(other):
        raise runtime_error(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead.",
            code="RG304",
        )
    _check_alpha(input, other, alpha=alpha)


def _scaled(xp: Namespace, value: Any, alpha: Any) -> Any:
    """``alpha * value`` in the dtype of `value` (a float alpha never meets an integer here)."""
    if alpha == 1:
        return value
    kind = getattr(value, "dtype", None)
    if kind is not None and kind.kind in "biu":
        alpha = xp.asarray(alpha).astype(kind)
    elif kind in dtypes.HALF_TYPES:  # rounds the factor and the sum, not the product
        value, alpha = value.astype(dtypes.F32), xp.asarray(alpha, kind).astype(dtypes.F32)
    return xp.multiply(value, alpha)


def _alpha_samples() -> list[Sample]:
    return [
        *samples.binary(dtypes=_ALL)(),
        Sample(T(3, 4), T(4), alpha=2),
        Sample(T(3, 4), T(4), alpha=-0.5, dtypes=_ALL),
        Sample(T(3), T(3), alpha=0.5 + 1j, dtypes=COMPLEX),
        Sample(T(3), T(3), alpha=1j),
        Sample(T(3), 2 + 1j),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), alpha=3, grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), alpha=1.5, grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), alpha=True, grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), alpha=2, grad=False),
        Sample(T(values=[250, 3], dtype="uint8"), 300, grad=False),
        Sample(T(values=[127, -128], dtype="int8"), T(values=[1, 1], dtype="int8"), grad=False),
        Sample(T(3), T(3, dtype="complex128", grad=True)),
        Sample(2, T(3)),
        Sample(T(3), T(4), error=(RuntimeError, "The size of tensor a (3)")),
        Sample(T(3), "a", error=(TypeError, "")),
    ]


@op(
    input=lambda m, g: g,
    other=lambda m, g, alpha: g if alpha == 1 else m.mul(g, alpha),
    ufunc="add",
    promote=True,
    check=_check_alpha,
    half="steps",
    operators=("__add__", "__radd__"),
    inplace=True,
    inplace_operators=("__iadd__",),
    out=True,
    samples=_alpha_samples,
    numbers=("wrapped", "alone"),
    old_order=("alpha",),
    aten="add.Tensor",
)
def add(xp: Namespace, input: Operand, other: Operand, *, alpha: complex = 1) -> Array:
    """``input + alpha * other``, elementwise with broadcasting."""
    return xp.add(input, _scaled(xp, other, alpha))


@op(
    input=lambda m, g: g,
    other=lambda m, g, alpha: m.neg(g) if alpha == 1 else m.mul(g, -alpha),
    ufunc="subtract",
    promote=True,
    check=_check_sub,
    half="steps",
    operators=("__sub__",),
    inplace=True,
    inplace_operators=("__isub__",),
    out=True,
    samples=_alpha_samples,
    numbers=("wrapped", "alone"),
    old_order=("alpha",),
    public=("sub", "subtract"),
    aten="sub.Tensor",
)
def sub(xp: Namespace, input: Operand, other: Operand, *, alpha: complex = 1) -> Array:
    """``input - alpha * other``, elementwise with broadcasting."""
    return xp.subtract(input, _scaled(xp, other, alpha))


@op(
    input=lambda m, g, alpha: m.neg(g) if alpha == 1 else m.mul(g, -alpha),
    promote=True,
    check=_check_sub,
    half="steps",
    node_name="RsubBackward1",
    numbers=("wrapped",),
    operators=("__rsub__",),
    elementwise=True,
    aten="rsub.Scalar",
)
def _rsub_number(xp: Namespace, input: Array, other: Operand, *, alpha: complex = 1) -> Array:
    """``other - alpha * input`` with a number `other`."""
    return xp.subtract(other, _scaled(xp, input, alpha))


@inner_op(
    input=lambda m, g, alpha: m.neg(g) if alpha == 1 else m.mul(g, -alpha),
    other=lambda m, g: g,
    promote=True,
    check=_check_sub,
    half="steps",
    elementwise=True,
    lies=("other", "input"),
)
def rsub(xp: Namespace, input: Array, other: Operand, *, alpha: complex = 1) -> Array:
    """``other - alpha * input``, elementwise with broadcasting."""
    return xp.subtract(other, _scaled(xp, input, alpha))


@function_only(
    samples=lambda: [
        *samples.binary(dtypes=_ALL)(),
        Sample(T(3), T(3), alpha=-0.5),
        Sample(T(3), 2.0, alpha=3),
    ]
)
def _rsub(input: Tensor, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
    """``other - alpha * input``, elementwise with broadcasting.

    >>> torch.rsub(torch.tensor([1.0, 2.0]), 3)
    tensor([2., 1.])
    """
    chosen = RECORDED.rsub if isinstance(other, Tensor) else RECORDED._rsub_number
    return chosen(input, other, alpha=alpha)


@op(
    input=lambda m, g, other: m.mul(g, other),
    other=lambda m, g, input: m.mul(g, input),
    ufunc="multiply",
    promote=True,
    operators=("__mul__", "__rmul__"),
    inplace=True,
    inplace_operators=("__imul__",),
    out=True,
    samples=lambda: [
        *samples.binary(dtypes=_ALL)(),
        Sample(T(3), 1j),
        Sample(T(3), T(3, dtype="complex128", grad=True)),
        Sample(T(3, dtype="complex128", grad=True), T(3)),
        Sample(T(values=[100, -100], dtype="int8"), 3, grad=False),
        Sample(2, T(3)),
        Sample(T(2, 3), T(2, 4), error=(RuntimeError, "The size of tensor a (3)")),
    ],
    numbers=("wrapped", "alone", "exact", "saved"),
    public=("mul", "multiply"),
    aten="mul.Tensor",
)
def mul(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input * other``, elementwise with broadcasting."""
    return xp.multiply(input, other)


@inner_op(
    input=lambda m, g, other: m.div(g, other),
    other=lambda m, g, input, other: m.mul(m.neg(g), m.div(m.div(input, other), other)),
    ufunc="divide",
    float_result=True,
    operators=("__truediv__", "__div__"),
    inplace="div_",
    inplace_operators=("__itruediv__", "__idiv__"),
    numbers=("wrapped", "alone", "exact", "saved"),
    aten="div.Tensor",
)
def div(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input / other``, elementwise with broadcasting; integers give the default float dtype."""
    return xp.divide(input, other)


def _check_neg(input: Array) -> None:
    if _is_bool(input):
        raise runtime_error(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead.",
            code="RG304",
        )


@op(
    input=lambda m, g: m.neg(g),
    ufunc="negative",
    check=_check_neg,
    operators=("__neg__",),
    inplace=True,
    out="elementwise",
    public=("neg", "negative"),
    samples=samples.unary(dtypes=_ALL),
)
def neg(xp: Namespace, input: Array) -> Array:
    """``-input``."""
    return xp.negative(input)


@composite(operators=("__pos__",), samples=samples.unary(dtypes=_ALL))
def positive(input: Tensor) -> Tensor:
    """The input itself; an error for booleans."""
    if _is_bool(input._array):
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@op(
    input=lambda m, g, out: m.mul(m.neg(g), m.mul(out, out)),
    ufunc="reciprocal",
    float_result=True,
    samples=samples.unary(
        0.3, 2, dtypes=_ALL, extra=[Sample(T(values=[0.0, -0.0, float("inf")]), second=False)]
    ),
)
def reciprocal(xp: Namespace, input: Array) -> Array:
    """``1 / input``."""
    return xp.reciprocal(input)


@method_only(operators=("__rtruediv__", "__rdiv__"))
def _rtruediv(self: Tensor, other: Tensor | complex) -> Any:
    """``other / self``, as PyTorch records it: the reciprocal times `other`."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return RECORDED.reciprocal(self) * other
