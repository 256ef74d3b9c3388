"""Losses of classification: nll_loss and cross_entropy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Namespace
from retrograd.ops.neural.loss_reduction import MEAN, NONE, SUM, legacy_reduction, reduction_code
from retrograd.ops.neural.operand_checks import no_gradient
from retrograd.ops.registry import RECORDED, Table, functional, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_UNSIGNED: dict[int, Any] = {8: dtypes.uint64.numpy, 1: dtypes.U8}

# ------------------------------------------------------------------------------------- nll_loss
#
# The kernels see scores of shape (batch, classes, ...) and classes of shape (batch, ...), or a
# single sample of shape (classes,) with a 0-d (or one-element) class.


def _check_types(input: Array, target: Array, weight: Array | None) -> None:
    """Dtypes and the shape of the weights, in PyTorch's words."""
    if target.dtype is not dtypes.I64 and target.dtype is not dtypes.U8:
        found = dtypes.from_numpy_dtype(target.dtype).type_name
        raise errors.runtime_error(
            f"expected target dtype to be Long or Byte, but got {found}", code="RG305"
        )
    if input.dtype.kind != "f" and input.dtype is not dtypes.BF16:
        raise errors.not_implemented_for("nll_loss_out_frame", input.dtype)
    classes = input.shape[0 if input.ndim == 1 else 1]
    if weight is not None:
        if weight.size != classes or weight.ndim != 1:
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes "
                f"but got weight tensor of shape: {list(weight.shape)}"
            )
        if weight.dtype is not input.dtype:
            wanted, found = (dtypes.from_numpy_dtype(a.dtype).type_name for a in (input, weight))
            raise errors.runtime_error(
                f"expected scalar type {wanted} but found {found}", code="RG301"
            )


def _chosen(
    xp: Namespace, target: Array, classes: int, ignore_index: int
) -> tuple[Array, Array | None]:
    """Classes that are safe to index with, and where they count (None: everywhere)."""
    inside = not target.size or target.view(_UNSIGNED[target.itemsize]).max() < classes
    if inside and not 0 <= ignore_index < classes:
        return target, None
    counts = target != ignore_index
    safe = xp.where(counts, target, 0)
    outside = (safe < 0) | (safe >= classes)
    if outside.any():
        raise errors.explained(
            IndexError(f"Target {int(safe[outside].reshape(-1)[0])} is out of bounds."),
            code="RG204",
        )
    return safe, None if counts.all() else counts


def _places(xp: Namespace, shape: tuple[int, ...], target: Array) -> tuple[Array, ...]:
    """An index of the chosen scores in an array of shape (batch, classes, *places)."""
    if len(shape) == 1:
        return (target.reshape(()),)
    rows = xp.arange(shape[0])
    if len(shape) == 2:
        return rows, target
    last = len(shape) - 2
    along = [xp.arange(n).reshape(n, *(1,) * (last - 1 - d)) for d, n in enumerate(shape[2:])]
    return (rows.reshape(-1, *(1,) * last), target, *along)


def _weights(
    xp: Namespace, weight: Array | None, target: Array, counts: Array | None, like: DType
) -> Array | None:
    """The weight of each place: None for one everywhere."""
    if weight is None:
        return None if counts is None else counts.astype(like)
    found = weight[target]
    return found if counts is None else xp.keep_where(found, counts)


def _total(xp: Namespace, weights: Array | None, target: Array) -> float:
    return target.size if weights is None else float(xp.sum_all(weights))


def _nll_forward(
    xp: Namespace,
    input: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
) -> Array:
    target, counts = _chosen(xp, target, input.shape[min(input.ndim - 1, 1)], ignore_index)
    losses = xp.negative(input[_places(xp, input.shape, target)])
    if input.ndim == 1:
        target = target.reshape(())
        counts = None if counts is None else counts.reshape(())
    weights = _weights(xp, weight, target, counts, input.dtype)
    if weights is not None:
        losses = xp.multiply(losses, weights)
        if counts is not None:
            losses = xp.keep_where(losses, counts)  # an ignored score may be inf
    losses = xp.asarray(losses)
    if reduction == NONE:
        return losses
    total = xp.sum_all(losses)
    return total if reduction == SUM else xp.divide(total, _total(xp, weights, target))


