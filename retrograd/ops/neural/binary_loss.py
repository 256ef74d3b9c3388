"""Losses of probabilities: binary cross entropy, also of logits, kl_div and soft margins."""

from __future__ import annotations

import math
import warnings
from typing import Any

from retrograd import dtypes
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
from retrograd.ops.neural.operand_checks import common_shape, floating_only, no_gradient
from retrograd.ops.registry import RECORDED, Table, function_only, functional, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)
_WAYS = ("mean", "sum", "none")


def _finished(
    m: Table, slopes: Tensor, weight: Tensor, reduction: int, shape: tuple[int, ...]
) -> Tensor:
    """Weights and the division of a mean, which all gradients of this file have in common."""
    if weight is not None:
        slopes = m.mul(slopes, weight)
    return m.div(slopes, max(math.prod(shape), 1)) if reduction == MEAN else slopes


# --------------------------------------------------------------------------- binary_cross_entropy

_TINY = float(dtypes.F32.type(1e-12))  # PyTorch's constant has this precision in all dtypes


def _of_gradient(
    m: Table, g: Tensor, input: Tensor, target: Tensor, weight: Tensor, reduction: int
) -> Tensor:
    slopes = m._binary_cross_entropy_gradient(g, input, target, weight, NONE)
    if reduction == NONE:
        return slopes
    total = m.sum(slopes)
    return m.div(total, max(math.prod(input.shape), 1)) if reduction == MEAN else total


def _of_input(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, target: Tensor, weight: Tensor, reduction: int
) -> Tensor:
    spread = (input + _TINY) * ((1 + _TINY) - input)
    bend = (input * input - input * target * 2 + target) / (spread * spread)
    return _finished(m, g * grad * bend, weight, reduction, input.shape)


def _of_target(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, weight: Tensor, reduction: int
) -> Tensor:
    spread = m.clamp(input * (1 - input), _TINY, None)
    return _finished(m, m.neg(g * grad) / spread, weight, reduction, input.shape)


@op(
    grad=_of_gradient,
    input=_of_input,
    target=_of_target,
    saved_names={"grad_output": "grad", "self": "input"},
)
def _binary_cross_entropy_gradient(
    xp: Namespace, grad: Array, input: Array, target: Array, weight: Array | None, reduction: int
) -> Array:
    spread = xp.maximum(xp.multiply(xp.subtract(1, input), input), _TINY)
    slopes = xp.divide(xp.multiply(xp.subtract(input, target), grad), spread)
    if weight is not None:
        slopes = xp.multiply(slopes, weight)
    return xp.divide(slopes, max(slopes.size, 1)) if reduction == MEAN else slopes


@inner_op(
    input=lambda m, g, input, target, weight, reduction: m._binary_cross_entropy_gradient(
        g, input, target, weight, reduction
    ),
    target=lambda m, g, input, weight, reduction: _finished(
        m, m.mul(g, m.neg(m.logit(input))), weight, reduction, input.shape
    ),
    check=floating_only("binary_cross_entropy"),
    autocast="float32",
)
def binary_cross_entropy(
    xp: Namespace, input: Array, target: Array, weight: Array | None, reduction: int
) -> Array:
    """The losses of probabilities; logarithms are not let below -100."""
    for name, values in (("input", input), ("target", target)):
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    true = xp.maximum(xp.log(input), -100)
    false = xp.maximum(xp.log1p(xp.negative(input)), -100)
    losses = xp.subtract(xp.multiply(xp.subtract(target, 1), false), xp.multiply(target, true))
    if weight is not None:
        losses = xp.multiply(losses, weight)
    return reduced(xp, losses, reduction)


def _probability_samples() -> list[Sample]:
    def inside(*shape: int, **more: Any) -> T:
        return T(*shape, low=0.05, high=0.95, **more)

    found = []
    for way in _WAYS:
        found += [
            Sample(inside(3, 4), inside(3, 4), reduction=way, dtypes=_EVERY),
            Sample(inside(3, 4), inside(3, 4), T(3, 4, grad=False), reduction=way),
            Sample(inside(3, 4), inside(3, 4), T(4, grad=False), reduction=way),
            Sample(inside(), inside(), reduction=way),
            Sample(inside(0, 3), inside(0, 3), reduction=way),
        ]
    return [
        *found,
        Sample(
            T(values=[0.0, 1.0, 0.0, 1.0, 0.5]),
            T(values=[0.0, 1.0, 1.0, 0.0, 1.0], grad=False),
            reduction="none",
            second=False,
        ),
        Sample(inside(3), inside(3, grad=False), size_average=False),
        Sample(inside(3, 4), inside(4)),
        Sample(inside(3, 4), inside(3, 4), T(3, grad=False)),
        Sample(inside(3), inside(3), T(3)),
        Sample(inside(3), T(3, dtype="int64", low=0, high=1)),
        Sample(T(3, low=1.5), inside(3)),
        Sample(inside(3), T(3, low=1.5)),
        Sample(T(values=[float("nan")]), inside(1)),
        Sample(inside(3), inside(3), reduction="median"),
        Sample(T(3, dtype="int64", low=0, high=1), T(3, dtype="int64", low=0, high=1), grad=False),
    ]


@functional(samples=_probability_samples, autocast="float32")
def _binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities with targets between 0 and 1.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    shape, other = input._array.shape, target._array.shape
    if shape != other:
        raise errors.explained(
            ValueError(
                f"Using a target size ({target.shape}) that is different to the input size "
                f"({input.shape}) is deprecated. Please ensure they have the same size."
            ),
            code="RG209",
        )
    if weight is not None:
        no_gradient("binary_cross_entropy", weight=weight)
        if weight._array.shape != shape:
            _check_broadcast(weight, shape)
            weight = weight.expand(shape)
    floating_only("binary_cross_entropy")(input._array)
    for value in (target, weight):
        if value is not None and value._array.dtype is not input._array.dtype:
            found, wanted = value.dtype.type_name, input.dtype.type_name
            raise errors.runtime_error(f"Found dtype {found} but expected {wanted}", code="RG301")
    return RECORDED.binary_cross_entropy(input, target, weight, code)


def _check_broadcast(weight: Tensor, shape: tuple[int, ...]) -> None:
    try:
        fits = common_shape(weight._array.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"Attempting to broadcast a dimension of length {weight._array.shape[-1]} at -1! "
            f"Mismatching argument at index 1 had {weight.shape}; but expected shape should be "
            f"broadcastable to {list(shape)}"
        )


# --------------------------------------------------------------- binary_cross_entropy_with_logits


def _logit_slopes(
    m: Table,
    g: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor,
    pos_weight: Tensor,
    reduction: int,
) -> Tensor:
    gate = m.sigmoid(input)
    if pos_weight is None:
        slopes = m.mul(m.sub(gate, target), g)
    else:
        positive = pos_weight * target
        slopes = m.mul((positive + 1 - target) * gate - positive, g)
    return _finished(m, slopes, weight, reduction, input.shape)


def _logit_target_slopes(
    m: Table, g: Tensor, input: Tensor, weight: Tensor, pos_weight: Tensor, reduction: int
) -> Tensor:
    if pos_weight is None:
        slopes = m.mul(m.neg(input), g)
    else:
        slopes = (m.logsigmoid(m.neg(input)) - pos_weight * m.logsigmoid(input)) * g
    return _finished(m, slopes, weight, reduction, input.shape)


@inner_op(
    input=_logit_slopes,
    target=_logit_target_slopes,
    check=floating_only("log_sigmoid_cpu"),
    autocast="float32",
)
def binary_cross_entropy_with_logits(
    xp: Namespace,
    input: Array,
    target: Array,
    weight: Array | None,
    pos_weight: Array | None,
    reduction: int,
) -> Array:
    """The losses of logits, without overflow."""
    likelihood = xp.log_sigmoid(input)
    if pos_weight is not None:
        likelihood = xp.multiply(likelihood, (pos_weight - 1) * target + 1)
    losses = xp.multiply(xp.subtract(1, target), input)
    losses = xp.subtract(losses, likelihood).astype(losses.dtype, copy=False)
    if weight is not None:
        losses = xp.multiply(losses, weight).astype(losses.dtype, copy=False)
    return reduced(xp, losses, reduction)


