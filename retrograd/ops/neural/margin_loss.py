"""Losses that stop at a margin: rankings, hinges, triplets and the multi-class margins."""

from __future__ import annotations

import math
from collections.abc import Callable

from retrograd import dtypes
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.neural.distance import pairwise_distance
from retrograd.ops.neural.loss_reduction import (
    MEAN,
    NONE,
    apply_reduction,
    legacy_reduction,
    reduced,
    reduction_code,
)
from retrograd.ops.neural.operand_checks import no_gradient
from retrograd.ops.registry import (
    RECORDED,
    Table,
    composite,
    function_only,
    functional,
    inner_op,
    op,
)
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)
_WAYS = ("mean", "sum", "none")
_SIGNS = T(values=[[1.0, -1.0, 1.0, -1.0]] * 3, grad=False)


def _apply_code(losses: Tensor, code: int) -> Tensor:
    return losses if code == NONE else losses.mean() if code == MEAN else losses.sum()


def _publish(name: str, compute: Callable[..., Tensor], *shapes: tuple[int, ...]) -> None:
    """``torch.<name>``: the same computation, with a number for the reduction.

    Without the number PyTorch does not reduce, though its signature says ``reduction=Mean``.
    """

    def samples() -> list[Sample]:
        target = T(3, grad=False)
        tensors = (*(T(*s) for s in shapes), target)
        ways = [Sample(*tensors, reduction=code) for code in (0, 1, 2)]
        return [*ways, Sample(*tensors)]

    def function(*args: Tensor, **named: object) -> Tensor:
        result: Tensor = compute(*args, **named)
        return result

    function.__doc__ = compute.__doc__
    composite(name=name, methods=(), samples=samples, autocast="float32")(function)


# ---------------------------------------------------------------------------- pairs of numbers


