"""Kullback-Leibler divergences between multivariate normal distributions.

With covariances P and Q in n dimensions: half of
log det Q - log det P + trace(Q^-1 P) + (q.loc - p.loc)^T Q^-1 (q.loc - p.loc) - n.
"""

from __future__ import annotations

from retrograd.distributions.distribution import Distribution
from retrograd.distributions.kl import register_kl
from retrograd.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from retrograd.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from retrograd.ops.registry import RECORDED
from retrograd.ops.shapes.broadcasting import common_shape
from retrograd.tensor import Tensor

_Normal = MultivariateNormal | LowRankMultivariateNormal


def _check_events(p: Distribution, q: Distribution, kind: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {kind} with"
            + " " * 26  # so it is in PyTorch
            + "different event shapes cannot be computed"
        )


def _trace_of_square(matrix: Tensor) -> Tensor:
    """The trace of X X^T: the sum of the squares."""
    rows, columns = matrix.size(-2), matrix.size(-1)
    flat = matrix.reshape(-1, rows * columns).pow(2).sum(-1)
    return flat.reshape(matrix.shape[:-2])


def _solve(triangle: Tensor, right: Tensor) -> Tensor:
    """triangle^-1 right, with the batches of both expanded to one shape."""
    batch = common_shape([triangle.shape[:-2], right.shape[:-2]])
    return RECORDED.linalg_solve_triangular(
        triangle.expand((*batch, *triangle.shape[-2:])),
        right.expand((*batch, *right.shape[-2:])),
        *(False, True, False),  # not upper, from the left, any diagonal
    )


def _log_det(distribution: _Normal) -> Tensor:
    if isinstance(distribution, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(
            distribution._unbroadcasted_cov_factor,
            distribution._unbroadcasted_cov_diag,
            distribution._capacitance_tril,
        )
    diagonal = distribution._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
    return 2 * diagonal.log().sum(-1)


def _distance(p: _Normal, q: _Normal) -> Tensor:
    """The square of the Mahalanobis distance of the means, in the metric of `q`."""
    difference = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        return _batch_lowrank_mahalanobis(
            q._unbroadcasted_cov_factor,
            q._unbroadcasted_cov_diag,
            difference,
            q._capacitance_tril,
        )
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, difference)


def _divergence(p: _Normal, q: _Normal, trace: Tensor) -> Tensor:
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance(p, q) - p.event_shape[0])


def _lowrank_inverse_factor(q: LowRankMultivariateNormal) -> Tensor:
    """A of Q^-1 = D^-1 - A^T A, by Woodbury's identity."""
    right = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return _solve(q._capacitance_tril, right)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(
    p: LowRankMultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    _check_events(p, q, "Low Rank Multivariate Normals")
    a = _lowrank_inverse_factor(q)
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = (
        (diagonal / q._unbroadcasted_cov_diag).sum(-1)
        + _trace_of_square(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
        - _trace_of_square(a * diagonal.sqrt().unsqueeze(-2))
        - _trace_of_square(a.matmul(factor))
    )
    return _divergence(p, q, trace)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(
    p: MultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    a = _lowrank_inverse_factor(q)
    triangle = p._unbroadcasted_scale_tril
    scaled = triangle * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    return _divergence(p, q, _trace_of_square(scaled) - _trace_of_square(a.matmul(triangle)))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(
    p: LowRankMultivariateNormal, q: MultivariateNormal
) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    triangle = q._unbroadcasted_scale_tril
    diagonal = RECORDED.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = _trace_of_square(_solve(triangle, p._unbroadcasted_cov_factor))
    return _divergence(p, q, trace + _trace_of_square(_solve(triangle, diagonal)))


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(
    p: MultivariateNormal, q: MultivariateNormal
) -> Tensor:
    _check_events(p, q, "Multivariate Normals")
    solved = _solve(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril)
    return _divergence(p, q, _trace_of_square(solved))
