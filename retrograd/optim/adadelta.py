"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import add_product, add_scaled, count, reals, scalar, zeros_like
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import LATER_OPTIONS, by_name, check, check_implementation, check_rate
from retrograd.optim.recorded import rate_of, replaced, squared
from retrograd.tensor import Array, Tensor


class Adadelta(Optimizer):
    """Steps in the units of the weights themselves (Zeiler, 2012).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9997], requires_grad=True)
    """

    _later_options = LATER_OPTIONS
    _scalar_state = ("step",)
    _compiled_rule = "adadelta"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check(0.0 <= rho <= 1.0, "Invalid rho value: {}", rho)
        check(0.0 <= eps, "Invalid epsilon value: {}", eps)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        defaults = by_name(
            locals(), "lr rho eps weight_decay maximize capturable foreach differentiable"
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["square_avg"] = zeros_like(parameter)
        state["acc_delta"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        rho, eps = group["rho"], group["eps"]
        count(state)
        square, moved = reals(state["square_avg"]), reals(state["acc_delta"])
        scratch = xp.empty_like(value)
        square *= rho
        add_product(square, g, g, 1 - rho, scratch)
        delta = moved + eps
        xp.sqrt(delta, out=delta)
        xp.add(square, eps, out=scratch)
        xp.sqrt(scratch, out=scratch)
        delta /= scratch
        delta *= g
        moved *= rho
        add_product(moved, delta, delta, 1 - rho, scratch)
        add_scaled(value, delta, -float(group["lr"]), scratch)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        rho, eps = group["rho"], group["eps"]
        count(state)
        square = squared(state["square_avg"], g, rho)
        moved = state["acc_delta"].clone()
        delta = (moved + eps).sqrt() / (square + eps).sqrt() * g
        replaced(state["acc_delta"], moved * rho + delta * delta * (1 - rho))
        parameter.sub_(delta * rate_of(group))


def adadelta(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    square_avgs: Sequence[Tensor],
    acc_deltas: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of `Adadelta`, in place, on lists."""
    step_lists(Adadelta, params, grads, locals())
