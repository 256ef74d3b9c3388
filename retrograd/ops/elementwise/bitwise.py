"""Bits of integers: and, or, xor, not and shifts, with their Python operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.ops import errors
from retrograd.ops.calling.aten_names import by_operands
from retrograd.ops.calling.operands import OPERANDS
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import RECORDED, method_only, op
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor


def _check_bits(kernel: str, *, bools: bool = True) -> Callable[..., None]:
    """A check that refuses what has no bits to combine (or, for shifts, only one)."""

    def check(input: Operand, other: Operand) -> None:
        found = dtypes.result_dtype([input, other])
        if found.category > dtypes.INTEGER or (found is dtypes.bool_ and not bools):
            raise errors.not_implemented_for(kernel, found.numpy)

    return check


def _bit_samples() -> list[Sample]:
    kinds = ("int64", "int32", "int8", "uint8", "bool", "float32")
    found = [
        Sample(T(4, low=-9, high=9, dtype=x), T(4, low=0, high=9, dtype=y), grad=False)
        for x in kinds
        for y in kinds
    ]
    found += [
        Sample(T(4, low=-9, high=9, dtype=x), number, grad=False)
        for x in kinds
        for number in (1, 3, True, 1.5)
    ]
    found += [
        Sample(3, T(4, low=0, high=9, dtype="int64"), grad=False),
        Sample(T(3, 1, dtype="int64"), T(4, low=0, high=3, dtype="int64"), grad=False),
        Sample(T(3, dtype="int64"), T(low=0, dtype="int64"), grad=False),
    ]
    return found


def _shift_samples() -> list[Sample]:
    far = T(values=[70, 63, 64, -1, 0], dtype="int64")
    return [*_bit_samples(), Sample(T(5, low=-9, high=9, dtype="int64"), far, grad=False)]


_on_bits = functools.partial(op, promote=True, fast=False, inplace=True, out=True)


@_on_bits(
    ufunc="bitwise_and",
    check=_check_bits("bitwise_and_cpu"),
    operators=("__and__", "__rand__"),
    inplace_operators=("__iand__",),
    samples=_bit_samples,
    aten=by_operands("Tensor", "Scalar", "Scalar_Tensor"),
)
def bitwise_and(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input & other``, bit by bit."""
    return xp.bitwise_and(input, other)


@_on_bits(
    ufunc="bitwise_or",
    check=_check_bits("bitwise_or_cpu"),
    operators=("__or__", "__ror__"),
    inplace_operators=("__ior__",),
    samples=_bit_samples,
    aten=by_operands("Tensor", "Scalar", "Scalar_Tensor"),
)
def bitwise_or(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input | other``, bit by bit."""
    return xp.bitwise_or(input, other)


@_on_bits(
    ufunc="bitwise_xor",
    check=_check_bits("bitwise_xor_cpu"),
    operators=("__xor__", "__rxor__"),
    inplace_operators=("__ixor__",),
    samples=_bit_samples,
    aten=by_operands("Tensor", "Scalar", "Scalar_Tensor"),
)
def bitwise_xor(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input ^ other``, bit by bit."""
    return xp.bitwise_xor(input, other)


def _check_not(input: Array) -> None:
    if input.dtype.kind not in "biu":
        raise errors.not_implemented_for("bitwise_not_cpu", input.dtype)


@op(
    ufunc="invert",
    fast=False,
    check=_check_not,
    inplace=True,
    inplace_names=(),
    out="elementwise",
    samples=lambda: [
        Sample(T(4, dtype=kind), grad=False)
        for kind in ("int64", "int32", "int8", "uint8", "bool", "float32")
    ],
)
def bitwise_not(xp: Namespace, input: Array) -> Array:
    """``~input``: every bit flipped; the logical not of booleans."""
    return xp.invert(input)


@method_only(operators=("__invert__",))
def _invert(self: Tensor) -> Tensor:
    """``~self``."""
    if self._array.dtype.kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return RECORDED.bitwise_not(self)


@_on_bits(
    ufunc="left_shift",
    check=_check_bits("lshift_cpu", bools=False),
    operators=("__lshift__",),
    inplace_operators=("__ilshift__",),
    samples=_shift_samples,
    aten=by_operands("Tensor", "Tensor_Scalar", "Scalar_Tensor"),
)
def bitwise_left_shift(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input << other``; 0 where `other` is no valid number of bits."""
    return xp.left_shift(input, other)


@_on_bits(
    ufunc="right_shift",
    check=_check_bits("rshift_cpu", bools=False),
    operators=("__rshift__",),
    inplace_operators=("__irshift__",),
    samples=_shift_samples,
    aten=by_operands("Tensor", "Tensor_Scalar", "Scalar_Tensor"),
)
def bitwise_right_shift(xp: Namespace, input: Operand, other: Operand) -> Array:
    """``input >> other``; only the sign is left where `other` is no valid number of bits."""
    return xp.right_shift(input, other)


@method_only(operators=("__rlshift__",))
def _reflected_left_shift(self: Tensor, other: Tensor | complex) -> Any:
    """``other << self``."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return RECORDED.bitwise_left_shift(other, self)


@method_only(operators=("__rrshift__",))
def _reflected_right_shift(self: Tensor, other: Tensor | complex) -> Any:
    """``other >> self``."""
    if not isinstance(other, OPERANDS):
        return NotImplemented
    return RECORDED.bitwise_right_shift(other, self)
