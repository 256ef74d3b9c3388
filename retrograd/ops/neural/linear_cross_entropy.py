"""The cross entropy of a linear layer's outputs, in one call."""

from __future__ import annotations

from retrograd.ops.linalg.matmul import linear
from retrograd.ops.neural.classification import cross_entropy
from retrograd.ops.registry import functional
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor


def _samples() -> list[Sample]:
    classes = T(values=[1, 0, 3], dtype="int64")
    spread = T(values=[[1, 0], [3, 3], [0, 2]], dtype="int64")
    likely = T(3, 4, low=0.1, high=0.3)
    return [
        Sample(T(3, 5), T(4, 5), classes),
        Sample(T(3, 5), T(4, 5), classes, linear_bias=T(4), reduction="sum"),
        Sample(T(3, 5), T(4, 5), classes, reduction="none", label_smoothing=0.2),
        Sample(T(3, 5), T(4, 5), classes, ignore_index=0, weight=T(4, low=0.5, grad=False)),
        Sample(T(3, 5), T(4, 5), likely),
        Sample(T(5), T(4, 5), T(values=2, dtype="int64")),
        Sample(T(3, 5), T(4, 2, 5), spread, linear_bias=T(4, 2)),
        Sample(T(1, 3, 5), T(4, 5), classes, dtypes=("float32",)),
        Sample(T(3, 5), T(5), classes, dtypes=("float32",)),
        Sample(T(3, 6), T(4, 5), classes, dtypes=("float32",)),
        Sample(T(3, 5), T(4, 5), classes, linear_bias=T(3), dtypes=("float32",)),
        Sample(T(5), T(4, 2, 5), classes, dtypes=("float32",)),
        Sample(T(3, 5), T(4, 5), likely, ignore_index=1, dtypes=("float32",)),
    ]


@functional(samples=_samples)
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    linear_weight  its dimensions are the classes, those of a loss of several dimensions, features
    options        how PyTorch cuts the batch to save memory; the loss is the same without

    >>> x, weight = torch.zeros(2, 3), torch.ones(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, weight, torch.tensor([0, 3]))
    tensor(1.3863)
    """
    _check(input, linear_weight, linear_bias)
    classes, *places, features = linear_weight.shape
    shape = (*input.shape[:-1], classes, *places)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    logits: Tensor = linear(input, linear_weight.reshape((-1, features))).reshape(shape)
    if linear_bias is not None:
        logits = logits + linear_bias
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    outputs = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(bias.shape)}")
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
