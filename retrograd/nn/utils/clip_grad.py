"""Keeping gradients small: scaled to a total norm, or clamped one by one."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from retrograd import linalg
from retrograd.core import compiled
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.ops.making.creation import zeros
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

_compiled_norm = compiled("clip_norm")
_compiled_value = compiled("clip_value")


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    return [one.grad for one in listed if one.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors, as if they were one vector.

    `foreach` is accepted and changes nothing: there is one way to compute it here.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    many = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    order = float(norm_type)
    if not many:
        return zeros(())
    with no_grad():
        norms = [linalg.vector_norm(one, order) for one in many]
        total: Tensor = linalg.vector_norm(RECORDED.stack(norms), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients in place by ``max_norm / total_norm``, if that is less than one.

    >>> x = torch.nn.Parameter(torch.zeros(1))
    >>> x.grad = torch.tensor([10.0])
    >>> torch.nn.utils.clip_grads_with_norm_([x], 1.0, torch.tensor(10.0))
    >>> x.grad
    tensor([1.0000])
    """
    gradients = _gradients(parameters)
    limit = float(max_norm)
    if not gradients:
        return
    with no_grad():
        # multiplied even by one: asking for the number would be dearer, and nan must spread
        factor = RECORDED.clamp(limit / (total_norm + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most `max_norm`.

    Returns the norm they had.

    >>> x = torch.nn.Parameter(torch.zeros(2))
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([x], max_norm=1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    return _clip_norm(parameters, max_norm, norm_type, error_if_nonfinite)


def _clip_norm(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float, strict: bool
) -> Tensor:
    if not isinstance(parameters, Tensor):
        is_generator = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if is_generator and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=user_level(),
            )
        if _compiled_norm is not None and norm_type == 2 and not strict:
            norm: Tensor | None = _compiled_norm(parameters, float(max_norm))
            if norm is not None:
                return norm
    total = get_total_norm(_gradients(parameters), norm_type, strict)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=user_level(),
    )
    return _clip_norm(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of the gradients in place to [-clip_value, clip_value].

    >>> x = torch.nn.Parameter(torch.zeros(2))
    >>> x.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_([x], 1.0)
    >>> x.grad
    tensor([ 1.0000, -0.5000])
    """
    limit = float(clip_value)
    if not isinstance(parameters, Tensor):
        parameters = list(parameters)
        if _compiled_value is not None and _compiled_value(parameters, limit):
            return
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-limit, limit)
