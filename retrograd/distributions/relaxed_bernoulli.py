"""Bernoulli draws made continuous, so that gradients pass through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.parameters import BinaryParameters
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import SigmoidTransform
from retrograd.distributions.utils import broadcast_all, clamp_probs
from retrograd.ops.random.sampling import rand
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryParameters):
    """The logit of a relaxed Bernoulli draw (Maddison, Mnih and Teh, 2017).

    >>> from retrograd.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> distribution = LogitRelaxedBernoulli(torch.tensor(2.0), probs=torch.tensor(0.5))
    >>> distribution.log_prob(torch.tensor(0.0))
    tensor(-0.6931)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    temperature: Tensor

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._expanded(LogitRelaxedBernoulli, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        uniform = clamp_probs(rand(shape, dtype=probs.dtype))
        logit = uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()
        return logit / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Draws between 0 and 1 that come nearer to these ends as `temperature` falls.

    >>> probs = torch.tensor([0.3, 0.7], requires_grad=True)
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs).rsample().requires_grad
    True
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 draws are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs
