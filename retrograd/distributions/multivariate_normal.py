"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import _standard_normal, lazy_property
from retrograd.ops.linalg.cholesky import cholesky
from retrograd.ops.linalg.solve import solve_triangular
from retrograd.ops.making.creation import eye
from retrograd.ops.shapes.broadcasting import broadcast_shapes
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["MultivariateNormal"]


def _batch_mv(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Products of matrices and vectors, broadcast over batches."""
    return matrices.matmul(vectors.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, vectors: Tensor) -> Tensor:
    """The squared length of each vector after solving with its lower triangular factor.

    Factors are broadcast to the vectors' batch. All vectors of one factor are solved as columns
    of one system, so that no factor is copied.
    """
    size = vectors.size(-1)
    batch = vectors.shape[:-1]
    missing = len(batch) - (factor.dim() - 2)
    factor_batch = (1,) * missing + tuple(factor.shape[:-2])
    own = [d for d, count in enumerate(factor_batch) if count != 1]
    shared = [d for d, count in enumerate(factor_batch) if count == 1]
    own_shape = [batch[d] for d in own]
    columns = vectors.permute([*own, len(batch), *shared]).reshape([*own_shape, size, -1])
    solved = solve_triangular(factor.reshape([*own_shape, size, size]), columns, upper=False)
    lengths = solved.pow(2).sum(-2).reshape([*own_shape, *(batch[d] for d in shared)])
    order = [*own, *shared]
    return lengths.permute([order.index(d) for d in range(len(batch))])


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of each matrix, without inverting the matrix."""
    # With the order of rows and columns turned round, the factor of the precision becomes an
    # upper triangular one; its transpose is the inverse of the factor that is wanted.
    factor = cholesky(precision.flip((-2, -1)))
    inverse = factor.flip((-2, -1)).transpose(-2, -1)
    return solve_triangular(inverse, eye(precision.shape[-1], dtype=precision.dtype), upper=False)


def _half_log_determinant(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of each triangular factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """A normal vector of mean `loc`, with one of three forms of its covariance.

    `covariance_matrix`, its inverse `precision_matrix`, or `scale_tril`, the lower triangular
    Cholesky factor of the covariance, which is the fastest; the others follow when they are read.

    >>> distribution = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> distribution.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    _unbroadcasted_scale_tril: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        forms = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril "
                "may be specified."
            )
        ((name, matrix),) = given
        if matrix.dim() < 2:
            noun = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{noun} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        shape = Size(batch_shape)
        new.loc = self.loc.expand(shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                matrix = self.__dict__[name].expand(shape + self.event_shape + self.event_shape)
                setattr(new, name, matrix)
        super(MultivariateNormal, new).__init__(shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded_matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._expanded_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded_matrix(factor.matmul(factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._expanded_matrix(self._unbroadcasted_scale_tril.cholesky_inverse())

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _half_log_determinant(factor)

    def entropy(self) -> Tensor:
        half_log_determinant = _half_log_determinant(self._unbroadcasted_scale_tril)
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + half_log_determinant
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
