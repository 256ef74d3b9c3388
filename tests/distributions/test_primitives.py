"""Primitive distributions by themselves: sums to one, definitions of entropy, shortcuts."""

from __future__ import annotations

import contextlib
import math
from typing import Any, ClassVar

import numpy as np
import pytest

import retrograd as torch
from retrograd.distributions import constraints

D = torch.distributions

DISCRETE = {
    "Bernoulli": lambda: D.Bernoulli(torch.tensor([0.2, 0.7], dtype=torch.float64)),
    "Binomial": lambda: D.Binomial(6, torch.tensor([0.2, 0.7], dtype=torch.float64)),
    "Categorical": lambda: D.Categorical(torch.rand(2, 5, dtype=torch.float64)),
    "OneHotCategorical": lambda: D.OneHotCategorical(logits=torch.randn(2, 4).double()),
}
COUNTING = {
    "Geometric": lambda: D.Geometric(torch.tensor([0.3, 0.6], dtype=torch.float64)),
    "NegativeBinomial": lambda: D.NegativeBinomial(
        torch.tensor([2.0, 5.0], dtype=torch.float64), torch.tensor([0.4, 0.2]).double()
    ),
    "Poisson": lambda: D.Poisson(torch.tensor([0.5, 8.0], dtype=torch.float64)),
}
LINE = np.linspace(-60.0, 60.0, 600_001)
HALF_LINE = np.linspace(1e-6, 80.0, 800_001)
UNIT = np.linspace(1e-6, 1 - 1e-6, 200_001)


def of(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


CONTINUOUS: dict[str, tuple[Any, Any]] = {
    "Normal": (lambda: D.Normal(of(0.3), of(1.7)), LINE),
    "Laplace": (lambda: D.Laplace(of(-0.4), of(0.9)), LINE),
    "StudentT": (lambda: D.StudentT(of(5.0), of(0.4), of(0.8)), LINE),
    "Exponential": (lambda: D.Exponential(of(0.7)), HALF_LINE),
    "Gamma": (lambda: D.Gamma(of(2.5), of(1.5)), HALF_LINE),
    "Chi2": (lambda: D.Chi2(of(4.0)), HALF_LINE),
    "Uniform": (lambda: D.Uniform(of(0.0), of(1.0)), UNIT),
    "Beta": (lambda: D.Beta(of(2.5), of(1.5)), UNIT),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(of(0.3)), UNIT),
    "VonMises": (lambda: D.VonMises(of(0.3), of(2.0)), np.linspace(-math.pi, math.pi, 100_001)),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_enumerated_probabilities(name: str) -> None:
    torch.manual_seed(0)
    distribution = DISCRETE[name]()
    log_prob = distribution.log_prob(distribution.enumerate_support())
    probs = log_prob.exp().numpy()
    np.testing.assert_allclose(probs.sum(0), np.ones(2), rtol=1e-12)
    entropy = -(probs * log_prob.numpy()).sum(0)
    np.testing.assert_allclose(distribution.entropy().numpy(), entropy, rtol=1e-10)


@pytest.mark.parametrize("name", COUNTING)
def test_counts_have_their_moments(name: str) -> None:
    distribution = COUNTING[name]()
    counts = np.arange(400.0)
    log_prob = distribution.log_prob(torch.tensor(counts[:, None]).expand(400, 2))
    probs = log_prob.exp().numpy()
    np.testing.assert_allclose(probs.sum(0), np.ones(2), rtol=1e-10)
    mean = (probs * counts[:, None]).sum(0)
    np.testing.assert_allclose(distribution.mean.numpy(), mean, rtol=1e-10)
    variance = (probs * counts[:, None] ** 2).sum(0) - mean**2
    np.testing.assert_allclose(distribution.variance.numpy(), variance, rtol=1e-9)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_have_their_moments(name: str) -> None:
    make, points = CONTINUOUS[name]
    distribution = make()
    density = distribution.log_prob(torch.tensor(points)).exp().numpy()

    def mean_of(values: Any) -> float:
        return float(np.trapezoid(density * values, points))

    assert mean_of(1.0) == pytest.approx(1.0, abs=1e-5)
    if name != "VonMises":  # whose moments are circular
        assert mean_of(points) == pytest.approx(float(distribution.mean), abs=1e-4)
        spread = mean_of(points**2) - mean_of(points) ** 2
        assert spread == pytest.approx(float(distribution.variance), abs=1e-3)
        entropy = -mean_of(np.log(np.maximum(density, 1e-300)))
        assert entropy == pytest.approx(float(distribution.entropy()), abs=1e-4)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Exponential", "Uniform", "Cauchy"])
def test_icdf_inverts_cdf(name: str) -> None:
    make: Any = CONTINUOUS[name][0] if name in CONTINUOUS else lambda: D.Cauchy(of(1.0), of(2.0))
    distribution = make()
    shares = torch.tensor([0.05, 0.3, 0.5, 0.9], dtype=torch.float64)
    np.testing.assert_allclose(distribution.cdf(distribution.icdf(shares)), shares, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "leaf"),
    [
        (lambda a: D.Gamma(a, 1.0), 3.0),
        (lambda a: D.Beta(a, torch.full_like(a, 2.0)), 3.0),
        (lambda a: D.Chi2(a), 5.0),
        (lambda a: D.Normal(0.0, a), 2.0),
        (lambda a: D.Exponential(a), 0.5),
    ],
)
def test_draws_move_with_their_mean(make: Any, leaf: float) -> None:
    """The mean gradient of many draws is the gradient of the mean, within its own noise."""
    torch.manual_seed(0)
    a = torch.full((20_000,), leaf, dtype=torch.float64, requires_grad=True)
    make(a).rsample().sum().backward()
    one = torch.tensor(leaf, dtype=torch.float64, requires_grad=True)
    (make(one).mean * 1.0 + 0 * one).backward()
    slopes = a.grad.numpy()
    noise = slopes.std() / math.sqrt(slopes.size)
    assert slopes.mean() == pytest.approx(float(one.grad), abs=5 * noise)


