"""One-hot draws made continuous, so that gradients pass through them."""
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import ExpTransform
from retrograd.distributions.utils import broadcast_all, clamp_probs
from retrograd.ops.making.creation import full_like
from retrograd.ops.random.sampling import rand
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size
from retrograd.types import Device

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed one-hot draw (Maddison, Mnih and Teh, 2017).

    >>> from retrograd.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> drawn = ExpRelaxedCategorical(torch.tensor(1.0), probs=torch.ones(3)).rsample()
    >>> torch.allclose(drawn.exp().sum(), torch.tensor(1.0))
    True
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    # a line of it: the exponentials must lie in the simplex
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        shape = Size(batch_shape)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(shape)
        super(ExpRelaxedCategorical, new).__init__(shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: object, **kwargs: Device) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(rand(shape, dtype=self.logits.dtype))
        gumbel = -(-uniform.log()).log()
        scores = (self.logits + gumbel) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(self.temperature, float(count)).lgamma()
        log_scale = log_scale - self.temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that come nearer to its corners as `temperature` falls.

    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(3)).probs
    tensor([0.3333, 0.3333, 0.3333])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far from the corners draws are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the corners."""
        return self.base_dist.probs
