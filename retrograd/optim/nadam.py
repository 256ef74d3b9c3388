"""NAdam."""

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
from retrograd.optim.options import by_name, check, check_implementation, check_moments
from retrograd.optim.recorded import averaged, rate_of, shrink_weights, squared
from retrograd.tensor import Array, Tensor


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8944], requires_grad=True)
    """

    _later_options: ClassVar[dict[str, object]] = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _scalar_state = ("step", "mu_product")
    _compiled_rule = "nadam"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        check(0.0 <= momentum_decay, "Invalid momentum_decay value: {}", momentum_decay)
        defaults = by_name(
            locals(),
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
            "capturable differentiable",
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["mu_product"] = scalar(1.0)
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        beta1, beta2 = map(float, group["betas"])
        rate = float(group["lr"])
        step = count(state)
        if group["decoupled_weight_decay"]:
            decay_weights(group, value)
        momentum, following = self._momenta(group, step)
        product = state["mu_product"]._array
        product *= momentum
        so_far = float(product)
        average, square = reals(state["exp_avg"]), reals(state["exp_avg_sq"])
        scratch = xp.empty_like(value)
        approach(average, g, 1 - beta1, scratch)
        square *= beta2
        add_product(square, g, g, 1 - beta2, scratch)
        scale = square / (1 - beta2**step)
        xp.sqrt(scale, out=scale)
        scale += group["eps"]
        xp.multiply(g, rate * (1.0 - momentum) / (1.0 - so_far), out=scratch)
        scratch += average * (rate * following / (1.0 - so_far * following))
        scratch /= scale
        value -= scratch

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        beta1, beta2 = map(float, group["betas"])
        rate, step = rate_of(group), count(state)
        shrink_weights(group, parameter)
        momentum, following = self._momenta(group, step)
        so_far = state["mu_product"].mul_(momentum).double()
        average = averaged(state["exp_avg"], g, beta1)
        square = squared(state["exp_avg_sq"], g, beta2)
        scale = (square / (1 - beta2**step)).sqrt() + group["eps"]
        parameter.sub_(g / scale * (rate * ((1 - momentum) / (1 - so_far))))
        parameter.sub_(average / scale * (rate * (following / (1 - so_far * following))))

    def _momenta(self, group: Group, step: float) -> tuple[float, float]:
        """This step's momentum and the next one's; `mu_product` is the product of all so far."""
        beta1, decay = group["betas"][0], group["momentum_decay"]
        momentum = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        following = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        return momentum, following


def nadam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    mu_products: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of `NAdam`, in place, on lists."""
    step_lists(NAdam, params, grads, locals())
