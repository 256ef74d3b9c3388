"""Calls of ``torch.ops.aten`` whose arguments are not those of the public function of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Any:
    return RECORDED.softmax(input, dim)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Any:
    return RECORDED.log_softmax(input, dim)


def _to_copy(input: Tensor, *, dtype: Any = None, **layout: Any) -> Any:
    return input.clone() if dtype is None else input.to(dtype, copy=True)


def _unsafe_view(input: Tensor, size: Sequence[int]) -> Any:
    return RECORDED._unsafe_view(input, tuple(input.view(*size).shape))


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    before = (slice(None),) * (dim % max(input.ndim, 1))
    return input[(*before, slice(start, end, step))]


def _index(input: Tensor, indices: Sequence[Any]) -> Any:
    return input[tuple([slice(None) if index is None else index for index in indices])]


CALLS: dict[str, Callable[..., Any]] = {
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "_to_copy": _to_copy,
    "_unsafe_view": _unsafe_view,
    "index": _index,
    "slice": _slice,
}

# public functions with other parameters than the op: calling the op is refused
OTHER_ORDER = frozenset(
    """
    binary_cross_entropy block_diag broadcast_tensors cartesian_prod chain_matmul elu elu_
    embedding_bag l1_loss max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss smooth_l1_loss soft_margin_loss tensordot
    """.split()
)
