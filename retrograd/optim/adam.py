"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from retrograd.backend import xp_of
from retrograd.optim.arithmetic import (
    add_product,
    add_quotient,
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
from retrograd.optim.recorded import averaged, rate_of, replaced, shrink_weights, squared
from retrograd.tensor import Array, Tensor


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with AMSGrad and coupled or decoupled weight decay.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _compiled_rule = "adam"
    _takes_scale = True
    _later_options: ClassVar[dict[str, object]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _scalar_state = ("step",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        one_by_one = not foreach or capturable
        if isinstance(lr, Tensor) and not one_by_one:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_moments(lr, betas, eps, weight_decay)
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if not one_by_one:
                    raise ValueError(
                        f"betas[{index}] as a Tensor is not supported for capturable=False and "
                        "foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{index}] must be 1-element")
        defaults = by_name(
            locals(),
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
            "decoupled_weight_decay",
        ) | {"betas": tuple(b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas)}
        check_implementation(defaults)
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0, group["fused"])
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter)

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
        if group["amsgrad"]:
            highest = reals(state["max_exp_avg_sq"])
            xp.maximum(highest, square, out=highest)
            square = highest
        rate, correction = -float(group["lr"]) / (1 - beta1**step), (1 - beta2**step) ** 0.5
        scale = xp.sqrt(square)
        if value.dtype.itemsize < 4:  # in half precision numbers must not become too small
            scale /= correction
            scale += group["eps"]
            add_quotient(value, average, scale, rate, scratch)
        else:
            scale += group["eps"] * correction
            add_quotient(value, average, scale, rate * correction, scratch)

    def _record(self, group: Group, state: State, parameter: Tensor, g: Tensor) -> None:
        beta1, beta2 = group["betas"]
        count(state)
        step = state["step"].clone()  # a tensor, of its own precision, as in PyTorch
        shrink_weights(group, parameter)
        average = averaged(state["exp_avg"], g, beta1)
        square = squared(state["exp_avg_sq"], g, beta2)
        if group["amsgrad"]:
            highest = state["max_exp_avg_sq"]
            square = replaced(highest, highest.clone().maximum(square))
        rate = -(rate_of(group) / (1 - beta1**step))
        scale = square.sqrt() / ((1 - beta2**step).sqrt() * rate) + group["eps"] / rate
        parameter.add_(average / scale)


def adam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adam`, in place, on lists.

    >>> from retrograd.optim.adam import adam
    >>> weight, (average, square), step = torch.ones(1), torch.zeros(2, 1), torch.tensor(0.0)
    >>> adam([weight], [torch.ones(1)], [average], [square], [], [step], amsgrad=False, beta1=0.9,
    ...      beta2=0.999, lr=0.5, weight_decay=0, eps=1e-8, maximize=False)
    >>> weight, step
    (tensor([0.5000]), tensor(1.))
    """
    step_lists(Adam, params, grads, locals())