def _nll_backward(
    xp: Namespace,
    grad: Array,
    shape: tuple[int, ...],
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
) -> Array:
    target, counts = _chosen(xp, target, shape[min(len(shape) - 1, 1)], ignore_index)
    result = xp.zeros(shape, grad.dtype)
    places = _places(xp, shape, target)
    if len(shape) == 1:
        target = target.reshape(())
        counts = None if counts is None else counts.reshape(())
    weights = _weights(xp, weight, target, counts, grad.dtype)
    if reduction == MEAN:
        total = _total(xp, weights, target)
        grad = xp.divide(grad, total) if total else grad * float("inf")
    slopes = xp.negative(grad)
    if weights is not None:
        slopes = xp.multiply(slopes, weights)
        if counts is not None:
            slopes = xp.keep_where(slopes, counts)
    result[places] = slopes
    return result


def _declare(name: str, node_name: str) -> None:
    """The loss and its gradient; PyTorch has two of them that differ in name only."""

    def loss(
        xp: Namespace,
        input: Array,
        target: Array,
        weight: Array | None,
        reduction: int,
        ignore_index: int,
    ) -> Array:
        return _nll_forward(xp, input, target, weight, reduction, ignore_index)

    def gradient(
        xp: Namespace,
        grad: Array,
        input: Array,
        target: Array,
        weight: Array | None,
        reduction: int,
        ignore_index: int,
    ) -> Array:
        return _nll_backward(xp, grad, input.shape, target, weight, reduction, ignore_index)

    loss.__name__, gradient.__name__ = name, f"{name}_gradient"

    # PyTorch keeps the scores, though only their shape is read
    def of_input(
        m: Table,
        g: Tensor,
        input: Tensor,
        target: Tensor,
        weight: Tensor,
        reduction: int,
        ignore_index: int,
    ) -> Tensor:
        run: Callable[..., Tensor] = getattr(m, f"{name}_gradient")
        return run(g, input, target, weight, reduction, ignore_index)

    def of_gradient(
        m: Table, g: Tensor, target: Tensor, weight: Tensor, reduction: int, ignore_index: int
    ) -> Tensor:
        run: Callable[..., Tensor] = getattr(m, name)
        return run(g, target, weight, reduction, ignore_index)

    op(
        input=of_input,
        node_name=f"{node_name}Backward0",
        autocast="float32",
        event=name[1:],
        aten=f"{name[1:]}_forward",
    )(loss)
    op(
        grad=of_gradient,
        input=lambda m, g: m.zeros_like(g),
        node_name=f"{node_name}BackwardBackward0",
    )(gradient)
    compiled_first(name, "nll_loss", short=True)
    compiled_first(f"{name}_gradient", "nll_loss_gradient", short=True)


_declare("_nll_loss", "NllLoss")
_declare("_nll_loss2d", "NllLoss2D")


def _check_shapes(input: Array, target: Array) -> None:
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    shape, other = input.shape, target.shape
    if input.ndim != 1 and shape[0] != (other[0] if other else 1):
        samples = other[0] if other else 1
        raise errors.explained(
            ValueError(
                f"Expected input batch_size ({shape[0]}) to match target batch_size ({samples})."
            ),
            code="RG209",
        )
    if input.ndim <= 2:
        if target.ndim > 1:
            raise errors.runtime_error(
                "0D or 1D target tensor expected, multi-target not supported", code="RG209"
            )
        if input.ndim == 1 and target.size != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.size}"
            )
        return
    wanted = (shape[0], *shape[2:])
    if input.ndim == 4:
        if target.ndim != 3:
            raise RuntimeError(
                "only batches of spatial targets supported (3D tensors) but got targets of "
                f"dimension: {target.ndim}"
            )
        if other != wanted:
            raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(other)}")
    elif other != wanted:
        raise errors.runtime_error(
            f"Expected target size {list(wanted)}, got {list(other)}", code="RG209"
        )


def _nll(
    input: Tensor, target: Tensor, weight: Tensor | None, code: int, ignore_index: int
) -> Tensor:
    try:
        _check_shapes(input._array, target._array)
    except AttributeError:
        raise errors.not_tensors("nll_loss_nd", input=input, target=target) from None
    _check_types(input._array, target._array, None if weight is None else weight._array)
    if weight is not None:
        no_gradient("nll_loss_forward", weight=weight)
    shape = input._array.shape
    if len(shape) <= 2:
        return RECORDED._nll_loss(input, target, weight, code, ignore_index)
    if len(shape) == 4:
        return RECORDED._nll_loss2d(input, target, weight, code, ignore_index)
    places = math.prod(shape[2:])
    scores = input.contiguous().view((*shape[:2], 1, places))
    classes = target.contiguous().view((shape[0], 1, places))
    result = RECORDED._nll_loss2d(scores, classes, weight, code, ignore_index)
    return result.view(target._array.shape) if code == NONE else result


