"""RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import (
    add_product,
    approach,
    count,
    decay_weights,
    reals,
    scalar,
    zeros_like,
)
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import by_name, check_implementation, check_moments
from retrograd.optim.recorded import averaged, rate_of, shrink_weights, squared
from retrograd.tensor import Array, Tensor


class RAdam(Optimizer):
    """Adam that waits until its scale is reliable (Liu and others, 2020).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, object]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }
    _scalar_state = ("step",)
    _compiled_rule = "radam"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        defaults = by_name(
            locals(),
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
            "differentiable",
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        beta1, beta2 = map(float, group["betas"])
        step = count(state)
        if group["decoupled_weight_decay"]:
            decay_weights(group, value)
        average, square = reals(state["exp_avg"]), reals(state["exp_avg_sq"])
        scratch = xp.empty_like(value)
        approach(average, g, 1 - beta1, scratch)
        square *= beta2
        add_product(square, g, g, 1 - beta2, scratch)
        xp.divide(average, 1 - beta1**step, out=scratch)
        scratch *= float(group["lr"])
        factor = self._rectification(beta2, step)
        if factor is not None:
            scale = xp.sqrt(square)
            scale += group["eps"]
            xp.divide(factor, scale, out=scale)
            scratch *= scale
        xp.subtract(value, scratch, out=value)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        beta1, beta2 = map(float, group["betas"])
        step = count(state)
        shrink_weights(group, parameter)
        average = averaged(state["exp_avg"], g, beta1)
        square = squared(state["exp_avg_sq"], g, beta2)
        change = average / (1 - beta1**step) * rate_of(group)
        factor = self._rectification(beta2, step)
        if factor is not None:
            change = change * (factor / (square.sqrt() + group["eps"]))
        parameter.sub_(change)

    def _rectification(self, beta2: float, step: float) -> float | None:
        """What to multiply with, once the scale is reliable."""
        # The length of the average that the scale amounts to: now, and in the end.
        correction: float = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        if length <= 5.0:
            return None
        rectified = (length - 4) * (length - 2) * longest
        ratio = rectified / ((longest - 4) * (longest - 2) * length)
        return float((correction * ratio) ** 0.5)


def radam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of `RAdam`, in place, on lists."""
    step_lists(RAdam, params, grads, locals())
