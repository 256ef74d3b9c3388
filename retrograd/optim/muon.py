"""Muon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.backend import xp_of
from retrograd.notices import runtime_error
from retrograd.optim.arithmetic import add_scaled, approach, decay_weights, reals, zeros_like
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import by_name, check, check_rate
from retrograd.tensor import Array, Tensor, wrap


class Muon(Optimizer):
    """Momentum made nearly orthogonal, for the matrices of hidden layers (Jordan, 2024).

    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1)
    >>> (w * torch.eye(2)).sum().backward()
    >>> optimizer.step()
    >>> bool(w.diagonal().max() < 0.93)
    True
    """

    _decay_joins_gradient = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        check(0.0 <= momentum, "momentum should be >= 0 but is: {}", momentum)
        check(0.0 <= weight_decay, "weight decay should be >= 0 but is: {}", weight_decay)
        check(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            "Adjust learning rate function {} is not supported",
            adjust_lr_fn,
        )
        defaults = by_name(
            locals(), "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                check(
                    parameter.ndim == 2,
                    "Muon only supports 2D parameters whereas we found a parameter with size: {}",
                    parameter.size(),
                )

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        if any(parameter.is_complex() for parameter in parameters):
            raise runtime_error("Muon does not support complex parameters", code="RG304")
        if any(gradient.ndim != 2 for gradient in gradients):
            raise ValueError("Param gradient must be a 2D matrix")
        super()._update(group, parameters, gradients)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["momentum_buffer"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        momentum = group["momentum"]
        buffer = reals(state["momentum_buffer"])
        scratch = xp.empty_like(value)
        approach(buffer, g, 1 - momentum, scratch)
        update = buffer
        if group["nesterov"]:
            update = xp.array(g)
            approach(update, buffer, momentum, scratch)
        direction = _orthogonal(
            wrap(update), group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        decay_weights(group, value)
        rate = float(group["lr"]) * _rate_factor(group["adjust_lr_fn"], *value.shape)
        add_scaled(value, direction._array.astype(value.dtype), -rate, scratch)


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Newton and Schulz's iteration, in bfloat16: all singular values come near one."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    near: Tensor = matrix.bfloat16()
    if tall:
        near = near.T
    near = near / near.norm().clamp(min=eps)
    for _ in range(steps):
        gram = near @ near.T
        near = near.addmm(gram.addmm(gram, gram, beta=b, alpha=c), near, beta=a)
    if tall:
        near = near.T
    return near


def _rate_factor(adjustment: str | None, rows: int, columns: int) -> float:
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def muon(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    muon_momentum_bufs: Sequence[Tensor],
    *,
    foreach: bool | None = None,
    lr: float | Tensor,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """One step of `Muon`, in place, on lists."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    step_lists(Muon, params, grads, locals())