def _class_samples() -> list[Sample]:
    every = (*FLOATS, *HALVES)
    some = T(values=[1, 0, 3], dtype="int64")
    gaps = T(values=[1, -100, 3], dtype="int64")
    weight = T(4, low=0.2, high=2, grad=False)
    found: list[Sample] = []
    for way in ("mean", "sum", "none"):
        found += [
            Sample(T(3, 4), some, reduction=way, dtypes=every),
            Sample(T(3, 4), gaps, weight, reduction=way, dtypes=every),
            Sample(T(3, 4), gaps, reduction=way),
            Sample(T(3, 4), some, ignore_index=3, reduction=way),
            Sample(T(3, 4), T(values=[-100] * 3, dtype="int64"), reduction=way),
            Sample(T(4), T(values=2, dtype="int64"), reduction=way),
            Sample(T(4), T(values=2, dtype="int64"), weight, reduction=way),
            Sample(T(4), T(values=-100, dtype="int64"), weight, reduction=way),
            Sample(T(0, 4), T(0, dtype="int64"), reduction=way),
            Sample(T(2, 4, 5), T(2, 5, dtype="int64", low=0, high=3), weight, reduction=way),
            Sample(T(2, 4, 2, 3), T(2, 2, 3, dtype="int64", low=0, high=3), reduction=way),
            Sample(
                T(2, 4, 2, 3),
                T(2, 2, 3, dtype="int64", low=0, high=3),
                ignore_index=1,
                reduction=way,
            ),
            Sample(T(2, 3, 2, 1, 2), T(2, 2, 1, 2, dtype="int64", low=0), reduction=way),
            Sample(T(2, 4, 0), T(2, 0, dtype="int64"), reduction=way),
        ]
    found += [
        Sample(T(4), T(values=[2], dtype="int64"), grad=False),
        Sample(T(4), T(values=[2, 1], dtype="int64")),
        Sample(T(3, 4), T(values=[1, 2, 3], dtype="uint8")),
        Sample(T(3, 4), some, size_average=False),
        Sample(T(3, 4), T(values=[0, 1, 7], dtype="int64"), error=(IndexError, "Target 7")),
        Sample(T(3, 4), T(values=[0, 1, -1], dtype="int64"), error=(IndexError, "Target -1")),
        Sample(T(3, 4), T(values=[0, 1], dtype="int64")),
        Sample(T(3, 4), T(values=[[0, 1, 1]], dtype="int64")),
        Sample(T(3, 4), T(values=[[0], [1], [1]], dtype="int64")),
        Sample(T(3, 4), T(values=[0, 1, 2], dtype="int32")),
        Sample(T(3, 4), T(3, dtype="float64")),
        Sample(T(3, 4), some, T(3, grad=False)),
        Sample(T(3, 4), some, T(4, dtype="int64")),
        Sample(T(3, 4), some, T(4)),
        Sample(T(), T(values=0, dtype="int64")),
        Sample(T(2, 4, 5), T(2, 4, dtype="int64", low=0)),
        Sample(T(2, 4, 5), T(3, 5, dtype="int64", low=0)),
        Sample(T(2, 4, 5, 6), T(2, 5, 7, dtype="int64", low=0)),
        Sample(T(2, 4, 5, 6), T(2, 5, dtype="int64", low=0)),
        Sample(T(2, 4, 1, 1), T(values=[[[9]], [[0]]], dtype="int64")),
        Sample(T(3, 4), some, reduction="median"),
        Sample(T(3, 4, dtype="int64"), some, grad=False),
    ]
    return found


