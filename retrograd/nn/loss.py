"""Loss layers: the functions of ``torch.nn.functional`` with their options kept in a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd.lifecycle.site import user_level
from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.tensor import Tensor


class _Loss(Module):
    """What all losses share: how the losses of the elements are put together."""

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = functional.legacy_reduction(size_average, reduce, reduction)

    def _reduced(
        self, function: Callable[..., Tensor], *operands: object, **options: object
    ) -> Tensor:
        """A loss function of some operands, with this module's reduction."""
        result: Tensor = function(*operands, **options, reduction=self.reduction)
        return result


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element; it is a buffer, part of the state."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---------------------------------------------------------------------------------- regression


class L1Loss(_Loss):
    """Mean absolute difference of input and target.

    >>> torch.nn.L1Loss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.l1_loss, input, target)


class MSELoss(_Loss):
    """Mean squared difference of input and target.

    >>> torch.nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.mse_loss, input, target)


class SmoothL1Loss(_Loss):
    """Half the squared difference over `beta` where the difference is below it, else linear.

    >>> torch.nn.SmoothL1Loss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(0.7500)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.smooth_l1_loss, input, target, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference where it is below `delta`, beyond that `delta` times as steep.

    >>> torch.nn.HuberLoss(delta=0.5)(torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(0.8750)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.huber_loss, input, target, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts under a Poisson distribution.

    >>> torch.nn.PoissonNLLLoss()(torch.zeros(2), torch.tensor([1.0, 2.0]))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        options = {"log_input": self.log_input, "full": self.full, "eps": self.eps}
        return self._reduced(functional.poisson_nll_loss, log_input, target, **options)


class GaussianNLLLoss(_Loss):
    """Negative log likelihood under normal distributions of given means and variances.

    >>> torch.nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        options = {"full": self.full, "eps": self.eps}
        return self._reduced(functional.gaussian_nll_loss, input, target, var, **options)


# ------------------------------------------------------------------------------- classification


class NLLLoss(_WeightedLoss):
    """The negated log probability of the right class.

    >>> torch.nn.NLLLoss()(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = {"weight": self.weight, "ignore_index": self.ignore_index}
        return self._reduced(functional.nll_loss, input, target, **options)


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss` for images."""

    def __init__(self, *args: Any, **options: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
            stacklevel=user_level(),
        )
        super().__init__(*args, **options)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores (not probabilities) with classes or with probabilities of classes.

    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(
            functional.cross_entropy,
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )


class KLDivLoss(_Loss):
    """How far a distribution, given by log probabilities, is from the target's.

    >>> half = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.KLDivLoss(reduction="batchmean")(half.log(), half)
    tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.kl_div, input, target, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities.

    >>> torch.nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.binary_cross_entropy, input, target, weight=self.weight)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of the sigmoid of the input, computed without losing digits.

    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        function = functional.binary_cross_entropy_with_logits
        weights = {"weight": self.weight, "pos_weight": self.pos_weight}
        return self._reduced(function, input, target, **weights)


class CTCLoss(_Loss):
    """Connectionist temporal classification: labels of a sequence whose alignment is not known.

    >>> frames = torch.zeros(2, 1, 3).log_softmax(2)
    >>> torch.nn.CTCLoss()(frames, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(1.0986)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        operands = (log_probs, targets, input_lengths, target_lengths)
        options = {"blank": self.blank, "zero_infinity": self.zero_infinity}
        return self._reduced(functional.ctc_loss, *operands, **options)


# ---------------------------------------------------------------------------------------- margins


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    >>> torch.nn.SoftMarginLoss()(torch.zeros(2), torch.tensor([1.0, -1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.soft_margin_loss, input, target)


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.75]), torch.tensor([1.0, -1.0]))
    tensor(0.3750)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.hinge_embedding_loss, input, target, margin=self.margin)


class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` of two vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    >>> x = torch.tensor([[3.0, 4.0]])
    >>> torch.nn.CosineEmbeddingLoss()(x, x, torch.tensor([-1.0]))
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        function = functional.cosine_embedding_loss
        return self._reduced(function, input1, input2, target, margin=self.margin)


class MarginRankingLoss(_Loss):
    """``max(0, margin - target * (input1 - input2))``: which of two should be larger.

    >>> torch.nn.MarginRankingLoss()(torch.zeros(1), torch.ones(1), torch.ones(1))
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        function = functional.margin_ranking_loss
        return self._reduced(function, input1, input2, target, margin=self.margin)


class MultiLabelMarginLoss(_Loss):
    """The margin loss of several right classes per sample: those listed before the first -1.

    >>> torch.nn.MultiLabelMarginLoss()(torch.zeros(1, 2), torch.tensor([[0, -1]]))
    tensor(0.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduced(functional.multilabel_margin_loss, input, target)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of all classes of a sample, averaged over the classes.

    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        function = functional.multilabel_soft_margin_loss
        return self._reduced(function, input, target, weight=self.weight)


class MultiMarginLoss(_WeightedLoss):
    """Sums over the wrong classes of how far their scores come near that of the right one.

    >>> torch.nn.MultiMarginLoss()(torch.zeros(1, 4), torch.tensor([0]))
    tensor(0.7500)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.ndim}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = {"p": self.p, "margin": self.margin, "weight": self.weight}
        return self._reduced(functional.multi_margin_loss, input, target, **options)


def _check_margin(loss: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead"
        )


class TripletMarginLoss(_Loss):
    """How much the positive is not nearer to the anchor than the negative, by a margin.

    >>> x = torch.ones(1, 2)
    >>> torch.nn.TripletMarginLoss()(x, x, x)
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        options = {"margin": self.margin, "p": self.p, "eps": self.eps, "swap": self.swap}
        function = functional.triplet_margin_loss
        return self._reduced(function, anchor, positive, negative, **options)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance; `PairwiseDistance` where none is given.

    >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).norm())
    >>> loss(torch.zeros(2), torch.zeros(2), torch.tensor([0.6, 0.0]))
    tensor(0.4000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        if distance_function is None:
            from retrograd.nn.distance import PairwiseDistance

            distance_function = PairwiseDistance()
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._reduced(
            functional.triplet_margin_with_distance_loss,
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
        )
