"""Adamax."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import add_quotient, approach, count, reals, scalar, zeros_like
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import LATER_OPTIONS, by_name, check_implementation, check_moments
from retrograd.optim.recorded import averaged, rate_of, replaced
from retrograd.tensor import Array, Tensor


class Adamax(Optimizer):
    """Adam with the largest recent gradient as its scale (Kingma and Ba, 2015).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _later_options = LATER_OPTIONS
    _scalar_state = ("step",)
    _compiled_rule = "adamax"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        defaults = by_name(
            locals(), "lr betas eps weight_decay foreach maximize differentiable capturable"
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["exp_avg"] = zeros_like(parameter)
        state["exp_inf"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        beta1, beta2 = map(float, group["betas"])
        step = count(state)
        average, largest = reals(state["exp_avg"]), reals(state["exp_inf"])
        scratch = xp.empty_like(value)
        approach(average, g, 1 - beta1, scratch)
        largest *= beta2
        xp.abs(g, out=scratch)
        scratch += group["eps"]
        xp.maximum(largest, scratch, out=largest)
        add_quotient(value, average, largest, -float(group["lr"]) / (1 - beta1**step), scratch)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        beta1, beta2 = map(float, group["betas"])
        step = count(state)
        average = averaged(state["exp_avg"], g, beta1)
        decayed = state["exp_inf"].clone() * beta2
        largest = replaced(state["exp_inf"], decayed.maximum(g.abs() + group["eps"]))
        parameter.sub_(average / largest * (rate_of(group) / (1 - beta1**step)))


def adamax(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_infs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
) -> None:
    """One step of `Adamax`, in place, on lists."""
    step_lists(Adamax, params, grads, locals())