@functional(samples=_class_samples, autocast="float32")
def _nll_loss_function(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of the right classes, given log-probabilities.

    >>> scores = torch.tensor([[-0.5, -1.0]])
    >>> torch.nn.functional.nll_loss(scores, torch.tensor([1]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = MEAN if reduction == "mean" else reduction_code(reduction)
    return _nll(input, target, weight, code, ignore_index)


# -------------------------------------------------------------------------------- cross_entropy


def _probability_samples() -> list[Sample]:
    some = T(values=[1, 0, 3], dtype="int64")
    gaps = T(values=[1, -100, 3], dtype="int64")
    past = T(values=[1, 9, 3], dtype="int64")
    weight = T(4, low=0.2, high=2, grad=False)
    found: list[Sample] = []
    for way in ("mean", "sum", "none"):
        found += [
            Sample(T(3, 4), T(3, 4, low=0, high=1), reduction=way, dtypes=(*FLOATS, *HALVES)),
            Sample(T(3, 4), T(3, 4, low=0, high=1), weight, reduction=way),
            Sample(T(3, 4), T(3, 4, low=0, high=1), label_smoothing=0.2, reduction=way),
            Sample(T(2, 4, 3), T(2, 4, 3, low=0, high=1), weight, reduction=way),
            Sample(T(4), T(4, low=0, high=1), label_smoothing=0.2, reduction=way),
            Sample(T(3, 4), some, label_smoothing=0.2, reduction=way),
            Sample(T(3, 4), gaps, weight, label_smoothing=0.2, reduction=way),
            Sample(T(3, 4), gaps, label_smoothing=0.2, reduction=way),
            Sample(T(3, 4), past, weight, ignore_index=9, label_smoothing=0.2, reduction=way),
            Sample(
                T(2, 4, 3),
                T(2, 3, dtype="int64", low=0, high=3),
                weight,
                label_smoothing=0.1,
                reduction=way,
            ),
            Sample(T(4), T(values=2, dtype="int64"), weight, label_smoothing=0.1, reduction=way),
        ]
    found += [
        Sample(T(0, 4), T(0, 4)),
        Sample(T(3, 4), T(3, 4, dtype="float64", grad=True)),
        Sample(T(3, 4), T(3, 4), T(3, grad=False)),
        Sample(T(3, 4), T(3, 4), ignore_index=1),
        Sample(T(3, 4), T(3, 5)),
        Sample(T(3, 4), T(3, 4, dtype="int64")),
        Sample(T(3, 4), some, label_smoothing=1.5),
        Sample(T(3, 4), T(3, 4, low=0, high=1), label_smoothing=1.5),
        Sample(T(3, 4), T(values=[-100] * 3, dtype="int64"), label_smoothing=0.5),
        Sample(T(), T()),
    ]
    return found


def _smooth_classes(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    code: int,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """Classes of which a share `smoothing` of the probability is spread over all."""
    axis = 0 if input._array.ndim == 1 else 1
    classes = input._array.shape[axis]
    scores = RECORDED.log_softmax(input, axis)
    sharp = _nll(scores, target, weight, code, ignore_index)
    if weight is None:
        spread = -scores.sum(axis)
    else:
        shape = [1] * input._array.ndim
        shape[axis] = classes
        spread = -(scores * weight.view(tuple(shape))).sum(axis)
    ignored = target == ignore_index
    if input._array.ndim == 1:
        ignored = ignored.reshape(())
    spread = spread.masked_fill(ignored, 0.0)
    if code != NONE:
        spread = spread.sum()
    if code == MEAN:
        spread = spread / _count(target, weight, ignored)
    return sharp * (1 - smoothing) + spread * float(smoothing / classes)


def _count(target: Tensor, weight: Tensor | None, ignored: Tensor) -> Tensor:
    """What a mean divides by: the places that count, or the sum of their weights."""
    if weight is None:
        return (~ignored).sum()
    ignored = ignored.reshape(target._array.shape)
    chosen = weight.gather(0, target.masked_fill(ignored, 0).reshape(-1))
    return chosen.masked_fill(ignored.reshape(-1), 0).sum()


def _check_smoothing(smoothing: float) -> None:
    if smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing}")


def _probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, code: int, smoothing: float
) -> Tensor:
    """The cross entropy with a distribution over the classes at every place."""
    axis = 0 if input._array.ndim == 1 else 1
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype.type_name}"
        )
    classes = input._array.shape[axis]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight._array.shape)}"
        )
    scores = RECORDED.log_softmax(input, axis)
    if smoothing > 0:
        _check_smoothing(smoothing)
        target = target * (1 - smoothing) + smoothing / classes
    if weight is not None:
        shape = [1] * input._array.ndim
        shape[axis] = classes
        target = target * weight.view(tuple(shape))
    products = scores * target
    if code == NONE:
        return -products.sum(axis)
    total = -products.sum()
    return total if code == SUM else total / (input._array.size // classes)


@functional(samples=lambda: [*_class_samples(), *_probability_samples()], autocast="float32")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of scores with classes, or with a distribution over them.

    >>> scores = torch.tensor([[0.0, 0.0]])
    >>> torch.nn.functional.cross_entropy(scores, torch.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    code = MEAN if reduction == "mean" else reduction_code(reduction)
    result: Tensor
    try:
        per_class = input._array.shape == target._array.shape
    except AttributeError:
        raise errors.not_tensors("cross_entropy_loss", input=input, target=target) from None
    if per_class:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        result = _probabilities(input, target, weight, code, label_smoothing)
    elif label_smoothing > 0.0:
        _check_smoothing(label_smoothing)
        result = _smooth_classes(input, target, weight, code, ignore_index, label_smoothing)
    else:
        scores = RECORDED.log_softmax(input, 0 if input._array.ndim == 1 else 1)
        result = _nll(scores, target, weight, code, ignore_index)
    return result
