"""Steps in recorded operations, for ``differentiable=True``: gradients flow through `step`.

A rule reads a copy of each state entry, computes with it, and writes the result back: what was
saved for the backward pass is never written into, over any number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.optim.optimizer import Group, Optimizer, State


def record_step(
    optimizer: Optimizer, group: Group, state: State, parameter: Tensor, g: Tensor
) -> None:
    """One parameter's update; complex tensors are updated as pairs of reals."""
    step = state.get("step")
    if step is not None and step.requires_grad:
        raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
    held = state
    if parameter.is_complex():
        parameter, g = RECORDED.view_as_real(parameter), RECORDED.view_as_real(g)
        held = {
            name: RECORDED.view_as_real(entry) if entry.is_complex() else entry
            for name, entry in state.items()
        }
    g = recorded_descent(group, parameter, g, optimizer._decay_joins_gradient)
    optimizer._record(group, held, parameter, g)


def recorded_descent(group: Group, parameter: Tensor, g: Tensor, decays: bool) -> Tensor:
    """The gradient with its sign and, where it belongs to the gradient, the weight decay."""
    if group.get("maximize"):
        g = -g
    decay = decay_of(group)
    if decays and decay is not None and not group.get("decoupled_weight_decay"):
        g = g + parameter.clone() * decay
    return g


def decay_of(group: Group) -> float | Tensor | None:
    """The weight decay, None if there is none."""
    decay = group.get("weight_decay", 0)
    return decay if isinstance(decay, Tensor) or decay != 0 else None


def rate_of(group: Group) -> float | Tensor:
    """The learning rate: a number, or a tensor without dimensions."""
    rate = group["lr"]
    return rate.squeeze() if isinstance(rate, Tensor) and rate.ndim else rate


def shrink_weights(group: Group, parameter: Tensor) -> None:
    """Weight decay that shrinks the parameter itself."""
    if group["decoupled_weight_decay"] and decay_of(group) is not None:
        parameter.mul_(1 - rate_of(group) * group["weight_decay"])


def averaged(entry: Tensor, value: Tensor, beta: float | Tensor) -> Tensor:
    """Move a running average towards a value; the new average."""
    old = entry.clone()
    return replaced(entry, old + (value - old) * (1 - beta))


def squared(entry: Tensor, g: Tensor, beta: float | Tensor) -> Tensor:
    """Move a running average towards the square of `g`; the new average."""
    return replaced(entry, entry.clone() * beta + g * g * (1 - beta))


def replaced(entry: Tensor, value: Tensor) -> Tensor:
    """Write a value into a state entry; the value, which stays as it is."""
    entry.copy_(value)
    return value
