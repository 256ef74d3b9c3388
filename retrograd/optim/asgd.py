"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import add_scaled, count, reals, scalar, zeros_like
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import LATER_OPTIONS, by_name, check, check_implementation, check_rate
from retrograd.optim.recorded import replaced
from retrograd.tensor import Array, Tensor


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of the weights (Polyak and Juditsky, 1992).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _later_options = LATER_OPTIONS
    _scalar_state = ("step", "eta", "mu")
    _compiled_rule = "asgd"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)
        defaults = by_name(
            locals(), "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        state["eta"] = scalar(float(group["lr"]))
        state["mu"] = scalar(1.0)
        state["ax"] = zeros_like(parameter)

    def _change(self, group: Group, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        lambd = group["lambd"]
        step = count(state)
        eta, mu = state["eta"]._array, state["mu"]._array
        average = reals(state["ax"])
        scratch = xp.empty_like(value)
        value *= 1 - lambd * float(eta)
        add_scaled(value, g, -float(eta), scratch)
        if mu != 1:
            xp.subtract(value, average, out=scratch)
            scratch *= float(mu)
            average += scratch
        else:
            average[...] = value
        self._advance(group, state, step)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        step = count(state)
        eta, mu = (float(state[name]) for name in ("eta", "mu"))  # numbers, in PyTorch as well
        parameter.mul_(1 - group["lambd"] * eta)
        parameter.sub_(g * eta)
        average = state["ax"].clone()
        replaced(state["ax"], average + (parameter - average) * mu if mu != 1 else parameter)
        self._advance(group, state, step)

    def _advance(self, group: Group, state: State, step: float) -> None:
        """The next step's rate and weight in the average."""
        rate = float(group["lr"])
        state["eta"]._array[...] = rate / (1 + group["lambd"] * rate * step) ** group["alpha"]
        state["mu"]._array[...] = 1 / max(1, step - group["t0"])


def asgd(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    axs: Sequence[Tensor],
    mus: Sequence[Tensor],
    etas: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of `ASGD`, in place, on lists."""
    step_lists(ASGD, params, grads, locals())