def _ranking(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``; `reduction`: 0 none, 1 mean, 2 sum."""
    return _apply_code((-target * (input1 - input2) + margin).clamp_min(0), reduction)


_publish("margin_ranking_loss", _ranking, (3,), (3,))


@functional(
    samples=lambda: [
        *(Sample(T(3, 4), T(3, 4), _SIGNS, reduction=w, dtypes=_EVERY) for w in _WAYS),
        Sample(T(3, 4), T(3, 4), _SIGNS, 0.5),
        Sample(T(3, 4), T(1, 4), _SIGNS, 0.5, size_average=False),
        Sample(T(), T(), T(grad=False)),
        Sample(T(3, 4), T(4), _SIGNS),
        Sample(T(3, 4), T(3, 4), T(3)),
        Sample(T(3), T(3), T(3, grad=False), reduction="median"),
    ],
    autocast="float32",
)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: which of two should be larger."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return _ranking(input1, input2, target, margin, code)


def _zeros(value: Tensor) -> Tensor:
    return RECORDED.zeros_like(value)


def _hinge(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""
    beyond = (margin - input).clamp_min(0)
    far = RECORDED.where(target != 1, beyond, _zeros(input))
    near = RECORDED.where(target != -1, input, _zeros(input))
    return _apply_code(far + near, reduction)


_publish("hinge_embedding_loss", _hinge, (3,))


@functional(
    samples=lambda: [
        *(Sample(T(3, 4), _SIGNS, reduction=w, dtypes=_EVERY) for w in _WAYS),
        Sample(T(3, 4), _SIGNS, 0.3),
        Sample(T(3, 4), T(values=[1.0, -1.0, 0.5, 0.0], grad=False)),
        Sample(T(3), T(3, dtype="int64", low=-1, high=1), size_average=False),
    ],
    autocast="float32",
)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    return _hinge(input, target, margin, reduction_code(reduction))


# ---------------------------------------------------------------------------- pairs of vectors

_TINY = 1e-12


def _cosine(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    rank = target.ndim
    if rank > 1:
        raise errors.runtime_error(
            "0D or 1D target tensor expected, multi-target not supported", code="RG209"
        )
    if not input1.ndim == input2.ndim == rank + 1:
        sizes = f"{list(input1._array.shape)} and {list(input2._array.shape)}"
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{sizes}."
        )
    product = (input1 * input2).sum(rank)
    square1 = (input1 * input1).sum(rank) + _TINY
    square2 = (input2 * input2).sum(rank) + _TINY
    cosine = product / (square1 * square2).sqrt()
    near, far = 1 - cosine, (cosine - margin).clamp_min(0)
    zeros = _zeros(cosine)
    losses = RECORDED.where(target == 1, near, zeros) + RECORDED.where(target == -1, far, zeros)
    return _apply_code(losses, reduction)


_publish("cosine_embedding_loss", _cosine, (3, 4), (3, 4))


@functional(
    samples=lambda: [
        *(
            Sample(T(3, 4), T(3, 4), T(values=[1.0, -1.0, 1.0], grad=False), reduction=w)
            for w in _WAYS
        ),
        Sample(T(3, 4), T(3, 4), T(values=[1, -1, -1], dtype="int64"), 0.3),
        Sample(T(4), T(4), T(values=1.0, grad=False)),
        Sample(T(4), T(4), T(1, grad=False)),
        Sample(T(3, 4), T(3, 4), T(grad=False)),
        Sample(T(3, 4), T(3, 4), T(4, grad=False)),
        Sample(T(3, 4), T(3, 4), T(3, 1, grad=False)),
    ],
    autocast="float32",
)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    return _cosine(input1, input2, target, margin, reduction_code(reduction))


# ------------------------------------------------------------------------------------ triplets


def _triplet(
    distance: Callable[[Tensor, Tensor], Tensor],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
) -> Tensor:
    ranks = (anchor.ndim, positive.ndim, negative.ndim)
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = RECORDED.minimum(far, distance(positive, negative))
    return (near + margin - far).clamp_min(0)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def _triplet_samples() -> list[Sample]:
    triple = (T(3, 4), T(3, 4), T(3, 4))
    return [
        *(Sample(*triple, reduction=way) for way in _WAYS),
        Sample(*triple, margin=3.0, swap=True),
        Sample(T(4), T(4), T(4), margin=2.0),
        Sample(*triple, margin=0),
        Sample(T(3, 4), T(3, 4), T(4)),
        Sample(*triple, reduction="median"),
    ]


@functional(
    samples=lambda: [
        *_triplet_samples(),
        Sample(T(3, 4), T(3, 4), T(3, 4), 2.0, 1, 1e-3),
        Sample(T(3, 4), T(3, 4), T(3, 4), size_average=False),
    ],
    autocast="float32",
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the positive is not nearer to the anchor than the negative, by a margin."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    reduction_code(reduction)
    _check_margin(margin)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    losses = _triplet(distance, anchor, positive, negative, margin, swap)
    return apply_reduction(losses, reduction)


@function_only(
    samples=lambda: [Sample(T(3, 4), T(3, 4), T(3, 4), reduction=code) for code in (0, 1, 2)],
    autocast="float32",
)
def _torch_triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """The same; `reduction` is 0 for none, 1 for mean, 2 for sum."""

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    losses = _triplet(distance, anchor, positive, negative, margin, swap)
    return _apply_code(losses, reduction)


@functional(samples=_triplet_samples)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance."""
    reduction_code(reduction)
    _check_margin(margin)
    distance = pairwise_distance if distance_function is None else distance_function
    losses = _triplet(distance, anchor, positive, negative, margin, swap)
    return apply_reduction(losses, reduction)


# --------------------------------------------------------------------------- multi_margin_loss


def _rows(array: Array) -> Array:
    """Scores or classes as a matrix: a vector is one row, a number one column."""
    return array.reshape(1, -1) if array.ndim < 2 else array


def _margins(m: Table, g: Tensor, input: Tensor, target: Tensor, weight: Tensor, reduction: int,
             p: int, margin: float) -> Tensor:  # fmt: skip
    """Slopes of all classes; the right one loses what the others gain, itself included."""
    shape = tuple(input.shape)
    matrix = shape if len(shape) == 2 else (1, max(math.prod(shape), 1))
    scores = m.reshape(input, matrix)
    classes = m.reshape(target, (matrix[0], 1))
    beyond = m.add(m.sub(scores, m.gather(scores, 1, classes)), margin)
    slopes = m.gt(beyond, 0) * (beyond * 2 if p == 2 else m.ones_like(beyond))
    if weight is not None:
        chosen = m.index_select(weight, 0, m.reshape(target, (matrix[0],)))
        slopes = slopes * m.reshape(chosen, (matrix[0], 1))
    incoming = m.reshape(g, (matrix[0], 1)) if reduction == NONE else g
    slopes = slopes * incoming * (1 / matrix[1] / (matrix[0] if reduction == MEAN else 1))
    result = m.scatter_add(slopes, 1, classes, m.neg(m.sum(slopes, 1, True)))
    return m.reshape(result, shape)


@inner_op(input=_margins, autocast="float32")
def multi_margin_loss(
    xp: Namespace,
    input: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    p: int,
    margin: float,
) -> Array:
    """Sums over the wrong classes of how far their scores come near that of the right one."""
    scores = _rows(input)
    classes = target.reshape(-1)
    if ((classes < 0) | (classes >= scores.shape[1])).any():
        raise RuntimeError("target out of range")
    places = (xp.arange(len(classes)), classes)
    beyond = xp.maximum(scores - scores[places][:, None] + margin, 0)
    beyond[places] = 0
    losses = xp.divide(xp.sum(beyond if p == 1 else beyond * beyond, axis=1), scores.shape[1])
    if weight is not None:
        losses = xp.multiply(losses, weight[classes])
    if reduction == NONE:
        return losses.reshape(target.shape)
    return reduced(xp, losses, reduction)


def _check_scores(name: str, kernel: str, input: Tensor, target: Tensor) -> None:
    array = input._array
    if array.ndim > 2 or 0 in array.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(array.shape)}"
        )
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise errors.not_implemented_for(kernel, array.dtype)
    if target._array.dtype is not dtypes.I64:
        raise errors.runtime_error(
            f"expected scalar type Long but found {target.dtype.type_name}", code="RG301"
        )
    if not array.size:
        raise errors.unsupported(f"{name} of an empty batch")


