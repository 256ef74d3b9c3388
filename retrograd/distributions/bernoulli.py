"""The Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.backend import kernels
from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.parameters import BinaryParameters, broadcast_pair, counted_support
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.state import HOT
from retrograd.nn.functional import binary_cross_entropy_with_logits
from retrograd.ops.random.sampling import bernoulli
from retrograd.tensor import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(BinaryParameters, ExponentialFamily):
    """1 with probability `probs` (or log odds `logits`), else 0.

    >>> torch.distributions.Bernoulli(torch.tensor([0.25])).log_prob(torch.tensor([1.0])).exp()
    tensor([0.2500])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _validate_parameters(self) -> None:
        if self.arg_constraints is Bernoulli.arg_constraints and not HOT["UNUSUAL"]:
            low, high = kernels.extremes(self._param._array)
            if low == low and ("logits" in self.__dict__ or (low >= 0 and high <= 1)):  # not NaN
                return
        super()._validate_parameters()

    def _validate_sample(self, value: Tensor) -> None:
        own = type(self).support is constraints.boolean
        if own and not HOT["UNUSUAL"] and isinstance(value, Tensor):
            array = value._array
            low, high = kernels.extremes(array)
            if array.shape == self._batch_shape and 0 <= low and high <= 1:
                if (array * array == array).all():  # so it is of 0 and 1 alone
                    return
        super()._validate_sample(value)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(Bernoulli, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_pair(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counted_support(2, self._param.dtype, self._batch_shape, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.probs.logit(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.exp().log1p()
