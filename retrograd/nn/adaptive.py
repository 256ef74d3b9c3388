"""Softmax over very many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from retrograd.dtypes import dtype
from retrograd.nn import functional
from retrograd.nn.container import ModuleList, Sequential
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.notices import runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class ASMoutput(NamedTuple):
    """The log probability of each target, and their negative mean."""

    output: Tensor
    loss: Tensor


ASMoutput.__name__ = ASMoutput.__qualname__ = "_ASMoutput"  # PyTorch's, which shows when printed
_ASMoutput = ASMoutput


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of targets; rare classes lie in clusters that cost less.

    The head knows the frequent classes and one entry for each cluster; a cluster is looked at only
    where a target lies in it. Classes are numbered from the most to the least frequent.

    cutoffs    where the clusters begin, ascending
    div_value  by how much the features of each further cluster shrink
    head_bias  whether the head has a bias

    >>> softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> result = softmax(torch.zeros(3, 8), torch.tensor([0, 5, 19]))
    >>> result.output.shape, result.loss.shape
    (torch.Size([3]), torch.Size([]))
    >>> softmax.log_prob(torch.zeros(3, 8)).exp().sum(1).detach()
    tensor([1.0000, 1.0000, 1.0000])
    """

    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*_checked(list(cutoffs), n_classes), n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            size = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, size, bias=False, **options),
                    Linear(size, high - low, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new values for all linear layers."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        _check_shapes(input_, target_)
        batched = target_.dim() == 1
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        entry = target  # of the head: a frequent class, or a cluster
        output = input.new_zeros(target.size(0))
        for number, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            entry = entry.index_fill(0, rows, self.shortlist_size + number)
            within = functional.log_softmax(self.tail[number](input.index_select(0, rows)), dim=1)
            chosen = within.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, chosen)
        head = functional.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log probability of every class."""
        head = functional.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number in range(self.n_clusters):
            within = functional.log_softmax(self.tail[number](input), dim=1)
            parts.append(within + head[:, self.shortlist_size + number].unsqueeze(1))
        return RECORDED.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probability of every class, for each row of the input."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The class with the highest probability, for each row of the input."""
        head_output = self.head(input)
        output: Tensor = head_output.argmax(dim=1)
        in_cluster = output >= self.shortlist_size
        if bool(in_cluster.any()):  # only there the other classes have to be looked at
            every = self._get_full_log_prob(input[in_cluster], head_output[in_cluster])
            output[in_cluster] = every.argmax(dim=1)
        return output


def _checked(cutoffs: list[int], n_classes: int) -> list[int]:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    ascending = all(before < after for before, after in pairwise(cutoffs))
    inside = min(cutoffs) > 0 and max(cutoffs) <= n_classes - 1
    if not (ascending and inside and all(int(cutoff) == cutoff for cutoff in cutoffs)):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )
    return cutoffs


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise runtime_error(
            "0D or 1D target tensor expected, multi-target not supported", code="RG209"
        )
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    wanted = target.dim() + 1
    if input.dim() != wanted:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {wanted}D input tensors, but found inputs with "
            f"size {input.size()}"
        )
