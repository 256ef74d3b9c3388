"""Rprop."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.optim.arithmetic import count, filled_like, reals, scalar, zeros_like
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check_implementation, check_rate
from retrograd.tensor import Tensor


class Rprop(Optimizer):
    """A step size for each weight, from the signs of gradients (Riedmiller and Braun, 1993).

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
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
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_implementation("Rprop", defaults)
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], parameter: Tensor, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0)
        state["prev"] = zeros_like(parameter)
        gradient: Any = parameter.grad
        state["step_size"] = filled_like(gradient, float(group["lr"]))

    def _change(self, group: dict[str, Any], state: dict[str, Any], value: Any, g: Any) -> None:
        smaller, larger = group["etas"]
        count(state)
        previous, size = reals(state["prev"]), reals(state["step_size"])
        factor = np.sign(g * previous)
        turned = factor < 0
        factor[factor > 0] = larger
        factor[turned] = smaller
        factor[factor == 0] = 1
        size *= factor
        np.clip(size, *group["step_sizes"], out=size)
        # Where the gradient changed its sign the weight stays for one step.
        np.copyto(previous, g)
        previous[turned] = 0
        np.sign(previous, out=factor)
        factor *= size
        np.subtract(value, factor, out=value)
