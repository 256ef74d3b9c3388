"""Kullback-Leibler divergences by their definition: sums and integrals of p * (log p - log q)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.distributions.kl import _KL_REGISTRY

D = torch.distributions


def of(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


LINE = np.linspace(-40.0, 60.0, 400_001)
HALF_LINE = np.linspace(1e-7, 70.0, 700_001)
UNIT = np.linspace(1e-7, 1 - 1e-7, 200_001)
# a family: a member as p, the points that carry it, a member as q
CONTINUOUS: dict[str, tuple[Any, Any, Any]] = {
    "Beta": (D.Beta(of(2.5), of(1.5)), UNIT, D.Beta(of(1.5), of(2.0))),
    "ContinuousBernoulli": (D.ContinuousBernoulli(of(0.3)), UNIT, D.ContinuousBernoulli(of(0.8))),
    "Exponential": (D.Exponential(of(0.8)), HALF_LINE, D.Exponential(of(0.5))),
    "Gamma": (D.Gamma(of(2.5), of(1.2)), HALF_LINE, D.Gamma(of(1.5), of(0.7))),
    "Gumbel": (D.Gumbel(of(0.2), of(1.1)), LINE, D.Gumbel(of(-0.3), of(1.4))),
    "Laplace": (D.Laplace(of(0.2), of(1.1)), LINE, D.Laplace(of(-0.3), of(1.4))),
    "Normal": (D.Normal(of(0.2), of(1.1)), LINE, D.Normal(of(-0.3), of(1.4))),
    "Pareto": (
        D.Pareto(of(0.5), of(6.0)),
        np.linspace(0.5, 40, 700_001),
        D.Pareto(of(0.2), of(1.5)),
    ),
    "Uniform": (D.Uniform(of(0.25), of(0.75)), np.linspace(0.25, 0.75, 100_001)[:-1], None),
}


@pytest.mark.parametrize("p_name", CONTINUOUS)
def test_finite_divergences_are_integrals(p_name: str) -> None:
    p, points, _ = CONTINUOUS[p_name]
    values = torch.tensor(points)
    log_p = p.log_prob(values).numpy()
    compared = 0
    for q_name, (_, _, q) in CONTINUOUS.items():
        if q is None or (type(p), type(q)) not in _KL_REGISTRY:
            continue
        divergence = float(D.kl_divergence(p, q))
        if not math.isfinite(divergence):
            continue
        q._validate_args = False
        log_q = q.log_prob(values).numpy()
        integral = np.trapezoid(np.exp(log_p) * (log_p - log_q), points)
        assert divergence == pytest.approx(integral, abs=2e-4), q_name
        compared += 1
    assert compared >= 2


def test_infinite_where_p_leaves_the_support_of_q() -> None:
    for p_name, q_name in [("Normal", "Gamma"), ("Gumbel", "Beta"), ("Exponential", "Uniform")]:
        q = CONTINUOUS[q_name][2] or CONTINUOUS[q_name][0]
        assert float(D.kl_divergence(CONTINUOUS[p_name][0], q)) == math.inf


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (D.Bernoulli(of(0.3)), D.Bernoulli(of(0.6))),
        (
            D.Categorical(torch.tensor([1.0, 2.0, 3.0]).double()),
            D.Categorical(torch.ones(3).double()),
        ),
        (D.Binomial(5, of(0.3)), D.Binomial(5, of(0.6))),
        (D.OneHotCategorical(torch.tensor([1.0, 3.0])), D.OneHotCategorical(torch.ones(2))),
    ],
    ids=["Bernoulli", "Categorical", "Binomial", "OneHotCategorical"],
)
def test_divergences_of_enumerable_families_are_sums(p: Any, q: Any) -> None:
    support = p.enumerate_support()
    log_p, log_q = p.log_prob(support), q.log_prob(support)
    total = (log_p.exp() * (log_p - log_q)).sum()
    assert float(D.kl_divergence(p, q)) == pytest.approx(float(total), rel=1e-6)


def test_divergences_of_counts_are_sums() -> None:
    counts = torch.arange(300, dtype=torch.float64)
    for make, first, second in [(D.Geometric, 0.3, 0.5), (D.Poisson, 2.0, 5.0)]:
        p, q = make(of(first)), make(of(second))
        log_p, log_q = p.log_prob(counts), q.log_prob(counts)
        total = (log_p.exp() * (log_p - log_q)).sum()
        assert float(D.kl_divergence(p, q)) == pytest.approx(float(total), rel=1e-9)


def test_a_distribution_does_not_diverge_from_itself() -> None:
    for p, _, _ in CONTINUOUS.values():
        assert float(D.kl_divergence(p, p)) == pytest.approx(0.0, abs=1e-12)
    scale = torch.tensor([[1.0, 0.0], [0.5, 2.0]])
    full = D.MultivariateNormal(torch.zeros(2), scale_tril=scale)
    low = D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
    for p in (full, low):
        assert float(D.kl_divergence(p, p)) == pytest.approx(0.0, abs=1e-6)
    # two ways to write one covariance
    same = D.MultivariateNormal(torch.zeros(2), low.covariance_matrix)
    assert float(D.kl_divergence(same, low)) == pytest.approx(0.0, abs=1e-6)
    assert float(D.kl_divergence(low, same)) == pytest.approx(0.0, abs=1e-6)


def test_no_formula() -> None:
    with pytest.raises(NotImplementedError, match="p type Normal and q type Cauchy"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))


def test_batches_broadcast() -> None:
    p = D.Bernoulli(torch.tensor([[0.0], [0.4]]))
    q = D.Bernoulli(torch.tensor([0.0, 0.5, 1.0]))
    found = D.kl_divergence(p, q)
    expected = [[0.0, math.log(2), math.inf], [math.inf, 0.0201, math.inf]]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
