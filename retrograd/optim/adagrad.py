"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.optim.arithmetic import add_product, add_quotient, count, filled_like, reals, scalar
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_implementation, check_rate
from retrograd.tensor import Tensor


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares (Duchi and others, 2011).

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check(0.0 <= lr_decay, "Invalid lr_decay value: {}", lr_decay)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        check(
            0.0 <= initial_accumulator_value,
            "Invalid initial_accumulator_value value: {}",
            initial_accumulator_value,
        )
        check(0.0 <= eps, "Invalid epsilon value: {}", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_implementation("Adagrad", defaults)
        super().__init__(params, defaults)

        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(group, parameter, self.state[parameter])

    def _start(self, group: dict[str, Any], parameter: Tensor, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0, group["fused"])
        state["sum"] = filled_like(parameter, self.defaults["initial_accumulator_value"])

    def _change(self, group: dict[str, Any], state: dict[str, Any], value: Any, g: Any) -> None:
        step = count(state)
        total = reals(state["sum"])
        scratch = np.empty_like(value)
        add_product(total, g, g, 1, scratch)
        scale = np.sqrt(total)
        scale += group["eps"]
        rate = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        add_quotient(value, g, scale, -rate, scratch)
