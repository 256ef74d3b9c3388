"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import count, filled_like, reals, scalar, zeros_like
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import LATER_OPTIONS, by_name, check_implementation, check_rate
from retrograd.optim.recorded import replaced
from retrograd.tensor import Array, Tensor


class Rprop(Optimizer):
    """A step size for each weight, from the signs of gradients (Riedmiller and Braun, 1993).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _later_options = LATER_OPTIONS
    _scalar_state = ("step",)
    _compiled_rule = "rprop"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = by_name(
            locals(), "lr etas step_sizes foreach maximize differentiable capturable"
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["prev"] = zeros_like(parameter)
        assert parameter.grad is not None
        if isinstance(group["lr"], Tensor) and group["lr"].requires_grad:
            raise TypeError(
                "full_like(): argument 'fill_value' (position 2) must be Number, not Tensor"
            )
        state["step_size"] = filled_like(parameter.grad, float(group["lr"]))

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        smaller, larger = group["etas"]
        count(state)
        previous, size = reals(state["prev"]), reals(state["step_size"])
        factor = xp.sign(g * previous)
        turned = factor < 0
        factor[factor > 0] = larger
        factor[turned] = smaller
        factor[factor == 0] = 1
        size *= factor
        xp.clip(size, *group["step_sizes"], out=size)
        # Where the gradient changed its sign the weight stays for one step.
        previous[...] = g
        previous[turned] = 0
        xp.sign(previous, out=factor)
        factor *= size
        xp.subtract(value, factor, out=value)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        smaller, larger = group["etas"]
        count(state)
        sign = (g * state["prev"].clone()).sign().detach()
        factor = sign.masked_fill(sign > 0, larger).masked_fill(sign < 0, smaller)
        grown = state["step_size"].clone() * factor.masked_fill(sign == 0, 1.0)
        size = replaced(state["step_size"], grown.clamp(*group["step_sizes"]))
        # Where the gradient changed its sign the weight stays for one step.
        kept = replaced(state["prev"], g.masked_fill(sign < 0, 0.0))
        parameter.sub_(kept.sign() * size)


def rprop(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    prevs: Sequence[Tensor],
    step_sizes: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of `Rprop`, in place, on lists."""
    step_lists(Rprop, params, grads, locals())