def _class_samples() -> list[Sample]:
    some = T(values=[1, 0, 3], dtype="int64")
    found = []
    for way in _WAYS:
        found += [
            Sample(T(3, 4), some, reduction=way, second=False),
            Sample(T(3, 4), some, 2, 0.5, T(4, grad=False), reduction=way, second=False),
            Sample(T(4), T(values=2, dtype="int64"), reduction=way, second=False),
            Sample(T(4), T(values=[2], dtype="int64"), reduction=way, second=False),
        ]
    return [
        *found,
        Sample(T(), T(values=0, dtype="int64"), second=False),
        Sample(T(3, 4), some, size_average=False, second=False),
        Sample(T(3, 4), some, 3),
        Sample(T(3, 4), some, weight=T(4)),
        Sample(T(3, 4), some, weight=T(3, grad=False)),
        Sample(T(3, 4), T(values=[0, 1, 9], dtype="int64")),
        Sample(T(3, 4), T(values=[0, 1], dtype="int64")),
        Sample(T(3, 4), T(values=[0, 1, 2], dtype="int32")),
        Sample(T(2, 3, 4), T(values=[0, 1], dtype="int64")),
        Sample(T(3, 4, dtype="float16"), some, grad=False),
    ]


@functional(samples=_class_samples, autocast="float32")
def _multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How far the scores of wrong classes come near that of the right one, on average."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    shape = input._array.shape
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    _check_scores("multi_margin_loss", "multi_margin_loss_cpu_kernel", input, target)
    batch = shape[0] if len(shape) == 2 else 1
    if target._array.size != batch or target.ndim > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{batch}], but got "
            f"{list(target._array.shape)}. Input has shape {list(shape)}."
        )
    classes = shape[-1] if shape else 1
    if weight is not None:
        if weight._array.size != classes:
            raise RuntimeError(
                f"inconsistent weight size, expected {classes} but got {list(weight._array.shape)}"
            )
        no_gradient("multi_margin_loss", weight=weight)
    return RECORDED.multi_margin_loss(input, target, weight, code, int(p), margin)


# ----------------------------------------------------------------------- multilabel_margin_loss


