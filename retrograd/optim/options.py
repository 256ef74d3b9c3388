"""Checks of the options that optimizers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograd.dtypes import C32
from retrograd.ops.errors import unsupported
from retrograd.tensor import Tensor

# options that most optimizers got later: what a group of an older file has in their place
LATER_OPTIONS: dict[str, object] = {
    "foreach": None,
    "maximize": False,
    "differentiable": False,
    "capturable": False,
}


def by_name(values: Mapping[str, Any], names: str) -> dict[str, Any]:
    """The options of these names, in PyTorch's order.

    >>> by_name({"self": None, "eps": 0.1, "lr": 1}, "lr eps")
    {'lr': 1, 'eps': 0.1}
    """
    return {name: values[name] for name in names.split()}


def check_rate(rate: float | Tensor, text: str = "Invalid learning rate: {}") -> None:
    """A learning rate is a number, or a tensor of one, that is not negative."""
    if isinstance(rate, Tensor) and rate.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(0.0 <= rate, text, rate)


def check_betas(betas: tuple[float | Tensor, float | Tensor]) -> None:
    """Both decay rates are in [0, 1)."""
    for index in range(2):
        check(
            0.0 <= betas[index] < 1.0,
            f"Invalid beta parameter at index {index}: {{}}",
            betas[index],
        )


def check_moments(
    rate: float | Tensor,
    betas: tuple[float | Tensor, float | Tensor],
    eps: float,
    weight_decay: float,
) -> None:
    """What Adam and its relatives check."""
    check_rate(rate)
    check(0.0 <= eps, "Invalid epsilon value: {}", eps)
    check_betas(betas)
    check(0.0 <= weight_decay, "Invalid weight_decay value: {}", weight_decay)


def check(good: bool | Tensor, text: str, value: object) -> None:
    """Raise `ValueError` with the value in the text unless `good`."""
    if not good:
        raise ValueError(text.format(value))


def check_implementation(group: Mapping[str, object]) -> None:
    """The options that choose an implementation in PyTorch; the numbers are the same for all.

    foreach, fused   accepted, not both
    capturable       accepted here; a step on the CPU refuses it, as PyTorch's does
    differentiable   accepted, not with `fused`
    """
    if group.get("fused"):
        if group.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if group.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
_CAPTURABLE_TENSORS = {
    "NAdam": "params, mu_products and state_steps",
    "ASGD": "params, mus, etas, and state_steps",
}
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def check_group(optimizer: str, group: Mapping[str, object], parameters: list[Tensor]) -> None:
    """Options of a group that a step cannot follow; loaded state dicts may bring them too."""
    if not parameters:
        return
    if any([parameter._array.dtype is C32 for parameter in parameters]):
        raise unsupported("parameters of complex32 in optimizers; keep them in complex64")
    foreach = group.get("foreach")
    capturable = group.get("capturable") and parameters[0].device.type != "cuda"
    if capturable and optimizer in ("Adam", "AdamW") and not group.get("fused"):
        raise _not_capturable(optimizer, foreach)
    if foreach and group.get("differentiable") and optimizer != "SGD":
        raise AssertionError("_foreach ops don't support autograd")
    if capturable and not group.get("fused"):
        raise _not_capturable(optimizer, foreach)
    if group.get("fused"):
        for parameter in parameters:
            if not parameter.is_floating_point():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of "
                    f"supported devices: {_FUSED_DEVICES} but {parameter.dtype} and "
                    f"{parameter.device.type}"
                )


def _not_capturable(optimizer: str, foreach: object) -> AssertionError:
    tensors = _CAPTURABLE_TENSORS.get(optimizer, "params and state_steps")
    if optimizer == "NAdam" and foreach:
        tensors = "params, mu_products, and state_steps"
    short = optimizer == "Adadelta" or (foreach and optimizer not in ("RMSprop", "Rprop"))
    devices = _CAPTURABLE_DEVICES[: -1 if short else None]
    return AssertionError(f"If capturable=True, {tensors} must be on supported devices: {devices}.")
