"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.constraints import MixtureSameFamilyConstraint
from retrograd.distributions.distribution import Distribution
from retrograd.engine.grad_mode import no_grad
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw of `mixture_distribution` says which of the components to draw from.

    The components are the last batch dimension of `component_distribution`.

    >>> from retrograd.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights = Categorical(torch.tensor([0.25, 0.75]))
    >>> mixture = MixtureSameFamily(weights, Normal(torch.tensor([0.0, 4.0]), torch.ones(2)))
    >>> mixture.mean, mixture.variance
    (tensor(3.), tensor(4.))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an "
                " instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an "
                "instance of torch.distributions.Distribution"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        mixture_batch = mixture_distribution.batch_shape
        batch_shape = component_distribution.batch_shape[:-1]
        for ours, theirs in zip(reversed(mixture_batch), reversed(batch_shape), strict=False):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_batch}) is not "
                    "compatible with `component_distribution."
                    f"batch_shape`({batch_shape})"
                )
        weights = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not"
                " equal `component_distribution.batch_shape[-1]`"
                f" ({components})"
            )
        self._num_component = weights
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            (*shape, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        super(MixtureSameFamily, new).__init__(shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property()
    def support(self) -> MixtureSameFamilyConstraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component is drawn."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along its last batch dimension."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (weights * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        # the mean of the components' variances and the variance of their means
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        dim = -1 - self._event_ndims
        within = (weights * self.component_distribution.variance).sum(dim)
        distance = self.component_distribution.mean - self._pad(self.mean)
        return within + (weights * distance.pow(2.0)).sum(dim)

    def cdf(self, x: Tensor) -> Tensor:
        probability = self.component_distribution.cdf(self._pad(x))
        return (probability * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        log_weights = self.mixture_distribution.logits.log_softmax(-1)
        return (log_prob + log_weights).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            event = self.event_shape
            chosen = chosen.reshape(chosen.shape + (1,) * (len(event) + 1))
            index = chosen.repeat((1,) * (chosen.dim() - len(event)) + event)
            return drawn.gather(dim, index).squeeze(dim)

    def _pad(self, value: Tensor) -> Tensor:
        """The value with a dimension for the components."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, weights: Tensor) -> Tensor:
        """The weights with dimensions for the rest of the batch and for events."""
        batch_dims = len(self.batch_shape)
        mixture_dims = len(self.mixture_distribution.batch_shape)
        missing = 0 if mixture_dims == 1 else batch_dims - mixture_dims
        shape = weights.shape
        return weights.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
