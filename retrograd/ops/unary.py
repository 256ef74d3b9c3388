"""Functions of one operand: exponentials, trigonometry, rounding, special functions."""

from __future__ import annotations

from typing import Any

from retrograd.ops.kinds import Array
from retrograd.ops.registry import op
from retrograd.testing import samples


@op(
    input=lambda m, g, out: m.mul(g, 1 - m.mul(out, out)),
    ufunc="tanh",
    promote=True,
    float_result=True,
    inplace=True,
    out=True,
    samples=samples.unary(),
)
def tanh(xp: Any, input: Array) -> Array:
    """Hyperbolic tangent of every element."""
    return xp.tanh(input)
