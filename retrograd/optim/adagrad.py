"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import add_quotient, count, filled_like, reals, scalar
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import by_name, check, check_implementation, check_rate
from retrograd.optim.recorded import rate_of, replaced
from retrograd.tensor import Array, Tensor


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares (Duchi and others, 2011).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _compiled_rule = "adagrad"
    _takes_scale = True
    _later_options: ClassVar[dict[str, object]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: ParamsT,
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
        defaults = by_name(
            locals(),
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
            "differentiable fused",
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

        groups: Any = self.param_groups
        for group in groups:
            for parameter in group["params"]:
                self._start(group, parameter, self.state[parameter])

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0, group["fused"])
        state["sum"] = filled_like(parameter, self.defaults["initial_accumulator_value"])

    def _update_sparse(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        from retrograd.optim import sparse_steps

        sparse_steps.adagrad(group, self.state[parameter], parameter, gradient)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        step = count(state)
        total = reals(state["sum"])
        scratch = xp.empty_like(value)
        xp.multiply(g, g, out=scratch)
        total += scratch
        scale = xp.sqrt(total)
        scale += group["eps"]
        rate = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        add_quotient(value, g, scale, -rate, scratch)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        step = count(state)
        total = replaced(state["sum"], state["sum"].clone() + g * g)
        rate = rate_of(group) / (1 + (step - 1) * group["lr_decay"])
        parameter.sub_(g / (total.sqrt() + group["eps"]) * rate)


def adagrad(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adagrad`, in place, on lists."""
    step_lists(Adagrad, params, grads, locals())
