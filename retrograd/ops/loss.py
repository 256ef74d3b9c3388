"""Losses of regression: mse_loss, l1_loss, smooth_l1_loss, huber_loss and the Gaussian one."""

from __future__ import annotations

import math
import warnings
from typing import Any

from retrograd.backend import kernels
from retrograd.ops.kinds import Array
from retrograd.ops.neural import (
    MEAN,
    NONE,
    common_shape,
    floating_only,
    legacy_reduction,
    reduced,
    reduction_code,
)
from retrograd.ops.registry import RECORDED, composite, op
from retrograd.tensor import Tensor
from retrograd.testing.samples import FLOATS, HALVES, Sample, T

_EVERY = (*FLOATS, *HALVES)


def warn_about_sizes(input: Any, target: Any, stacklevel: int = 4) -> None:
    """Say that broadcasting a target is rarely meant."""
    ours, theirs = input.shape, target.shape
    warnings.warn(
        f"Using a target size ({theirs}) that is different to the input size ({ours}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same "
        "size.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _same_shape(input: Any, target: Any) -> tuple[Any, Any]:
    """Both operands in one shape; a warning where they had two."""
    shape, other = input._array.shape, target._array.shape
    if shape == other:
        return input, target
    warn_about_sizes(input, target, 5)
    common = common_shape(shape, other)
    return input.expand(common), target.expand(common)


def count_of(value: Any) -> int:
    """How many elements an array or Tensor has."""
    return math.prod(value.shape)


def _weighted(losses: Any, weight: Tensor, reduction: str) -> Any:
    """Losses of the elements times weights; a mean divides by the sum of the weights."""
    if weight._array.shape != losses._array.shape:
        raise ValueError("Weights and input must have the same size.")
    code = reduction_code(reduction)
    losses = losses * weight
    if code == NONE:
        return losses
    total = losses.sum()
    return total / weight.sum() if code == MEAN else total


def _pair_samples() -> list[Sample]:
    pairs: list[Sample] = []
    for way in ("mean", "sum", "none"):
        pairs.append(Sample(T(3, 4), T(3, 4), reduction=way, dtypes=_EVERY))
        pairs.append(Sample(T(3, 4), T(4), reduction=way))
        pairs.append(Sample(T(), T(), reduction=way))
        pairs.append(Sample(T(0, 3), T(0, 3), reduction=way))
    pairs += [
        Sample(T(3), T(3, grad=False)),
        Sample(T(3, grad=False), T(3)),
        Sample(T(2, 1), T(2)),
        Sample(T(3), T(3, dtype="float64", grad=True)),
        Sample(T(3), T(3, dtype="int64")),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
        Sample(T(3, 4), T(3)),
        Sample(T(3), T(3), reduction="median"),
        Sample(T(3), 1.0),
    ]
    return pairs


# --------------------------------------------------------------------------------- mse_loss


def _mean_factor(input: Any, reduction: int) -> float:
    return 2 / max(count_of(input), 1) if reduction == MEAN else 2


def _square_error_of_gradient(m: Any, g: Any, input: Any, target: Any, reduction: int) -> Any:
    slopes = m.mul(g, m.sub(input, target))
    if reduction == NONE:
        return m.mul(slopes, 2)
    return m.mul(m.sum(slopes), _mean_factor(input, reduction))


def _square_error_curvature(m: Any, g: Any, grad: Any, input: Any, reduction: int) -> Any:
    return m.mul(m.mul(g, grad), _mean_factor(input, reduction))


@op(
    grad=_square_error_of_gradient,
    input=_square_error_curvature,
    target=lambda m, g, grad, input, reduction: m.neg(
        _square_error_curvature(m, g, grad, input, reduction)
    ),
    promote=True,
    node_name="MseLossBackwardBackward0",
    saved_names={"grad_output": "grad", "self": "input"},
)
def _mse_loss_gradient(xp: Any, grad: Array, input: Array, target: Array, reduction: int) -> Array:
    """``2 * grad * (input - target)``, divided by the number of elements for a mean."""
    result = kernels.subtract(input, target)
    if reduction == NONE:
        return xp.multiply(xp.multiply(result, grad), 2)  # type: ignore[no-any-return]
    factor = 2 * float(grad)
    if reduction == MEAN and input.size:
        factor /= input.size
    return kernels.multiply(result, factor)


@op(
    input=lambda m, g, input, target, reduction: m._mse_loss_gradient(g, input, target, reduction),
    target=lambda m, g, input, target, reduction: m._mse_loss_gradient(g, target, input, reduction),
    promote=True,
    check=floating_only("mse_cpu"),
    namespace=None,
    methods=(),
)
def mse_loss(xp: Any, input: Array, target: Array, reduction: int) -> Array:
    """The squared differences, or their mean or sum."""
    difference = kernels.subtract(input, target)
    return reduced(xp, kernels.multiply(difference, difference), reduction)  # type: ignore[no-any-return]


@composite(
    name="mse_loss",
    namespace="nn.functional",
    samples=lambda: [
        *_pair_samples(),
        *(
            Sample(T(3, 4), T(3, 4), weight=T(3, 4, low=0.1), reduction=way)
            for way in ("mean", "sum", "none")
        ),
        Sample(T(3, 4), T(3, 4), weight=T(4)),
        Sample(T(3), T(3), size_average=False),
        Sample(T(3), T(3), reduce=False),
        Sample(T(values=[float("inf"), 1.0, float("nan")]), T(3), second=False),
    ],
)
def _mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of the squared differences.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _same_shape(input, target)
    if weight is not None:
        return _weighted((input - target) ** 2, weight, reduction)  # type: ignore[no-any-return]
    code = MEAN if reduction == "mean" else reduction_code(reduction)
    result: Tensor = RECORDED.mse_loss(input, target, code)
    return result
