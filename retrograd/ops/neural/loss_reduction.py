"""``reduction=`` of losses: its three ways, old arguments for it, and what it does."""

from __future__ import annotations

import warnings

from retrograd.lifecycle.site import user_level
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import attach
from retrograd.tensor import Tensor

NONE, MEAN, SUM = range(3)
_REDUCTIONS = {"mean": MEAN, "sum": SUM, "none": NONE}


def reduction_code(reduction: str) -> int:
    """The number that PyTorch gives a reduction; ValueError for an unknown one.

    >>> reduction_code("sum")
    2
    """
    code = _REDUCTIONS.get(reduction) if isinstance(reduction, str) else None
    if code is not None:
        return code
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            UserWarning,
            stacklevel=user_level(),
        )
        return MEAN
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the old arguments `size_average` and `reduce` stand for, with a warning.

    >>> legacy_reduction(None, None, "sum")
    'sum'
    """
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
        UserWarning,
        stacklevel=user_level(),
    )
    return meant


attach(legacy_reduction, namespace="nn.functional", public=("legacy_reduction",))


def reduced(xp: Namespace, losses: Array, reduction: int) -> Array:
    """Losses of the elements put together: all of them, their mean or their sum."""
    if reduction == NONE:
        return losses
    total = xp.sum_all(losses)
    return total if reduction == SUM else xp.divide(total, losses.size)


def apply_reduction(loss: Tensor, reduction: str) -> Tensor:
    """The same on a Tensor, recorded."""
    code = reduction_code(reduction)
    if code == MEAN:
        return loss.mean()
    return loss.sum() if code == SUM else loss
