"""Small in-place steps that update rules are made of, on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograd.backend import CPU, xp_of
from retrograd.dtypes import F32, F64, float64, get_default_dtype
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, wrap

if TYPE_CHECKING:
    from retrograd.optim.optimizer import Group, State
    from retrograd.tensor import Array


def scalar(value: float, fused: object = None) -> Tensor:
    """A tensor of one number, the form in which optimizers keep counts."""
    wide = not fused and get_default_dtype() == float64
    return wrap(CPU.xp.array(value, F64 if wide else F32))


def zeros_like(parameter: Tensor) -> Tensor:
    """Zeros in the parameter's shape, dtype and memory order."""
    if parameter._level:  # under vmap every example has a state of its own
        made: Tensor = RECORDED.zeros_like(parameter)
        return made
    return wrap(xp_of(parameter._array).zeros_like(parameter._array))


def filled_like(parameter: Tensor, value: float) -> Tensor:
    """`value` everywhere; in both parts of complex numbers."""
    filled = zeros_like(parameter)
    if parameter._level:
        return filled.fill_(complex(value, value) if parameter.is_complex() else value)
    reals(filled)[...] = value
    return filled


def reals(tensor: Tensor) -> Array:
    """The tensor's array, complex numbers as pairs of reals; never without a dimension.

    NumPy turns results without dimensions into scalars, which cannot be written in place.
    """
    array = tensor._array
    if array.dtype.kind == "c":
        return array[..., None].view(array.real.dtype)
    return array.reshape(1) if array.ndim == 0 else array


def descent(group: Group, value: Array, g: Array, decays: bool = True) -> Array:
    """The gradient with its sign and, where it belongs to the gradient, the weight decay."""
    if group.get("maximize"):
        g = -g
    decay = group.get("weight_decay", 0)
    if decays and decay != 0 and not group.get("decoupled_weight_decay"):
        decayed = value * float(decay)
        decayed += g
        return decayed
    return g


def decay_weights(group: Group, value: Array) -> None:
    """Weight decay that shrinks the parameter itself."""
    if group["weight_decay"] != 0:
        value *= 1 - float(group["lr"]) * float(group["weight_decay"])


def count(state: State) -> float:
    """Count one more step; the number of steps so far."""
    held = state["step"]._array
    held += 1
    return float(held)


def approach(start: Array, end: Array, weight: float, scratch: Array) -> None:
    """``start += weight * (end - start)``, from the nearer end as PyTorch's `lerp` does."""
    xp = xp_of(start)
    xp.subtract(end, start, out=scratch)
    if abs(weight) < 0.5:
        scratch *= weight
        start += scratch
    else:
        scratch *= 1 - weight
        xp.subtract(end, scratch, out=start)


def add_scaled(total: Array, term: Array, factor: float, scratch: Array) -> None:
    """``total += factor * term``."""
    xp_of(total).multiply(term, factor, out=scratch)
    total += scratch


def add_product(total: Array, a: Array, b: Array, factor: float, scratch: Array) -> None:
    """``total += factor * a * b``; the factor first, which keeps half precision in range."""
    xp_of(total).multiply(a, factor, out=scratch)
    scratch *= b
    total += scratch


def add_quotient(total: Array, a: Array, b: Array, factor: float, scratch: Array) -> None:
    """``total += factor * a / b``."""
    xp_of(total).multiply(a, factor, out=scratch)
    scratch /= b
    total += scratch