# ------------------------------------------------------------------------------ shortcuts


def unusual() -> contextlib.AbstractContextManager[Any]:
    return torch.autograd.detect_anomaly(check_nan=False)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 3), (2, 4, 5)])
@pytest.mark.parametrize("sample_shape", [(), (1,), (4,), (2, 3)])
def test_shortcuts_draw_what_the_ordinary_way_draws(
    shape: tuple[int, ...], sample_shape: tuple[int, ...]
) -> None:
    source = torch.Generator().manual_seed(1)
    loc, log_scale = (torch.randn(shape, generator=source) for _ in range(2))

    def draws() -> list[torch.Tensor]:
        torch.manual_seed(3)
        categorical = D.Categorical(logits=loc)
        normal = D.Normal(loc, log_scale.exp())
        index = categorical.sample(sample_shape)
        return [index, categorical.log_prob(index), normal.sample(sample_shape), torch.rand(1)]

    quick = draws()
    with unusual():
        ordinary = draws()
    for left, right in zip(quick, ordinary, strict=True):
        assert left.dtype is right.dtype and left.is_contiguous() == right.is_contiguous()
        assert not left.requires_grad
        assert left.tolist() == right.tolist()


def test_a_subclass_with_other_constraints_is_checked_by_them() -> None:
    class Small(D.Normal):
        arg_constraints: ClassVar[dict[str, Any]] = {
            "loc": constraints.real,
            "scale": constraints.interval(0.0, 1.0),
        }

    Small(0.0, 0.5)
    with pytest.raises(ValueError, match="Interval"):
        Small(0.0, 2.0)


def test_negative_scales_without_validation_are_refused_by_draws() -> None:
    distribution = D.Normal(torch.zeros(2), -torch.ones(2), validate_args=False)
    with pytest.raises(RuntimeError, match="normal expects all elements of std >="):
        distribution.sample()


def test_default_validation_can_be_switched() -> None:
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
        D.Categorical(torch.tensor([-1.0, 2.0]))
        D.Normal(0.0, 1.0).log_prob(torch.tensor(math.nan))
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)


def test_draws_under_inference_mode_are_inference_tensors() -> None:
    with torch.inference_mode():
        assert D.Normal(torch.zeros(2), 1.0).sample().is_inference()
        assert D.Categorical(torch.ones(3)).sample().is_inference()


def test_an_expanded_multinomial_keeps_its_entropy() -> None:
    multinomial = D.Multinomial(4, torch.tensor([0.2, 0.3, 0.5]))
    wide = multinomial.expand((2, 3)).entropy()
    assert wide.shape == (2, 3)
    assert torch.allclose(wide, multinomial.entropy())


def test_the_error_of_backward_through_a_sample_points_at_it() -> None:
    loc = torch.zeros(2, requires_grad=True)
    drawn = D.Normal(loc, 1.0).sample()
    with pytest.raises(RuntimeError, match="does not require grad") as caught:
        drawn.sum().backward()
    report = "".join(caught.value.__notes__)
    assert "D.Normal(loc, 1.0).sample()" in report
    assert "recording is off from here on (sample)" in report
