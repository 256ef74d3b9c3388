"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.parameters import expanded
from retrograd.distributions.utils import broadcast_all
from retrograd.ops.random.sampling import rand
from retrograd.tensor import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """All numbers from `low` (included) to `high` (excluded) with the same density.

    >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_rsample = True

    low: Tensor
    high: Tensor

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """From `low` to `high`."""
        return constraints.interval(self.low, self.high)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return expanded(self, Uniform, batch_shape, _instance, ("low", "high"))

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        numbers = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + numbers * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return (above * below).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
