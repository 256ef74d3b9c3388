"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import ClassVar

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import reals
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import by_name, check, check_implementation, check_rate
from retrograd.optim.recorded import rate_of, recorded_descent, replaced
from retrograd.tensor import Array, Tensor, wrap


class SGD(Optimizer):
    """``p -= lr * g``, with momentum, Nesterov's variant and weight decay.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _compiled_rule = "sgd"
    _takes_scale = True
    _later_options: ClassVar[dict[str, object]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check(momentum >= 0.0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = by_name(
            locals(),
            "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused",
        )
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _state_of(self, group: Group, parameter: Tensor) -> State:
        # without momentum there is none, not even an empty one
        return self.state[parameter] if group["momentum"] != 0 else {}

    def _update_one(self, group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
        value, g = reals(parameter), reals(gradient)
        rate, decay, momentum = float(group["lr"]), float(group["weight_decay"]), group["momentum"]
        if group["maximize"] and (decay != 0 or momentum != 0):
            g = -g
        elif group["maximize"]:
            rate = -rate
        xp = xp_of(value)
        scratch = xp.empty_like(value)
        if decay != 0:
            xp.multiply(value, decay, out=scratch)
            scratch += g
            g = scratch
        if momentum != 0:
            g = self._with_momentum(group, state, parameter, g, scratch)
        xp.multiply(g, rate, out=scratch)
        value -= scratch

    def _update_sparse(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        from retrograd.optim import sparse_steps

        sparse_steps.sgd(group, self._state_of(group, parameter), parameter, gradient)

    def _with_momentum(
        self,
        group: Group,
        state: State,
        parameter: Tensor,
        g: Array,
        scratch: Array,
    ) -> Array:
        """The direction to go, which may be `scratch`; `g` may be `scratch` as well."""
        momentum, dampening = group["momentum"], group["dampening"]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = wrap(xp_of(g).empty_like(parameter._array))
            held = reals(buffer)
            held[...] = g
        else:
            held = reals(buffer)
            held *= momentum
            held += g if dampening == 0 else g * (1 - dampening)
        if not group["nesterov"]:
            return held
        if g is scratch:
            return held * momentum + g
        xp_of(held).multiply(held, momentum, out=scratch)
        scratch += g
        return scratch

    def _record_one(self, group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
        momentum = group["momentum"]
        g = recorded_descent(group, parameter, gradient, True)
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                moved = g.detach().clone()
                state["momentum_buffer"] = moved.clone()
            else:
                moved = buffer.clone() * momentum + g * (1 - group["dampening"])
                replaced(buffer, moved)
            g = g + moved * momentum if group["nesterov"] else moved
        parameter.sub_(g * rate_of(group))


def sgd(
    params: Sequence[Tensor],
    d_p_list: Sequence[Tensor],
    momentum_buffer_list: MutableSequence[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float | Tensor,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of `SGD`, in place, on lists; a momentum buffer that is None gets made.

    >>> from retrograd.optim.sgd import sgd
    >>> weight = torch.ones(2)
    >>> sgd([weight], [torch.ones(2)], [None], weight_decay=0, momentum=0, lr=0.5, dampening=0,
    ...     nesterov=False, maximize=False)
    >>> weight
    tensor([0.5000, 0.5000])
    """
    given = locals()
    if momentum == 0:
        del given["momentum_buffer_list"]
    states = step_lists(SGD, params, d_p_list, given)
    if momentum != 0:
        momentum_buffer_list[:] = [state["momentum_buffer"] for state in states]
