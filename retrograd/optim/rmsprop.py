"""RMSprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import (
    add_product,
    add_quotient,
    add_scaled,
    approach,
    count,
    reals,
    scalar,
    zeros_like,
)
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import LATER_OPTIONS, by_name, check, check_implementation, check_rate
from retrograd.optim.recorded import averaged, rate_of, replaced, squared
from retrograd.tensor import Array, Tensor


class RMSprop(Optimizer):
    """Gradients divided by their recent root mean square (Hinton, 2012).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    _compiled_rule = "rmsprop"
    _later_options: ClassVar[dict[str, object]] = {
        "momentum": 0,
        "centered": False,
        **LATER_OPTIONS,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check(0.0 <= eps, "Invalid epsilon value: {}", eps)
        check(0.0 <= momentum, "Invalid momentum value: {}", momentum)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        check(0.0 <= alpha, "Invalid alpha value: {}", alpha)
        defaults = by_name(
            locals(),
            "lr momentum alpha eps centered weight_decay capturable foreach maximize "
            "differentiable",
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["square_avg"] = zeros_like(parameter)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        alpha, rate = group["alpha"], float(group["lr"])
        count(state)
        square = reals(state["square_avg"])
        scratch = xp.empty_like(value)
        square *= alpha
        add_product(square, g, g, 1 - alpha, scratch)
        if group["centered"]:
            average = reals(state["grad_avg"])
            approach(average, g, 1 - alpha, scratch)
            scale = average * average
            xp.subtract(square, scale, out=scale)
            xp.sqrt(scale, out=scale)
        else:
            scale = xp.sqrt(square)
        scale += group["eps"]
        if group["momentum"] > 0:
            buffer = reals(state["momentum_buffer"])
            buffer *= group["momentum"]
            xp.divide(g, scale, out=scratch)
            buffer += scratch
            add_scaled(value, buffer, -rate, scratch)
        else:
            add_quotient(value, g, scale, -rate, scratch)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        alpha, momentum = group["alpha"], group["momentum"]
        count(state)
        scale = squared(state["square_avg"], g, alpha)
        if group["centered"]:
            average = averaged(state["grad_avg"], g, alpha)
            scale = scale - average * average
        change = g / (scale.sqrt() + group["eps"])
        if momentum > 0:
            buffer = state["momentum_buffer"]
            change = replaced(buffer, buffer.clone() * momentum + change)
        parameter.sub_(change * rate_of(group))


def rmsprop(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    square_avgs: Sequence[Tensor],
    grad_avgs: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of `RMSprop`, in place, on lists."""
    step_lists(RMSprop, params, grads, locals())
