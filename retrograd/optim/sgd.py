"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backend.quiet import quiet
from retrograd.optim.arithmetic import add_scaled, descent, reals, recorded_descent
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_implementation, check_rate
from retrograd.tensor import Tensor, wrap


class SGD(Optimizer):
    """``p -= lr * g``, with momentum, Nesterov's variant and weight decay.

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check(momentum >= 0.0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_implementation("SGD", defaults, recorded=True)
        super().__init__(params, defaults)

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        rate, momentum = float(group["lr"]), group["momentum"]
        with quiet():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                value = reals(parameter)
                g = descent(group, value, reals(gradient))
                scratch = np.empty_like(value)
                if momentum != 0:
                    g = self._with_momentum(group, self.state[parameter], parameter, g, scratch)
                add_scaled(value, g, -rate, scratch)

    def _with_momentum(
        self, group: dict[str, Any], state: dict[str, Any], parameter: Tensor, g: Any, scratch: Any
    ) -> Any:
        momentum = group["momentum"]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = wrap(np.empty_like(parameter._array))
            held = reals(buffer)
            held[...] = g
        else:
            held = reals(buffer)
            held *= momentum
            add_scaled(held, g, 1 - group["dampening"], scratch)
        if not group["nesterov"]:
            return held
        return held * momentum + g

    def _update_recorded(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        momentum = group["momentum"]
        for parameter, g in zip(parameters, gradients, strict=True):
            g = recorded_descent(group, parameter, g)
            if momentum != 0:
                state = self.state[parameter]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = g.detach().clone()
                else:
                    buffer.mul_(momentum).add_(g * (1 - group["dampening"]))
                g = g + buffer * momentum if group["nesterov"] else buffer.clone()
            parameter.sub_(g * group["lr"])
