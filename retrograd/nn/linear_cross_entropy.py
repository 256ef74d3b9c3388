"""A linear layer and the cross entropy of its outputs, as one loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from retrograd import dtypes
from retrograd.nn import functional
from retrograd.nn.linear import Linear
from retrograd.nn.loss import _WeightedLoss
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

_POLICIES = ("auto", "accurate", "balanced", "compact")
_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch cuts a batch to save memory: checked here, and without effect on the loss.

    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=0)
    Traceback (most recent call last):
    ValueError: batch_chunk_size must be positive int or None, got 0
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtypes.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto", "aspect_ratio"):
            name, _, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or not factor.isdigit() or int(factor) < 1:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _FLOATS:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of the outputs of a linear layer that belongs to the loss.

    out_features  further dimensions of the outputs, after the classes
    bias          whether the linear layer has one

    >>> loss = torch.nn.LinearCrossEntropyLoss(5, 3)
    >>> list(loss.state_dict())
    ['linear.weight']
    >>> loss(torch.zeros(2, 5), torch.tensor([0, 2])).detach()
    tensor(1.0986)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: dtypes.dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        outputs = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*outputs, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(outputs),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
