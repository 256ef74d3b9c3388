"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Self

from retrograd import dtypes
from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.multivariate_normal import (
    _half_log_determinant,
    _precision_to_scale_tril,
)
from retrograd.distributions.utils import _lower_triangle, lazy_property
from retrograd.lifecycle.site import user_level
from retrograd.ops.linalg.cholesky import cholesky
from retrograd.ops.linalg.solve import slogdet
from retrograd.ops.making.construction import tensor
from retrograd.ops.making.creation import eye
from retrograd.ops.making.ranges import arange
from retrograd.ops.random.sampling import randn
from retrograd.ops.shapes.broadcasting import broadcast_shapes
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["Wishart"]

_LOG_TWO = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = arange(p, dtype=x.dtype).div(2).expand((*x.shape, -1))
    return (x.unsqueeze(-1) - halves).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """The distribution of the sum of `df` outer products of normal vectors with themselves.

    Their covariance is given as `covariance_matrix`, as its inverse `precision_matrix` or as its
    lower triangular Cholesky factor `scale_tril`.

    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    df: Tensor
    _unbroadcasted_scale_tril: Tensor

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        forms = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril "
                "may be specified."
            )
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        if isinstance(df, (int, float)):
            batch_shape = Size(matrix.shape[:-2])
            self.df = tensor(df, dtype=matrix.dtype)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        size = event_shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=user_level(),
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._set_diagonal()

    def _set_diagonal(self) -> None:
        """Make the distribution of the squared diagonal of a Bartlett factor."""
        size = self._event_shape[-1]
        counts = arange(size, dtype=self._unbroadcasted_scale_tril.dtype)
        self._batch_dims = [-(dim + 1) for dim in range(len(self._batch_shape))]
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - counts.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(Wishart, _instance)
        shape = Size(batch_shape)
        matrices = shape + self.event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(matrices)
        new.df = self.df.expand(shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(matrices))
        super(Wishart, new).__init__(shape, self.event_shape, validate_args=False)
        new._set_diagonal()
        new._validate_args = self._validate_args
        return new

    def _expanded_matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance of the vectors."""
        return self._expanded_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded_matrix(factor @ factor.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        identity = eye(self._event_shape[-1], dtype=factor.dtype)
        return self._expanded_matrix(identity.cholesky_solve(factor))

    @property
    def mean(self) -> Tensor:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws as products of a triangular matrix of chi and normal numbers with itself."""
        size = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=dtypes.finfo(diagonal.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        shape = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        noise[..., _lower_triangle(size, -1)] = randn(shape, dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def rsample(
        self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None
    ) -> Tensor:
        """Draws; those that are not positive definite are drawn again, up to some times."""
        tries = 10 if max_try_correction is None else max_try_correction
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch takes the regular draws for the singular ones here: it warns, and draws them
        # once more. The same seed gives the same numbers only if that is done here too.
        again = self._any_of_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=user_level())
            for _ in range(tries):
                drawn = self._bartlett_sampling(again[again].shape)
                sample[again] = drawn
                drawn_again = again
                again = again.clone()  # the backward of the line above needs the old mask
                again[drawn_again] = self._any_of_batch(~self.support.check(drawn))
                if not again.any():
                    break
        return sample

    def _any_of_batch(self, valid: Tensor) -> Tensor:
        return valid.amax(self._batch_dims) if self._batch_shape else valid

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        df, size = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        solved = value.cholesky_solve(factor)
        return (
            -df * (size * _LOG_TWO / 2 + _half_log_determinant(factor))
            - (df / 2).mvlgamma(p=size)
            + (df - size - 1) / 2 * slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        df, size = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        return (
            (size + 1) * (size * _LOG_TWO / 2 + _half_log_determinant(factor))
            + (df / 2).mvlgamma(p=size)
            - (df - size - 1) / 2 * _mvdigamma(df / 2, p=size)
            + df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        size = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - size - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + _LOG_TWO * size) + half.mvlgamma(p=size)
