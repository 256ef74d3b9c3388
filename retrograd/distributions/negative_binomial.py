"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.parameters import BinaryParameters
from retrograd.distributions.utils import lazy_property
from retrograd.engine.grad_mode import no_grad
from retrograd.nn.functional import logsigmoid
from retrograd.ops.random.sampling import poisson
from retrograd.tensor import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryParameters):
    """The number of successes of probability `probs` before `total_count` failures.

    >>> torch.distributions.NegativeBinomial(3.0, torch.tensor([0.5])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take_with_count(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        # not validated: a total count of zero is fine here
        rate = (-self.logits).exp()
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        powers = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        orders = (
            -(self.total_count + value).lgamma()
            + (1.0 + value).lgamma()
            + self.total_count.lgamma()
        )
        # no failure wanted and no success counted: certain, though lgamma(0) is infinite
        return powers - orders.masked_fill(self.total_count + value == 0.0, 0.0)
