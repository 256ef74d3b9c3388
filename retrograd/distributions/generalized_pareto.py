"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.constraints import _Interval
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.parameters import expanded
from retrograd.distributions.utils import broadcast_all
from retrograd.ops.random.sampling import rand
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Values above `loc`, with a tail of shape `concentration`; exponential where that is 0.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        names = ("loc", "scale", "concentration")
        return expanded(self, GeneralizedPareto, batch_shape, _instance, names)

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is near 0, and it with 1 in these places, to divide by."""
        is_zero = RECORDED.isclose(self.concentration, RECORDED.zeros_like(self.concentration))
        ones = RECORDED.ones_like(self.concentration)
        return is_zero, RECORDED.where(is_zero, ones, self.concentration)

    def _scaled(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        z = self._scaled(value)
        is_zero, concentration = self._shape()
        power = 1 / concentration + RECORDED.ones_like(z)
        tail = RECORDED.where(power == 0, power, power * (concentration * z).log1p())
        return -self.scale.log() - RECORDED.where(is_zero, z, tail)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw above `value`."""
        self._check_value(value)
        z = self._scaled(value)
        is_zero, concentration = self._shape()
        return RECORDED.where(is_zero, -z, -(concentration * z).log1p() / concentration)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw of at most `value`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, concentration = self._shape()
        log_rest = (-value).log1p()
        power = self.loc + self.scale / concentration * (-concentration * log_rest).expm1()
        return RECORDED.where(is_zero, self.loc - self.scale * log_rest, power)

    @property
    def mean(self) -> Tensor:
        # NaN from a concentration of 1 on; the gradient there must not see the division
        is_finite = self.concentration < 1
        concentration = RECORDED.where(is_finite, self.concentration, 0.5)
        return RECORDED.where(is_finite, self.loc + self.scale / (1 - concentration), math.nan)

    @property
    def variance(self) -> Tensor:
        is_finite = self.concentration < 0.5
        concentration = RECORDED.where(is_finite, self.concentration, 0.25)
        result = self.scale**2 / ((1 - concentration) ** 2 * (1 - 2 * concentration))
        return RECORDED.where(is_finite, result, math.nan)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> _Interval:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, RECORDED.where(self.concentration < 0, end, math.inf))
