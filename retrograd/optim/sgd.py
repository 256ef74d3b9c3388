"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backend.quiet import quiet
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import reject_unsupported
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

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        reject_unsupported("SGD", differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        rate = float(group["lr"])
        momentum, decay = group["momentum"], group["weight_decay"]
        with quiet():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                value, g = parameter._array, gradient._array
                if group["maximize"]:
                    g = -g
                if decay:
                    g = g + value * decay
                if momentum:
                    state = self.state[parameter]
                    buffer = state.get("momentum_buffer")
                    if buffer is None:
                        state["momentum_buffer"] = wrap(np.array(g))
                        held = state["momentum_buffer"]._array
                    else:
                        held = buffer._array
                        held *= momentum
                        held += g * (1 - group["dampening"])
                    g = g + held * momentum if group["nesterov"] else held
                np.subtract(value, g * rate, out=value)
