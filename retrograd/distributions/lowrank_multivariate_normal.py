"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from retrograd.distributions.utils import _standard_normal, lazy_property
from retrograd.ops.linalg.cholesky import cholesky
from retrograd.ops.linalg.solve import solve_triangular
from retrograd.ops.making.creation import eye
from retrograd.ops.shapes.broadcasting import broadcast_tensors
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["LowRankMultivariateNormal"]


def _identity_like(matrix: Tensor) -> Tensor:
    return eye(matrix.size(-1), dtype=matrix.dtype)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + W.T @ inverse(D) @ W, for a batch of W and diagonals D."""
    product = (W.mT / D.unsqueeze(-2)).matmul(W)
    return cholesky(product + _identity_like(product))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W @ W.T + D, by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x.T @ inverse(W @ W.T + D) @ x, by the Woodbury identity."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """A normal vector with covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    All that is computed grows with the size of the vector, not with its square.

    >>> from retrograd.distributions import LowRankMultivariateNormal
    >>> factor = torch.tensor([[1.0], [0.0]])
    >>> LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2)).covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc: Tensor = columns[0][..., 0]
        self.cov_factor: Tensor = columns[1]
        self.cov_diag: Tensor = columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        shape = Size(batch_shape)
        vectors = shape + self.event_shape
        new.loc = self.loc.expand(vectors)
        new.cov_diag = self.cov_diag.expand(vectors)
        new.cov_factor = self.cov_factor.expand(vectors + self.cov_factor.shape[-1:])
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        super(LowRankMultivariateNormal, new).__init__(shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    def _expanded_matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        # sqrt(D) times the factor of a matrix whose smallest eigenvalue is 1, which is stable
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        product = scaled.matmul(scaled.mT)
        return self._expanded_matrix(root * cholesky(product + _identity_like(product)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        diagonal = self._unbroadcasted_cov_diag.diag_embed()
        return self._expanded_matrix(factor.matmul(factor.mT) + diagonal)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by the Woodbury identity."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._expanded_matrix(diagonal.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        dtype, device = self.loc.dtype, self.loc.device
        factor_noise = _standard_normal(
            shape[:-1] + self.cov_factor.shape[-1:], dtype=dtype, device=device
        )
        noise = _standard_normal(shape, dtype=dtype, device=device)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, factor_noise)
            + self._unbroadcasted_cov_diag.sqrt() * noise
        )

    def _log_determinant(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_determinant() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = 0.5 * (constant + self._log_determinant())
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
