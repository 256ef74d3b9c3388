"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.parameters import ONE_OF_TWO, BinaryParameters
from retrograd.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)
from retrograd.engine.grad_mode import no_grad
from retrograd.nn.functional import binary_cross_entropy_with_logits
from retrograd.ops.random.sampling import rand
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameters, ExponentialFamily):
    """Numbers in [0, 1] with a density proportional to probs ** x * (1 - probs) ** (1 - x).

    Loaiza-Ganem and Cunningham (2019). Between the two `lims` around one half, where the
    formulas divide by nearly zero, series take their place.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        if probs is not None:
            (given,) = broadcast_all(probs)
            # here, since clamped ones are always valid
            if validate_args is not None and not constraints.unit_interval.check(given).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.__dict__["probs"] = clamp_probs(given)
        else:
            self._take(None, logits)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._expanded(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter between 0 and 1, which is no probability here."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probs, those near one half moved out to where the formulas are stable."""
        edge = self._lims[0] * RECORDED.ones_like(self.probs)
        return RECORDED.where(self._outside_unstable_region(), self.probs, edge)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the factor that makes the density integrate to 1."""
        cut = self._cut_probs()
        below = RECORDED.where(cut <= 0.5, cut, RECORDED.zeros_like(cut))
        above = RECORDED.where(cut >= 0.5, cut, RECORDED.ones_like(cut))
        divisor = RECORDED.where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        exact = ((-cut).log1p() - cut.log()).abs().log() - divisor
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return RECORDED.where(self._outside_unstable_region(), exact, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return RECORDED.where(self._outside_unstable_region(), exact, series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2)
        exact = exact + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return RECORDED.where(self._outside_unstable_region(), exact, series)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        crossed = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -crossed + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        cut = self._cut_probs()
        powers = RECORDED.pow(cut, value) * RECORDED.pow(1.0 - cut, 1.0 - value)
        exact = (powers + cut - 1.0) / (2.0 * cut - 1.0)
        inside = RECORDED.where(self._outside_unstable_region(), exact, value)
        upper = RECORDED.where(value >= 1.0, RECORDED.ones_like(value), inside)
        return RECORDED.where(value <= 0.0, RECORDED.zeros_like(value), upper)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        above = (-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()
        exact = above / (cut.log() - (-cut).log1p())
        return RECORDED.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        log_probs0 = (-self.probs).log1p()
        log_probs1 = self.probs.log()
        return self.mean * (log_probs0 - log_probs1) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        edge = (self._lims[0] - 0.5) * RECORDED.ones_like(x)
        cut = RECORDED.where(outside, x, edge)
        exact = cut.expm1().abs().log() - cut.abs().log()
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return RECORDED.where(outside, exact, series)
