"""Losses of regression: mse_loss, l1_loss, smooth_l1_loss, huber_loss and the Gaussian one."""

from __future__ import annotations

import math
import warnings

from retrograd import dtypes
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.neural.loss_reduction import (
    MEAN,
    NONE,
    apply_reduction,
    legacy_reduction,
    reduced,
    reduction_code,
)
from retrograd.ops.neural.operand_checks import common_shape, floating_only
from retrograd.ops.registry import RECORDED, Table, function_only, functional, inner_op, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)


def warn_about_sizes(input: Tensor, target: Tensor) -> None:
    """Say that broadcasting a target is rarely meant."""
    warnings.warn(errors.target_size_warning(input.shape, target.shape), stacklevel=user_level())


def _same_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands in one shape; a warning where they had two."""
    try:
        shape, other = input._array.shape, target._array.shape
    except AttributeError:
        raise errors.without("size", target, input) from None
    if shape == other:
        return input, target
    warn_about_sizes(input, target)
    common = common_shape(shape, other)
    return (
        input if shape == common else input.expand(common),
        target if other == common else target.expand(common),
    )


def count_of(value: Tensor) -> int:
    """How many elements an array or Tensor has."""
    return math.prod(value.shape)


def _weighted(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Losses of the elements times weights; a mean divides by the sum of the weights."""
    if weight._array.shape != losses._array.shape:
        raise ValueError("Weights and input must have the same size.")
    code = reduction_code(reduction)
    losses = losses * weight
    if code == NONE:
        return losses
    total = losses.sum()
    return total / weight.sum() if code == MEAN else total


def _pair_samples(mixed: bool = True) -> list[Sample]:
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
        Sample(T(3), T(3, dtype="float64", grad=True), grad=mixed),
        Sample(T(3), T(3, dtype="int64"), grad=mixed),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
        Sample(T(3, 4), T(3)),
        Sample(T(3), T(3), reduction="median"),
        Sample(T(3), 1.0),
    ]
    return pairs


# --------------------------------------------------------------------------------- mse_loss


def _mean_factor(input: Tensor, reduction: int) -> float:
    return 2 / max(count_of(input), 1) if reduction == MEAN else 2


def _square_error_of_gradient(
    m: Table, g: Tensor, input: Tensor, target: Tensor, reduction: int
) -> Tensor:
    slopes = m.mul(g, m.sub(input, target))
    if reduction == NONE:
        return m.mul(slopes, 2)
    return m.mul(m.sum(slopes), _mean_factor(input, reduction))


def _square_error_curvature(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, reduction: int
) -> Tensor:
    return m.mul(m.mul(g, grad), _mean_factor(input, reduction))


@op(
    grad=_square_error_of_gradient,
    input=_square_error_curvature,
    target=lambda m, g, grad, input, reduction: m.neg(
        _square_error_curvature(m, g, grad, input, reduction)
    ),
    promote=True,
    saved_names={"grad_output": "grad", "self": "input"},
)
def _mse_loss_gradient(
    xp: Namespace, grad: Array, input: Array, target: Array, reduction: int
) -> Array:
    """``2 * grad * (input - target)``, divided by the number of elements for a mean."""
    result = xp.subtract(input, target)
    if reduction == NONE:
        return xp.multiply(xp.multiply(result, grad), 2)
    factor = xp.multiply(grad.astype(dtypes.F64), 2)
    if reduction == MEAN and input.size:
        factor = xp.divide(factor, input.size)
    return xp.multiply(result, factor.astype(result.dtype))


@inner_op(
    input=lambda m, g, input, target, reduction: m._mse_loss_gradient(g, input, target, reduction),
    target=lambda m, g, input, target, reduction: m._mse_loss_gradient(g, target, input, reduction),
    promote=True,
    check=floating_only("mse_cpu"),
    autocast="float32",
)
def mse_loss(xp: Namespace, input: Array, target: Array, reduction: int) -> Array:
    """The squared differences, or their mean or sum."""
    difference = xp.subtract(input, target)
    return reduced(xp, xp.multiply(difference, difference), reduction)


def _compiled_mse_loss(input: Array, target: Array, reduction: int) -> Array | None:
    losses: Array | None = rows.squared_error(input, target)
    return None if losses is None else reduced(CPU.xp, losses, reduction)


compiled_first("mse_loss", _compiled_mse_loss, short=True)


