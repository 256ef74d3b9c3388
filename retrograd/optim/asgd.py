"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.optim.arithmetic import add_scaled, count, reals, scalar, zeros_like
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_implementation, check_rate
from retrograd.tensor import Tensor


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of the weights (Polyak and Juditsky, 1992).

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _scalar_state = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_implementation("ASGD", defaults)
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], parameter: Tensor, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0)
        state["eta"] = scalar(float(group["lr"]))
        state["mu"] = scalar(1.0)
        state["ax"] = zeros_like(parameter)

    def _change(self, group: dict[str, Any], state: dict[str, Any], value: Any, g: Any) -> None:
        lambd, rate = group["lambd"], float(group["lr"])
        step = count(state)
        eta, mu = state["eta"]._array, state["mu"]._array
        average = reals(state["ax"])
        scratch = np.empty_like(value)
        value *= 1 - lambd * float(eta)
        add_scaled(value, g, -float(eta), scratch)
        if mu != 1:
            np.subtract(value, average, out=scratch)
            scratch *= float(mu)
            average += scratch
        else:
            np.copyto(average, value)
        eta[...] = rate / (1 + lambd * rate * step) ** group["alpha"]
        mu[...] = 1 / max(1, step - group["t0"])
