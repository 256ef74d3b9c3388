"""Derived distributions by their own laws: integrals, moments, reparameterized gradients."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import distributions as d
from tests.limits import LIMIT

DOUBLE = torch.float64


def number(value: Any) -> torch.Tensor:
    return torch.tensor(value, dtype=DOUBLE)


ONE_DIMENSIONAL = {
    "LogNormal": (lambda: d.LogNormal(number(0.3), number(0.4)), 1e-9, 12.0),
    "Gumbel": (lambda: d.Gumbel(number(0.3), number(0.8)), -6.0, 25.0),
    "Weibull": (lambda: d.Weibull(number(1.5), number(2.5)), 1e-9, 9.0),
    "Pareto": (lambda: d.Pareto(number(1.0), number(9.0)), 1.0, 40.0),
    "Kumaraswamy": (lambda: d.Kumaraswamy(number(2.0), number(3.0)), 1e-9, 1 - 1e-9),
    "HalfNormal": (lambda: d.HalfNormal(number(1.5)), 0.0, 15.0),
    "InverseGamma": (lambda: d.InverseGamma(number(12.0), number(9.0)), 1e-9, 60.0),
    "GeneralizedPareto": (
        lambda: d.GeneralizedPareto(number(1.0), number(0.5), number(-0.3)),
        1.0,
        1.0 + 0.5 / 0.3 - 1e-12,
    ),
    "GeneralizedPareto-0": (
        lambda: d.GeneralizedPareto(number(1.0), number(0.5), number(0.0)),
        1.0,
        25.0,
    ),
}


@functools.cache
def quadrature() -> tuple[Any, Any]:
    return np.polynomial.legendre.leggauss(600)


@pytest.mark.parametrize("name", ONE_DIMENSIONAL)
def test_density_integrates_to_the_moments(name: str) -> None:
    make, low, high = ONE_DIMENSIONAL[name]
    distribution = make()
    nodes, weights = quadrature()
    x = torch.tensor(low + (nodes + 1) * (high - low) / 2)
    mass = distribution.log_prob(x).exp() * torch.tensor(weights * (high - low) / 2)
    mean = (mass * x).sum()
    assert math.isclose(mass.sum().item(), 1.0, rel_tol=1e-6)
    assert math.isclose(mean.item(), distribution.mean.item(), rel_tol=1e-5)
    variance = (mass * (x - mean) ** 2).sum()
    assert math.isclose(variance.item(), distribution.variance.item(), rel_tol=1e-3)
    entropy = -(mass * distribution.log_prob(x)).sum()
    assert math.isclose(entropy.item(), distribution.entropy().item(), rel_tol=1e-4)


@pytest.mark.parametrize("name", [name for name in ONE_DIMENSIONAL if name != "InverseGamma"])
def test_cdf_and_its_inverse_and_derivative(name: str) -> None:
    distribution = ONE_DIMENSIONAL[name][0]()
    probability = number([0.05, 0.3, 0.5, 0.8, 0.99])
    x = distribution.icdf(probability).requires_grad_()
    found = distribution.cdf(x)
    np.testing.assert_allclose(found.detach(), probability, rtol=1e-9)
    (slope,) = torch.autograd.grad(found.sum(), x)
    np.testing.assert_allclose(slope, distribution.log_prob(x).exp().detach(), rtol=1e-9)


def test_multivariate_normal_is_the_sum_of_its_parts() -> None:
    """A diagonal covariance gives the product of normal distributions, for every batch shape."""
    scale = number([0.5, 1.0, 3.0])
    value = torch.arange(24.0, dtype=DOUBLE).reshape(4, 2, 3).sin()
    expected = d.Normal(number(0.0), scale).log_prob(value).sum(-1)
    for shape in [(3, 3), (1, 3, 3), (2, 3, 3), (1, 1, 3, 3), (4, 1, 3, 3), (4, 2, 3, 3)]:
        factor = scale.diag().expand(shape)
        found = d.MultivariateNormal(torch.zeros(3, dtype=DOUBLE), scale_tril=factor)
        np.testing.assert_allclose(found.log_prob(value), expected, rtol=1e-12)


def test_low_rank_is_the_full_covariance() -> None:
    factor = number([[1.0, 0.2], [0.5, -1.0], [0.3, 0.4]])
    diagonal = number([0.5, 1.0, 2.0])
    low = d.LowRankMultivariateNormal(torch.zeros(3, dtype=DOUBLE), factor, diagonal)
    full = d.MultivariateNormal(
        torch.zeros(3, dtype=DOUBLE), factor @ factor.T + torch.diag(diagonal)
    )
    value = number([[0.3, -1.0, 2.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(low.log_prob(value), full.log_prob(value), rtol=1e-10)
    np.testing.assert_allclose(low.entropy(), full.entropy(), rtol=1e-10)
    np.testing.assert_allclose(low.scale_tril, full.scale_tril, atol=1e-12)
    np.testing.assert_allclose(low.precision_matrix, full.precision_matrix, atol=1e-10)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_wishart_draws_have_gradients(shape: tuple[int, ...]) -> None:
    """PyTorch cannot differentiate them; finite differences can."""
    weights = number([[0.3, 1.0], [-0.5, 0.7]])

    def total(entries: torch.Tensor) -> torch.Tensor:
        factor = torch.stack([torch.stack([entries[0], entries[1] * 0]), entries[1:]])
        torch.manual_seed(4)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Singular sample detected")
            drawn = d.Wishart(number(4.5), scale_tril=factor).rsample(shape)
        return (drawn * weights).sum()

    point = number([1.2, 0.4, 0.9]).requires_grad_()
    (found,) = torch.autograd.grad(total(point), point)
    for index in range(3):
        step = torch.zeros(3, dtype=DOUBLE)
        step[index] = 1e-6
        slope = (total(point.detach() + step) - total(point.detach() - step)) / 2e-6
        assert math.isclose(found[index].item(), slope.item(), rel_tol=1e-6)


def test_wishart_of_size_one_is_a_scaled_chi_square() -> None:
    wishart = d.Wishart(number(3.0), covariance_matrix=number([[2.0]]))
    value = number(1.7)
    expected = d.Chi2(number(3.0)).log_prob(value / 2) - math.log(2)
    assert math.isclose(wishart.log_prob(value.view(1, 1)).item(), expected.item(), rel_tol=1e-12)


def test_correlation_factors() -> None:
    torch.manual_seed(0)
    factor = d.LKJCholesky(4, number(1.5)).sample((50,))
    correlation = factor @ factor.mT
    np.testing.assert_allclose(correlation.diagonal(dim1=-2, dim2=-1), np.ones((50, 4)), rtol=1e-12)
    assert bool((torch.linalg.eigvalsh(correlation) > 0).all())


def test_mixture_density_is_the_weighted_sum() -> None:
    components = d.Normal(number([0.0, 4.0]), number([1.0, 0.5]))
    mixture = d.MixtureSameFamily(d.Categorical(number([1.0, 3.0])), components)
    value = number([0.2, 3.0])
    parts = components.log_prob(value.unsqueeze(-1)).exp()
    expected = (parts * number([0.25, 0.75])).sum(-1).log()
    np.testing.assert_allclose(mixture.log_prob(value), expected, rtol=1e-12)


def test_relaxed_draws_pass_gradients_on() -> None:
    logits = number([0.5, -0.5, 0.1]).requires_grad_()
    torch.manual_seed(0)
    drawn = d.RelaxedOneHotCategorical(number(0.7), logits=logits).rsample((5,))
    np.testing.assert_allclose(drawn.detach().sum(-1), np.ones(5), rtol=1e-12)
    (drawn**2).sum().backward()
    assert float(logits.grad.abs().sum()) > 0
    # adding a number to all logits changes nothing
    np.testing.assert_allclose(logits.grad.sum().item(), 0.0, atol=1e-12)


def test_the_package_is_loaded_when_asked_for() -> None:
    program = (
        "import sys, retrograd as torch\n"
        "assert 'retrograd.distributions' not in sys.modules\n"
        "assert torch.distributions is sys.modules['retrograd.distributions']\n"
        "import retrograd.distributions.multivariate_normal as home\n"
        "assert home.MultivariateNormal is torch.distributions.MultivariateNormal\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT)