@functional(
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
    autocast="float32",
    autocast_unless="weight",
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
        return _weighted((input - target) ** 2, weight, reduction)
    code = MEAN if reduction == "mean" else reduction_code(reduction)
    return RECORDED.mse_loss(input, target, code)


# ------------------------------------------------------------------------------------- l1_loss


@functional(
    samples=lambda: [
        *_pair_samples(),
        *(
            Sample(T(3, 4), T(3, 4), weight=T(3, 4, low=0.1), reduction=way)
            for way in ("mean", "sum", "none")
        ),
        Sample(T(3, 4), T(3, 4), weight=T(4)),
        Sample(T(3), T(3), dtypes=COMPLEX),
        Sample(T(3), T(3), size_average=False),
    ],
    autocast="float32",
    autocast_unless="weight",
)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of the absolute differences.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 1.0]))
    tensor(1.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _same_shape(input, target)
    losses = RECORDED.abs(RECORDED.sub(input, target))
    if weight is not None:
        return _weighted(losses, weight, reduction)
    return apply_reduction(losses, reduction)


# --------------------------------------------------------------------- smooth_l1_loss, huber_loss


def _clipped_slope(xp: Namespace, input: Array, target: Array, width: float) -> Array:
    """The difference, limited to [-width, width]."""
    return xp.minimum(xp.maximum(xp.subtract(input, target), -width), width)


def _mean_of(xp: Namespace, result: Array, grad: Array, reduction: int) -> Array:
    result = xp.multiply(result, grad)
    return xp.divide(result, max(result.size, 1)) if reduction == MEAN else result


def _bent(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, target: Tensor, reduction: int, width: float
) -> Tensor:
    """The second derivative, one where the loss is a parabola, times both gradients."""
    inside = m.lt(m.abs(m.sub(input, target)), width)
    both = m.mul(m.mul(g, grad), inside)
    return m.div(both, max(count_of(input), 1)) if reduction == MEAN else both


def _of_gradient(m: Table, slopes: Tensor, input: Tensor, reduction: int) -> Tensor:
    """The gradient of the gradient of a reduced loss: all elements share the incoming one."""
    if reduction == NONE:
        return slopes
    total = m.sum(slopes)
    return m.div(total, max(count_of(input), 1)) if reduction == MEAN else total


@op(
    grad=lambda m, g, input, target, reduction, beta: _of_gradient(
        m, m._smooth_l1_loss_gradient(g, input, target, NONE, beta), input, reduction
    ),
    input=lambda m, g, grad, input, target, reduction, beta: m.div(
        _bent(m, g, grad, input, target, reduction, beta), beta
    ),
    target=lambda m, g, grad, input, target, reduction, beta: m.div(
        _bent(m, g, grad, input, target, reduction, beta), -beta
    ),
    promote=True,
    saved_names={"grad_output": "grad", "self": "input"},
)
def _smooth_l1_loss_gradient(
    xp: Namespace, grad: Array, input: Array, target: Array, reduction: int, beta: float
) -> Array:
    slope = _clipped_slope(xp, input, target, beta)
    return _mean_of(xp, xp.divide(slope, beta), grad, reduction)


@inner_op(
    input=lambda m, g, input, target, reduction, beta: m._smooth_l1_loss_gradient(
        g, input, target, reduction, beta
    ),
    target=lambda m, g, input, target, reduction, beta: m._smooth_l1_loss_gradient(
        g, target, input, reduction, beta
    ),
    promote=True,
    check=floating_only("smooth_l1_cpu"),
    autocast="float32",
)
def smooth_l1_loss(
    xp: Namespace, input: Array, target: Array, reduction: int, beta: float
) -> Array:
    """Squared differences where small, absolute ones where large."""
    size = xp.abs(xp.subtract(input, target))
    losses = xp.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta)
    return reduced(xp, losses, reduction)


