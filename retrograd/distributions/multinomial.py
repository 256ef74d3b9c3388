"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import broadcast_all
from retrograd.ops.making.construction import tensor
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size, contiguous_format
from retrograd.types import Device

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each category comes up in `total_count` draws from `Categorical`.

    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(Multinomial, _instance)
        shape = Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(shape)
        new._binomial = self._binomial.expand(new._categorical.param_shape)
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: object, **kwargs: Device) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Counts that add up to at most `total_count`."""
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        draws = draws.movedim(0, -1)
        counts = draws.new(self._extended_shape(sample_shape)).zero_()
        counts.scatter_add_(-1, draws, RECORDED.ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        count = tensor(self.total_count)
        first = count * self._categorical.entropy() - (count + 1).lgamma()
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = (support + 1).lgamma()
        return first + (self._binomial.log_prob(support).exp() * weights).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=contiguous_format)
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return orders + (logits * value).sum(-1)
