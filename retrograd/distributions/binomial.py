"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.parameters import BinaryParameters, counted_support
from retrograd.engine.grad_mode import no_grad
from retrograd.ops.random.sampling import binomial
from retrograd.tensor import Tensor

__all__ = ["Binomial"]


def _positive_part(x: Tensor) -> Tensor:
    """max(x, 0) with a gradient of one half at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(BinaryParameters):
    """The number of successes in `total_count` trials of probability `probs`.

    >>> torch.distributions.Binomial(2, torch.tensor([0.5])).log_prob(torch.tensor([1.0])).exp()
    tensor([0.5000])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take_with_count(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """From 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        orders = (value + 1).lgamma()
        other_orders = (self.total_count - value + 1).lgamma()
        # n * log(1 + e^logit), written so that the exponential cannot overflow
        normalizer = (
            self.total_count * _positive_part(self.logits)
            + self.total_count * (-self.logits.abs()).exp().log1p()
            - (self.total_count + 1).lgamma()
        )
        return value * self.logits - orders - other_orders - normalizer

    def _common_count(self, function: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = 1 + self._common_count("enumerate_support")
        return counted_support(count, self._param.dtype, self._batch_shape, expand)
