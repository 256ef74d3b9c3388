"""Look-ups whose table gets a sparse gradient: the rows that were read, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.function import Function, FunctionCtx
from retrograd.notices import runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.sparse.conversions import from_values
from retrograd.sparse.graph import apply, node
from retrograd.tensor import Tensor, wrap


def _rows_gradient(
    slopes: Tensor, rows: Any, shape: tuple[int, ...], padding: int, scaled: bool
) -> Tensor:
    """A sparse gradient of a table: one entry for each row that was read, in that order."""
    if scaled:
        raise runtime_error(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients",
            code="RG306",
        )
    if padding >= 0:
        kept = np.flatnonzero(rows != padding)
        rows = rows[kept]
        slopes = RECORDED.index_select(slopes, 0, wrap(kept))
    return from_values(rows.reshape(1, -1).astype(np.int64), slopes, shape, False)


@node("EmbeddingBackward0")
class _Embedding(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, weight: Tensor, indices: Tensor, padding: int, scaled: bool
    ) -> Tensor:
        ctx.options = (indices._array.reshape(-1), weight._array.shape, padding, scaled)
        return RECORDED.embedding(weight, indices, padding, False)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        rows, shape, padding, scaled = ctx.options
        slopes = grad.reshape((rows.size, shape[1]))
        return _rows_gradient(slopes, rows, shape, padding, scaled), None, None, None


def embedding(weight: Tensor, indices: Tensor, padding: int, scaled: bool) -> Tensor:
    """The rows of a table that `indices` names."""
    made: Tensor = apply(_Embedding, weight, indices, padding, scaled)
    return made


@node("EmbeddingBagBackward0")
class _EmbeddingBag(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        weight: Tensor,
        indices: Tensor,
        samples: Tensor | None,
        bags: object,
        count: int,
        mode: str,
        scaled: bool,
    ) -> Tensor:
        ctx.options = (indices._array, weight._array.shape, bags, mode, scaled)
        ctx.save_for_backward(weight, samples)
        return RECORDED._embedding_bag(weight, indices, samples, bags, count, mode, False, [])

    @staticmethod
    def backward(
        ctx: FunctionCtx, grad: Tensor
    ) -> tuple[Tensor | None, None, Tensor | None, None, None, None, None]:
        weight, samples = ctx.saved_tensors
        rows, shape, bags, mode, scaled = ctx.options
        needs = ctx.needs_input_grad
        slopes = RECORDED.index_select(grad, 0, wrap(bags))
        if mode == "mean":
            sizes = np.bincount(bags, minlength=grad._array.shape[0])[bags]
            slopes = slopes / wrap(sizes.reshape(-1, 1).astype(grad._array.dtype))
        of_weight = of_samples = None
        if needs[2]:
            of_samples = (slopes * RECORDED.index_select(weight, 0, wrap(rows))).sum(1)
        if needs[0]:
            if samples is not None:
                slopes = slopes * samples.unsqueeze(1)
            of_weight = _rows_gradient(slopes, rows, shape, -1, scaled)
        return of_weight, None, of_samples, None, None, None, None


def embedding_bag(*arguments: object) -> Tensor:
    """Sums or means of runs of rows; the arguments are those of the op `_embedding_bag`."""
    made: Tensor = apply(_EmbeddingBag, *arguments)
    return made
