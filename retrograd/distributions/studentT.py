"""Student's t-distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.parameters import expanded
from retrograd.distributions.utils import _standard_normal, broadcast_all
from retrograd.tensor import Tensor
from retrograd.tensor.size import contiguous_format

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution with `df` degrees of freedom, shifted by `loc`, scaled by `scale`.

    >>> torch.distributions.StudentT(torch.tensor([4.0])).variance
    tensor([2.])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = expanded(self, StudentT, batch_shape, _instance, ("df", "loc", "scale"))
        new._chi2 = self._chi2.expand(new._batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance: Tensor = self.df.clone(memory_format=contiguous_format)
        finite = self.df > 2
        df = self.df[finite]
        variance[finite] = self.scale[finite].pow(2) * df / (df - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (noise * (squares / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + (0.5 * self.df).lgamma()
            - (0.5 * (self.df + 1.0)).lgamma()
        )
        return -0.5 * (self.df + 1.0) * (distance**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return (
            self.scale.log()
            + 0.5 * (self.df + 1) * (next_half.digamma() - half.digamma())
            + 0.5 * self.df.log()
            + log_beta
        )
