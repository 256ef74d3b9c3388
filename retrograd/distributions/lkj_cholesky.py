"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd import dtypes
from retrograd.distributions import constraints
from retrograd.distributions.beta import Beta
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import broadcast_all
from retrograd.ops.making.ranges import arange
from retrograd.ops.random.sampling import randn
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices (Lewandowski, Kurowicka and Joe, 2009).

    The density of the matrix is a power, `concentration` - 1, of its determinant.

    >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
    >>> torch.allclose((factor @ factor.T).diagonal(), torch.ones(3))
    True
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "concentration": constraints.positive
    }
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # the onion method: the squared length of each row before its diagonal element is Beta
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = arange(dim - 1, dtype=self.concentration.dtype)
        offset = RECORDED.cat([offset.new_zeros((1,)), offset], 0)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(LKJCholesky, _instance)
        shape = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(shape)
        new._beta = self._beta.expand((*shape, self.dim))
        super(LKJCholesky, new).__init__(shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=squared.dtype).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # the first row has nothing before the diagonal
        below = squared.sqrt() * direction
        tiny = dtypes.finfo(below.dtype).tiny
        diagonal = (1 - (below**2).sum(-1)).clamp(min=tiny).sqrt()
        return below + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1)
        unnormalized = (order * diagonal.log()).sum(-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        constant = 0.5 * count * math.log(math.pi)
        return unnormalized - (constant + (alpha - 0.5).mvlgamma(count) - alpha.lgamma() * count)
