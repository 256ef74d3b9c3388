"""Functions that PyTorch has beside those of `nn.functional`: with statistics, or with a mask."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd import dtypes
from retrograd.backend import xp_of
from retrograd.engine.state import STATE
from retrograd.engine.views import check_writable
from retrograd.ops import errors
from retrograd.ops.linalg.tensor_products import bilinear
from retrograd.ops.neural.batch_normalization import batch_norm_of
from retrograd.ops.neural.dropout import ones_kept
from retrograd.ops.neural.embedding import _renormalize
from retrograd.ops.neural.embedding import embedding_bag as _bags
from retrograd.ops.neural.normalization import (
    Layout,
    check_normalized_shape,
    check_parameters,
    shape_argument,
)
from retrograd.ops.neural.windows import also_in_torch
from retrograd.ops.registry import RECORDED, function_only
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor, wrap

also_in_torch(bilinear)


@function_only(
    samples=lambda: [
        Sample(T(2, 3, 4), (4,), T(4), T(4), 1e-5),
        Sample(T(2, 3, 4), (3, 4), None, None, 1e-3),
        Sample(T(2, 3, 4), (3,), None, None, 1e-3, dtypes=("float32",)),
    ]
)
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm` with the means and one over the deviations that it used.

    >>> torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    shape = input._array.shape
    wanted = shape_argument("native_layer_norm", normalized_shape)
    check_normalized_shape(shape, wanted, "*, ", weight, bias)
    check_parameters(input._array, weight, bias)
    columns, outer = math.prod(wanted), shape[: len(shape) - len(wanted)]
    rows = math.prod(outer)
    layout = Layout((1, rows, columns), (rows, columns), (columns,))
    result, mean, scale = RECORDED._layer_norm(input, weight, bias, layout, eps)
    each = (*outer, *(1,) * len(wanted))
    return result, mean.reshape(each), scale.reshape(each)


@function_only(
    samples=lambda: [
        Sample(T(3, 4), T(4), T(4), None, None, True, 0.1, 1e-5),
        Sample(T(2, 4, 3), None, None, T(4, grad=False), T(4, low=0.5, grad=False), True, 0.3, 0.1),
        Sample(T(3, 4), T(4), None, T(4, grad=False), T(4, low=0.5, grad=False), False, 0.1, 1e-5),
    ]
)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm` with the batch's means and one over its deviations; none in evaluation."""
    result = batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, input.new_empty(0), input.new_empty(0)
    shape = input._array.shape
    places = (shape[0], shape[1], math.prod(shape[2:]))
    layout = Layout(places, places, (shape[1], 1))
    found = RECORDED._batch_norm(input.detach(), None, None, None, None, True, layout, eps)
    return result, found[1].reshape((shape[1],)), found[2].reshape((shape[1],))


@function_only(samples=lambda: [Sample(T(3, 4), 0.5, False), Sample(T(3), 0.0, True)])
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout` and what it kept.

    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if p == 0 or train is False or not input.numel():
        return input.clone(), wrap(xp_of(input._array).ones(input.shape, dtypes.B8))
    kept = ones_kept(input, 1 - p).bool()
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input * kept * scale, kept


@function_only(samples=lambda: _renormalized_samples())
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shorten, in place, the rows named by `indices` that are longer than `max_norm`.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    if input.requires_grad and STATE.grad_enabled:
        check_writable(input, "embedding_renorm_")
        raise errors.unsupported("gradients of embedding_renorm_")
    _renormalize(input, indices, max_norm, norm_type)
    return input


def _renormalized_samples() -> list[Sample]:
    rows = T(values=[1, 2], dtype="int64")
    return [
        Sample(T(3, 4, grad=False), rows, 1.0, 2.0),
        Sample(T(3, 4, grad=False), rows, 0.5, 1.0),
        Sample(T(2, 4, grad=False), rows, 0.5, 1.0, dtypes=("float32",)),
    ]


_MODES = ("sum", "mean", "max")


@function_only()
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`nn.functional.embedding_bag` and what its gradient needs in PyTorch.

    The results are the bags, the bag of each index, the sizes of the bags, and the rows that the
    maxima came from. For sums only those are filled in that PyTorch fills in.

    mode  0, 1, 2 for sum, mean and maximum

    >>> table, names = torch.arange(6.0).view(3, 2), torch.tensor([0, 1, 2])
    >>> torch.embedding_bag(table, names, torch.tensor([0, 2]), mode=1)[1:3]
    (tensor([0, 0, 1]), tensor([2, 1]))
    """
    if indices.dim() != 1:
        raise errors.unsupported("torch.embedding_bag with indices that are not one-dimensional")
    result = _bags(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=_MODES[mode],
        sparse=sparse,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    starts = offsets._array[:-1] if include_last_offset else offsets._array
    rows = indices._array
    xp = xp_of(rows)
    bags = xp.searchsorted(starts, xp.arange(rows.size), side="right") - 1
    if mode == 0:
        found = wrap(bags)
        if weight.dtype is not dtypes.float64 and padding_idx is None:
            found = found[:0]
        recorded = weight.requires_grad and STATE.grad_enabled
        nothing = wrap(xp.zeros(starts.size if recorded else offsets._array.size, dtypes.I64))
        return result, found, nothing, nothing.clone()
    counted = xp.ones(rows.shape, dtypes.B8)
    if padding_idx is not None:
        counted = rows != padding_idx % weight.size(0)
    sizes = xp.bincount(bags[counted], minlength=starts.size)
    if mode == 1:
        return result, wrap(bags), wrap(sizes), wrap(sizes.copy())
    chosen = xp.zeros((starts.size, weight.size(1)), dtypes.I64)
    for bag in xp.flatnonzero(sizes).tolist():
        members = rows[counted & (bags == bag)]
        chosen[bag] = members[weight._array[members].argmax(0)]
    return result, wrap(bags), wrap(sizes), wrap(chosen)


@function_only()
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` with the means and one over the deviations that it used.

    N, C, HxW  the batch, the channels and the places of the input

    >>> x = torch.tensor([[1.0, 3.0]])
    >>> torch.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    if not input.is_contiguous():
        raise RuntimeError(
            "Expected X.is_contiguous(memory_format) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if input.numel() != N * C * HxW or C % group:
        raise RuntimeError(
            f"native_group_norm: an input of shape {list(input.shape)} has not {N} x {C} x {HxW} "
            f"elements in {group} groups"
        )
    check_parameters(input._array, weight, bias)
    layout = Layout((1, N * group, C // group * HxW), (N, C, HxW), (C, 1))
    result = RECORDED._group_norm(input, weight, bias, layout, eps)[0]
    # unlike those of the other normalizations, these statistics are differentiable in PyTorch
    grouped = input.reshape((N, group, C // group * HxW))
    variance = grouped.var(2, correction=0)
    return result, grouped.mean(2), (variance + eps).rsqrt()
