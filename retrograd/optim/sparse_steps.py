"""Steps along sparse gradients: only the entries that a gradient has are read and written."""

from __future__ import annotations

from typing import Any

from retrograd.backend import xp_of
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.engine.sparse_sums import coalesced
from retrograd.notices import runtime_error
from retrograd.optim.arithmetic import count
from retrograd.optim.optimizer import Group, State
from retrograd.tensor import Tensor

# what an optimizer is called in the refusal, and what it recommends
_REFUSALS = {
    "Adam": "Adam does not support sparse gradients, please consider SparseAdam instead",
    "AdamW": "Adam does not support sparse gradients, please consider SparseAdam instead",
}


# those that do take sparse gradients, but not with `fused=True`
_FUSED_REFUSALS = {
    "SGD": "`_fused_sgd` does not support sparse gradients",
    "Adagrad": "`fused` does not support sparse grad or complex param",
}


def refusal(name: str, fused: bool = False) -> Exception:
    """The error of an optimizer that takes dense gradients only."""
    message = _REFUSALS.get(name, f"{name} does not support sparse gradients")
    if fused:
        message = _FUSED_REFUSALS.get(name, message)
    return runtime_error(message, code="RG306")


def _coalesced(gradient: Tensor) -> SparseArray:
    array: Any = gradient._array
    return coalesced(array)


def sgd(group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
    """One step of SGD; the momentum of a sparse gradient is sparse."""
    momentum = group["momentum"]
    with no_grad():
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=float(group["weight_decay"]))
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = gradient.clone()
            else:
                buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient + buffer * momentum if group["nesterov"] else buffer
        _write(parameter, _coalesced(gradient), -float(group["lr"]))


def adagrad(group: Group, state: State, parameter: Tensor, gradient: Tensor) -> None:
    """One step of Adagrad, on the entries of a gradient."""
    if group["weight_decay"] != 0:
        raise runtime_error(
            "weight_decay option is not compatible with sparse gradients", code="RG306"
        )
    step = count(state)
    array = _coalesced(gradient)
    values = -array.values if group["maximize"] else array.values
    places = tuple(array.indices)
    total = state["sum"]._array
    total[places] += values * values
    rate = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
    moved = values / (xp_of(total).sqrt(total[places]) + group["eps"])
    _write(parameter, coo(array.indices, moved, array.shape, True), -rate)


def adam(group: Group, state: State, step: int, parameter: Tensor, gradient: Tensor) -> None:
    """One step of SparseAdam: moments change only where the gradient has entries."""
    array = _coalesced(gradient)
    if not array.nnz:
        return
    beta1, beta2 = map(float, group["betas"])
    values = -array.values if group["maximize"] else array.values
    places = tuple(array.indices)
    average, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
    average[places] += (values - average[places]) * (1 - beta1)
    square[places] += (values * values - square[places]) * (1 - beta2)
    scale = xp_of(square).sqrt(square[places])
    scale += group["eps"]
    rate = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    moved = average[places] / scale
    _write(parameter, coo(array.indices, moved, array.shape, True), -rate)


def _write(parameter: Tensor, change: SparseArray, rate: float) -> None:
    """Add a coalesced change, times a number, to the parameter's array."""
    target = parameter._array
    target[tuple(change.indices)] += change.values * target.dtype.type(rate)
