"""Adam."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.ops import errors
from retrograd.optim.arithmetic import (
    add_product,
    add_quotient,
    approach,
    count,
    decay_weights,
    reals,
    recorded_descent,
    scalar,
    zeros_like,
)
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import check, check_betas, check_implementation, check_rate
from retrograd.tensor import Tensor


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with AMSGrad and coupled or decoupled weight decay.

    >>> import retrograd as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        one_by_one = not foreach or capturable
        if isinstance(lr, Tensor) and not one_by_one:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_rate(lr)
        check(0.0 <= eps, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if not one_by_one:
                    raise ValueError(
                        f"betas[{index}] as a Tensor is not supported for capturable=False and "
                        "foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{index}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": tuple(b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        check_implementation(type(self).__name__, defaults, recorded=True)
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], parameter: Tensor, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0, group["fused"])
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter)

    def _change(self, group: dict[str, Any], state: dict[str, Any], value: Any, g: Any) -> None:
        beta1, beta2 = map(float, group["betas"])
        step = count(state)
        if group["decoupled_weight_decay"]:
            decay_weights(group, value)
        average, square = reals(state["exp_avg"]), reals(state["exp_avg_sq"])
        scratch = np.empty_like(value)
        approach(average, g, 1 - beta1, scratch)
        square *= beta2
        add_product(square, g, g, 1 - beta2, scratch)
        if group["amsgrad"]:
            highest = reals(state["max_exp_avg_sq"])
            np.maximum(highest, square, out=highest)
            square = highest
        scale = np.sqrt(square)
        scale /= (1 - beta2**step) ** 0.5
        scale += group["eps"]
        add_quotient(value, average, scale, -float(group["lr"]) / (1 - beta1**step), scratch)

    def _update_recorded(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        beta1, beta2 = group["betas"]
        for parameter, g in zip(parameters, gradients, strict=True):
            state = self.state[parameter]
            if not state:
                self._start(group, parameter, state)
            if state["step"].requires_grad:
                raise RuntimeError(
                    "`requires_grad` is not supported for `step` in differentiable mode"
                )
            if parameter.is_complex():
                raise errors.unsupported("Adam(differentiable=True) with complex parameters")
            count(state)
            step = state["step"].clone()
            g = recorded_descent(group, parameter, g)
            if group["decoupled_weight_decay"] and group["weight_decay"] != 0:
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
            average, square = state["exp_avg"], state["exp_avg_sq"]
            average.add_((g - average) * (1 - beta1))
            square.mul_(beta2).add_(g * g * (1 - beta2))
            if group["amsgrad"]:
                highest = state["max_exp_avg_sq"]
                highest.copy_(highest.clone().maximum(square.clone()))
                square = highest
            rate = -(group["lr"] / (1 - beta1**step))
            scale = square.sqrt() / ((1 - beta2**step).sqrt() * rate) + group["eps"] / rate
            parameter.add_(average.clone() / scale)
