"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.parameters import broadcast_pair, expanded, smallest
from retrograd.distributions.utils import _standard_normal
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.state import HOT, STATE, Cut
from retrograd.ops.making.construction import fresh
from retrograd.ops.random.sampling import normal
from retrograd.random.normal import normal as normal_array
from retrograd.random.state import default_generator
from retrograd.tensor import Tensor

__all__ = ["Normal"]

_LOG_ROOT_TWO_PI = math.log(math.sqrt(2 * math.pi))


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> distribution = torch.distributions.Normal(0.0, 1.0)
    >>> distribution.log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    loc: Tensor
    scale: Tensor

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_pair(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _validate_parameters(self) -> None:
        low = smallest(self.loc)
        if self.arg_constraints is Normal.arg_constraints and low == low:  # not NaN
            if smallest(self.scale) > 0:
                return
        super()._validate_parameters()

    def _validate_sample(self, value: Tensor) -> None:
        if isinstance(value, Tensor) and value._array.shape == self._batch_shape:
            low = smallest(value)
            if type(self).support is constraints.real and low == low:  # not NaN
                return
        super()._validate_sample(value)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return expanded(self, Normal, batch_shape, _instance, ("loc", "scale"))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        loc, scale = self.loc._array, self.scale._array
        plain = type(loc) is np.ndarray and not HOT["UNUSUAL"]
        if plain and loc.dtype is scale.dtype and smallest(self.scale) >= 0:
            noise = normal_array(default_generator, math.prod(shape), 0.0, 1.0, loc.dtype)
            made = fresh(np.asarray(noise.reshape(shape) * scale + loc))
            if self.loc.requires_grad or self.scale.requires_grad:
                made._cut = Cut.here("no_grad", "sample") if STATE.grad_enabled else STATE.cut
            return made
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        loc = self.loc._array
        kind = loc.dtype
        if type(loc) is not np.ndarray or HOT["UNUSUAL"] or kind.char not in "fd":
            noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        else:
            numbers = normal_array(default_generator, math.prod(shape), 0.0, 1.0, kind)
            noise = fresh(numbers.reshape(shape))
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = (value - self.loc) ** 2
        return -distance / (2 * self.scale**2) - self.scale.log() - _LOG_ROOT_TWO_PI

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = (value - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + (distance / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal())

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