def _logit_samples() -> list[Sample]:
    positive = T(4, low=0.3, grad=False)
    found = []
    for way in _WAYS:
        found += [
            Sample(T(3, 4), T(3, 4, low=0, high=1), reduction=way, dtypes=_EVERY),
            Sample(T(3, 4), T(3, 4), positive, reduction=way),
            Sample(T(3, 4), T(3, 4), pos_weight=positive, reduction=way),
            Sample(T(3, 4), T(3, 4), T(3, 1, grad=False), pos_weight=positive, reduction=way),
            Sample(T(), T(), reduction=way),
            Sample(T(0, 3), T(0, 3), reduction=way),
        ]
    return [
        *found,
        Sample(T(values=[200.0, -200.0, 0.0]), T(values=[0.0, 1.0, 1.0], grad=False)),
        Sample(T(3), T(3, grad=False), size_average=False),
        Sample(T(3), T(3, dtype="float64", grad=True)),
        Sample(T(3), T(3), pos_weight=T(1, dtype="float64")),
        Sample(T(3), T(3, dtype="int64")),
        Sample(T(3, 4), T(4)),
        Sample(T(3, 4), T(3, 4), T(3, grad=False)),
        Sample(T(3, 4), T(3, 4), T(2, 3, 4, grad=False)),
        Sample(T(3), T(3), T(3)),
        Sample(T(3), T(3), pos_weight=T(3)),
        Sample(T(3), T(3), reduction="median"),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
    ]


def _with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, code: int
) -> Tensor:
    array, other = input._array, target._array
    kind = dtypes.result_dtype([array, other])
    if other.dtype.kind in "biu" and kind.category >= dtypes.FLOAT:
        raise errors.cannot_cast_result(kind, target.dtype)
    name = "binary_cross_entropy_with_logits"
    no_gradient(name, weight=weight, pos_weight=pos_weight)
    for value in (pos_weight, weight):
        if value is not None:
            together = common_shape(array.shape, value._array.shape)
            if together != array.shape:
                raise errors.output_shape(array.shape, together)
    return RECORDED.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


