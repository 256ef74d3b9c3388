"""Adam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backend.quiet import quiet
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import reject_unsupported
from retrograd.tensor import Tensor, wrap


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

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps < 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        reject_unsupported("Adam", capturable=capturable, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        rate, eps, decay = float(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        decoupled, amsgrad = group["decoupled_weight_decay"], group["amsgrad"]
        with quiet():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                value, g = parameter._array, gradient._array
                state = self.state[parameter]
                if not state:
                    state["step"] = wrap(np.zeros((), np.float32))
                    state["exp_avg"] = wrap(np.zeros_like(value))
                    state["exp_avg_sq"] = wrap(np.zeros_like(value))
                    if amsgrad:
                        state["max_exp_avg_sq"] = wrap(np.zeros_like(value))
                count = state["step"]._array
                count += 1
                step = count.item()
                if group["maximize"]:
                    g = -g
                if decay:
                    if decoupled:
                        value *= 1 - rate * decay
                    else:
                        g = g + value * decay
                average, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
                average += (g - average) * (1 - beta1)
                square *= beta2
                square += g * g * (1 - beta2)
                if amsgrad:
                    highest = state["max_exp_avg_sq"]._array
                    np.maximum(highest, square, out=highest)
                    square = highest
                scale = np.sqrt(square)
                scale /= math.sqrt(1 - beta2**step)
                scale += eps
                np.divide(average, scale, out=scale)
                scale *= rate / (1 - beta1**step)
                np.subtract(value, scale, out=value)
