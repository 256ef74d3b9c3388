"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

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
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_implementation, check_rate
from retrograd.tensor import Tensor


class RMSprop(Optimizer):
    """Gradients divided by their recent root mean square (Hinton, 2012).

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: Any,
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
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        check_implementation("RMSprop", defaults)
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], parameter: Tensor, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0)
        state["square_avg"] = zeros_like(parameter)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)

    def _change(self, group: dict[str, Any], state: dict[str, Any], value: Any, g: Any) -> None:
        alpha, rate = group["alpha"], float(group["lr"])
        count(state)
        square = reals(state["square_avg"])
        scratch = np.empty_like(value)
        square *= alpha
        add_product(square, g, g, 1 - alpha, scratch)
        scale = square.copy()
        if group["centered"]:
            average = reals(state["grad_avg"])
            approach(average, g, 1 - alpha, scratch)
            add_product(scale, average, average, -1, scratch)
        np.sqrt(scale, out=scale)
        scale += group["eps"]
        if group["momentum"] > 0:
            buffer = reals(state["momentum_buffer"])
            buffer *= group["momentum"]
            add_quotient(buffer, g, scale, 1, scratch)
            add_scaled(value, buffer, -rate, scratch)
        else:
            add_quotient(value, g, scale, -rate, scratch)