@functional(
    samples=lambda: [
        *_pair_samples(),
        *(Sample(T(3, 4), T(3, 4), beta=beta) for beta in (0.0, 0.3, 2, -1.0)),
        Sample(T(values=[0.0, 1.0, -1.0, 2.0]), T(values=[0.0] * 4), reduction="none"),
        Sample(T(3), T(3), size_average=False),
    ],
    autocast="float32",
)
def _smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared differences below `beta` (over twice `beta`), absolute ones (less half of it) above.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2))
    tensor(1.3125)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _same_shape(input, target)
    if beta == 0.0:
        return apply_reduction(RECORDED.abs(RECORDED.sub(input, target)), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return RECORDED.smooth_l1_loss(input, target, reduction_code(reduction), beta)


@op(
    grad=lambda m, g, input, target, reduction, delta: _of_gradient(
        m, m._huber_loss_gradient(g, input, target, NONE, delta), input, reduction
    ),
    input=lambda m, g, grad, input, target, reduction, delta: _bent(
        m, g, grad, input, target, reduction, delta
    ),
    target=lambda m, g, grad, input, target, reduction, delta: m.neg(
        _bent(m, g, grad, input, target, reduction, delta)
    ),
    promote=True,
    saved_names={"grad_output": "grad", "self": "input"},
)
def _huber_loss_gradient(
    xp: Namespace, grad: Array, input: Array, target: Array, reduction: int, delta: float
) -> Array:
    return _mean_of(xp, _clipped_slope(xp, input, target, delta), grad, reduction)


@inner_op(
    input=lambda m, g, input, target, reduction, delta: m._huber_loss_gradient(
        g, input, target, reduction, delta
    ),
    target=lambda m, g, input, target, reduction, delta: m._huber_loss_gradient(
        g, target, input, reduction, delta
    ),
    check=floating_only("huber_cpu"),
    autocast="float32",
)
def huber_loss(xp: Namespace, input: Array, target: Array, reduction: int, delta: float) -> Array:
    """Half the squared differences where small, multiples of the absolute ones where large."""
    # the result has the input's dtype, whatever the target's
    size = xp.abs(xp.subtract(input, target.astype(input.dtype, copy=False)))
    losses = xp.where(size < delta, size * size * 0.5, (size - 0.5 * delta) * delta)
    return reduced(xp, losses, reduction)


@functional(
    samples=lambda: [
        *_pair_samples(mixed=False),  # PyTorch's gradient wants one dtype
        *(Sample(T(3, 4), T(3, 4), delta=delta) for delta in (0.3, 2, 0, -1.0)),
        Sample(T(values=[0.0, 1.0, -1.0, 2.0]), T(values=[0.0] * 4), "none"),
        *(Sample(T(3, 4), T(3, 4), way, 1.5, T(3, 4, low=0.1)) for way in ("mean", "sum", "none")),
        Sample(T(3, 4), T(3, 4), weight=T(4)),
    ],
    autocast="float32",
)
def _huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared differences below `delta`, `delta` times the absolute ones above."""
    input, target = _same_shape(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    result: Tensor
    if weight is not None:
        if weight._array.shape != input._array.shape:
            raise ValueError("Weights and input must have the same size.")
        losses = RECORDED.huber_loss(input, target, NONE, delta) * weight
        result = apply_reduction(losses, reduction)
    else:
        result = RECORDED.huber_loss(input, target, reduction_code(reduction), delta)
    return result


# ----------------------------------------------------------- losses of Poisson and Gauss numbers


def _poisson(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        # Stirling's approximation of log(target!)
        factorial = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        losses = losses + factorial.masked_fill(target <= 1, 0)
    return losses if reduction == NONE else losses.mean() if reduction == MEAN else losses.sum()


@functional(
    samples=lambda: [
        *(Sample(T(3, 4), T(3, 4, low=0.1, high=5), reduction=w) for w in ("mean", "sum", "none")),
        Sample(T(3, 4, low=0.1), T(3, 4, low=0, high=5), False, dtypes=_EVERY),
        Sample(T(3, 4), T(3, 4, low=1.5, high=5), full=True),
        Sample(T(3, 4), T(values=[0.5, 1.0, 2.0, 3.0], grad=False), True, True),
        Sample(T(3, 4, low=0.1), T(4, low=0.1), False, True, None, 0.1),
        Sample(T(3), T(3), reduction="median"),
    ],
    autocast="float32",
)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts, given the (logarithms of the) rates."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not a valid value for reduction")
    code = reduction_code(reduction)
    return _poisson(input, target, log_input, full, eps, code)


@function_only(
    samples=lambda: [Sample(T(3), T(3), True, False, 1e-8, code) for code in (0, 1, 2)],
    autocast="float32",
)
def _torch_poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """The negative log-likelihood of counts; `reduction` is 0 for none, 1 for mean, 2 for sum."""
    return _poisson(input, target, log_input, full, eps, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    """The variances, in a shape that broadcasts with the input and is meant to."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return RECORDED.ones_like(input) * var
    if (var._elements() < 0).any():
        raise ValueError("var has negative entry/entries")
    shape, wanted = var._array.shape, input._array.shape
    if shape == wanted:
        return var
    if shape == wanted[:-1]:
        return var.unsqueeze(-1)
    if len(shape) == len(wanted):
        differing = [ours for theirs, ours in zip(wanted, shape, strict=True) if ours != theirs]
        if sum(differing) == 1:
            return var
    raise ValueError("var is of incorrect size")


@functional(
    samples=lambda: [
        *(
            Sample(T(3, 4), T(3, 4), T(3, 4, low=0.2), reduction=way)
            for way in ("mean", "sum", "none")
        ),
        Sample(T(3, 4), T(3, 4), T(3, low=0.2), True),
        Sample(T(3, 4), T(3, 4), T(3, 1, low=0.2)),
        Sample(T(3, 4), T(4), T(3, 4, low=0.2), dtypes=_EVERY),
        Sample(T(3, 4), T(3, 4), T(3, 4, low=0, high=0.1), eps=0.05, numeric=False),
        Sample(T(3, 4), T(3, 4), 2.0),
        Sample(T(3, 4), T(3, 4), -2.0),
        Sample(T(3, 4), T(3, 4), T(values=[[-1.0] * 4] * 3)),
        Sample(T(3, 4), T(3, 4), T(4, low=0.2)),
        Sample(T(3, 4), T(3, 4), T(3, 4, low=0.2), reduction="median"),
    ]
)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of numbers, given means and variances."""
    var = _variance(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return apply_reduction(losses, reduction)
