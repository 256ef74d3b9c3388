"""Arithmetic of two or three operands: add, mul, div, pow, clamp and their relatives."""

from __future__ import annotations

from typing import Any

from retrograd.ops.kinds import Array, Operand
from retrograd.ops.registry import op
from retrograd.testing import samples


@op(
    input=lambda m, g: g,
    other=lambda m, g, alpha: g if alpha == 1 else m.mul(g, alpha),
    ufunc="add",
    promote=True,
    operators=("__add__", "__radd__"),
    inplace=True,
    inplace_operators=("__iadd__",),
    out=True,
    samples=samples.binary(),
)
def add(xp: Any, input: Operand, other: Operand, *, alpha: Any = 1) -> Array:
    """``input + alpha * other``, elementwise with broadcasting."""
    return xp.add(input, other if alpha == 1 else xp.multiply(other, alpha))


@op(
    input=lambda m, g, other: m.mul(g, other),
    other=lambda m, g, input: m.mul(g, input),
    ufunc="multiply",
    promote=True,
    operators=("__mul__", "__rmul__"),
    inplace=True,
    inplace_operators=("__imul__",),
    out=True,
    samples=samples.binary(),
)
def mul(xp: Any, input: Operand, other: Operand) -> Array:
    """``input * other``, elementwise with broadcasting."""
    return xp.multiply(input, other)