@functional(samples=_logit_samples, autocast="float32")
def _binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross entropy of sigmoids with targets between 0 and 1, from the logits.

    >>> logits = torch.tensor([0.0])
    >>> torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor([1.0]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    if input._array.shape != target._array.shape:
        raise errors.explained(
            ValueError(
                f"Target size ({target.shape}) must be the same as input size ({input.shape})"
            ),
            code="RG209",
        )
    return _with_logits(input, target, weight, pos_weight, code)


@function_only(
    samples=lambda: [Sample(T(3), T(3), reduction=code) for code in (0, 1, 2)], autocast="float32"
)
def _torch_binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """The same; `reduction` is 0 for none, 1 for mean, 2 for sum."""
    return _with_logits(input, target, weight, pos_weight, reduction)


# ---------------------------------------------------------------------------------------- kl_div


def _divergence(input: Tensor, target: Tensor, log_target: bool) -> Tensor:
    for kind, word in (((dtypes.BOOL, dtypes.INTEGER), "Integral"), ((dtypes.COMPLEX,), "Complex")):
        if input.dtype.category in kind or target.dtype.category in kind:
            raise RuntimeError(f"kl_div: {word} inputs not supported.")
    if log_target:
        return target.exp() * (target - input)
    return target.xlogy(target) - target * input


def _divergence_samples() -> list[Sample]:
    def inside(*shape: int) -> T:
        return T(*shape, low=0.05, high=0.95)

    found = []
    for way in (*_WAYS, "batchmean"):
        found += [
            Sample(T(3, 4), inside(3, 4), reduction=way, dtypes=_EVERY),
            Sample(T(3, 4), T(3, 4), reduction=way, log_target=True),
            Sample(T(), inside(), reduction=way),
        ]
    return [
        *found,
        Sample(T(3, 4), inside(4)),
        Sample(T(3), T(values=[0.0, 1.0, 0.5], grad=False), reduction="sum"),
        Sample(T(3), inside(3), size_average=False),
        Sample(T(3), T(3, dtype="int64")),
        Sample(T(3, dtype="complex64"), T(3, dtype="complex64"), grad=False),
        Sample(T(3), inside(3), reduction="median"),
    ]


@functional(samples=_divergence_samples, autocast="float32")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from probabilities.

    >>> target = torch.tensor([0.5, 0.5])
    >>> torch.nn.functional.kl_div(target.log(), target, reduction="sum")
    tensor(0.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            UserWarning,
            stacklevel=user_level(),
        )
    if reduction != "batchmean":
        reduction_code(reduction)
        losses = _divergence(input, target, log_target)
        return apply_reduction(losses, reduction)
    total = _divergence(input, target, log_target).sum()
    return total / input._array.shape[0] if input._array.ndim else total


@function_only(
    samples=lambda: [Sample(T(3), T(3, low=0.1), code) for code in (0, 1, 2)], autocast="float32"
)
def _torch_kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence; `reduction` is 0 for none, 1 for mean, 2 for sum."""
    losses = _divergence(input, target, log_target)
    if reduction == NONE:
        return losses
    return losses.mean() if reduction == MEAN else losses.sum()


# ---------------------------------------------------------------------------------- soft margins


def _margin_slopes(m: Table, g: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    slopes = m.neg(m._soft_margin_loss_slope(input, target)) * target * g
    return m.div(slopes, max(math.prod(slopes.shape), 1)) if reduction == MEAN else slopes


@op(
    input=lambda m, g, input, target: (
        m.neg(m._sigmoid_gradient(g, m._soft_margin_loss_slope(input, target))) * target
    ),
    float_result=True,
    out=False,
    node_name="SoftMarginLossBackwardBackward0",
)
def _soft_margin_loss_slope(xp: Namespace, input: Array, target: Array) -> Array:
    """``sigmoid(-target * input)``."""
    return xp.expit(xp.negative(xp.multiply(target, input)))


def _check_margin(input: Array, target: Array, reduction: int) -> None:
    if input.dtype is dtypes.B8 and target.dtype is dtypes.B8:
        raise errors.runtime_error(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead.",
            code="RG304",
        )
    if input.dtype.kind in "biu":
        target_kind = dtypes.from_numpy_dtype(input.dtype)
        raise errors.cannot_cast_result(dtypes.get_default_dtype(), target_kind)
    if input.dtype.kind == "c":
        raise errors.unsupported("soft_margin_loss of complex numbers")


@inner_op(input=_margin_slopes, promote=True, check=_check_margin, autocast="float32")
def soft_margin_loss(xp: Namespace, input: Array, target: Array, reduction: int) -> Array:
    """``log(1 + exp(-target * input))``."""
    losses = xp.log1p(xp.exp(xp.negative(xp.multiply(target, input))))
    return reduced(xp, losses, reduction)


@functional(
    samples=lambda: [
        *(Sample(T(3, 4), T(3, 4, grad=False), reduction=w, dtypes=_EVERY) for w in _WAYS),
        Sample(T(3, 4), T(4, grad=False)),
        Sample(T(3), T(3, dtype="int64")),
        Sample(T(), T(grad=False)),
        Sample(T(0, 3), T(0, 3, grad=False)),
        Sample(T(3), T(3)),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
        Sample(T(3), T(3, grad=False), reduction="median"),
    ],
    autocast="float32",
)
def _soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` with targets 1 and -1."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    no_gradient("soft_margin_loss", target=target)
    return RECORDED.soft_margin_loss(input, target, code)


@functional(
    samples=lambda: [
        *(Sample(T(3, 4), T(3, 4, low=0, high=1), reduction=w, dtypes=_EVERY) for w in _WAYS),
        Sample(T(3, 4), T(3, 4), T(4)),
        Sample(T(4), T(4), reduction="none"),
        Sample(T(2, 3, 4), T(2, 3, 4), size_average=False),
        Sample(T(3), T(3), reduction="median"),
    ]
)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of many labels at once, averaged over the labels."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    true, false = RECORDED.logsigmoid(input), RECORDED.logsigmoid(-input)
    losses = -(target * true + (1 - target) * false)
    if weight is not None:
        losses = losses * weight
    losses = losses.sum(-1) / input._array.shape[-1]
    if reduction not in _WAYS:
        raise ValueError(reduction + " is not valid")
    return apply_reduction(losses, reduction)