def _labels(xp: Namespace, scores: Array, target: Array) -> tuple[Array, Array]:
    """Which entries of each row of targets count (those before the first -1), and which classes."""
    if target.size and (target.min() < -1 or target.max() >= scores.shape[1]):
        raise RuntimeError("argument #2 'target' is out of range")
    counts = xp.cumsum(target < 0, axis=1) == 0
    named = xp.zeros(scores.shape, dtypes.B8)
    rows = xp.broadcast_to(xp.arange(len(target))[:, None], target.shape)
    named[rows[counts], target[counts]] = True
    return counts, named


def _gaps(xp: Namespace, scores: Array, target: Array) -> tuple[Array, Array]:
    """For each named class and each other one: how far the other comes near; and the named ones."""
    counts, named = _labels(xp, scores, target)
    right = xp.take_along_axis(scores, xp.where(counts, target, 0), axis=1)
    gaps = 1 - right[:, :, None] + scores[:, None, :]
    relevant = counts[:, :, None] & ~named[:, None, :]
    return xp.where(relevant, xp.maximum(gaps, 0), xp.zeros((), scores.dtype)), counts


@op(node_name="MultilabelMarginLossBackwardBackward0")
def _multilabel_margin_slopes(xp: Namespace, input: Array, target: Array) -> Array:
    """The slopes of the losses: constants almost everywhere."""
    scores, labels = _rows(input), _rows(target)
    gaps, counts = _gaps(xp, scores, labels)
    active = (gaps > 0).astype(input.dtype)
    slopes = xp.sum(active, axis=1)
    rows = xp.broadcast_to(xp.arange(len(labels))[:, None], labels.shape)
    taken = xp.negative(xp.sum(active, axis=2)[counts])
    xp.add_at(slopes, (rows[counts], labels[counts]), taken)
    return xp.divide(slopes, scores.shape[1]).reshape(input.shape)


def _label_rule(m: Table, g: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    slopes = m._multilabel_margin_slopes(input, target)
    if reduction == NONE and len(input.shape) == 2:
        g = m.unsqueeze(g, 1)
    if reduction == MEAN and len(input.shape) == 2:
        g = m.div(g, input.shape[0])
    return m.mul(slopes, g)


@inner_op(input=_label_rule, autocast="float32", aten="multilabel_margin_loss_forward")
def multilabel_margin_loss(xp: Namespace, input: Array, target: Array, reduction: int) -> Array:
    """Sums over pairs of a named and another class of how far the other comes near."""
    scores = _rows(input)
    gaps, _ = _gaps(xp, scores, _rows(target))
    losses = xp.divide(xp.sum(gaps, axis=(1, 2)), scores.shape[1])
    if reduction == NONE:
        return losses if input.ndim == 2 else losses.reshape(())
    return reduced(xp, losses, reduction)


def _label_samples() -> list[Sample]:
    some = T(values=[[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3]], dtype="int64")
    found = []
    for way in _WAYS:
        found += [
            Sample(T(3, 4), some, reduction=way, second=False),
            Sample(T(4), T(values=[3, 0, -1, 1], dtype="int64"), reduction=way, second=False),
        ]
    return [
        *found,
        Sample(T(), T(values=0, dtype="int64"), second=False),
        Sample(T(3, 4), some, size_average=False, second=False),
        Sample(T(3, 4), T(values=[[3, 0, -1, 1]], dtype="int64")),
        Sample(T(3, 4), T(values=[[3, 0, -1, 9]] * 3, dtype="int64")),
        Sample(T(3, 4), T(values=[[3, 0, -1, 1]] * 3, dtype="int32")),
        Sample(T(2, 3, 4), some),
        Sample(T(3, 4, dtype="float16"), some, grad=False),
    ]


@functional(samples=_label_samples, autocast="float32")
def _multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The margin loss of several right classes per sample: those listed before the first -1."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = reduction_code(reduction)
    name = "multilabel_margin_loss"
    _check_scores(name, f"{name}_forward_out_frame", input, target)
    if target._array.shape != input._array.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target._array.shape)} for input of size: "
            f"{list(input._array.shape)}"
        )
    return RECORDED.multilabel_margin_loss(input, target, code)
