"""Every distribution: shapes, samples, supports, copies, refusals; scenarios for both libraries."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# Each distribution with good parameters; lists become tensors.
GOOD = {
    "Bernoulli": {"probs": [0.7, 0.2, 0.4]},
    "Beta": {"concentration1": [0.5, 2.0], "concentration0": [1.5, 0.7]},
    "Binomial": {"total_count": 5, "probs": [0.1, 0.9]},
    "Categorical": {"probs": [[0.1, 0.2, 0.3], [0.5, 0.3, 0.0]]},
    "Cauchy": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "Chi2": {"df": [0.9, 3.0]},
    "ContinuousBernoulli": {"probs": [0.7, 0.2, 0.5]},
    "Dirichlet": {"concentration": [[0.5, 1.5, 2.0], [3.0, 1.0, 1.0]]},
    "Exponential": {"rate": [0.7, 0.2]},
    "FisherSnedecor": {"df1": [3.0, 5.0], "df2": [5.0, 7.0]},
    "Gamma": {"concentration": [0.5, 2.0], "rate": [1.0, 3.0]},
    "GeneralizedPareto": {"loc": [0.0, 1.0], "scale": [1.0, 2.0], "concentration": [0.1, 0.3]},
    "Geometric": {"probs": [0.7, 0.2]},
    "Gumbel": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "HalfCauchy": {"scale": [1.0, 0.5]},
    "HalfNormal": {"scale": [1.0, 0.5]},
    "InverseGamma": {"concentration": [2.5, 3.0], "rate": [1.0, 3.0]},
    "Kumaraswamy": {"concentration1": [0.5, 2.0], "concentration0": [1.5, 0.7]},
    "LKJCholesky": {"dim": 3, "concentration": [0.5, 2.0]},
    "Laplace": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "LogNormal": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "LogisticNormal": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "LowRankMultivariateNormal": {
        "loc": [0.0, 1.0],
        "cov_factor": [[0.5], [0.2]],
        "cov_diag": [1.0, 0.5],
    },
    "Multinomial": {"total_count": 4, "probs": [[0.1, 0.2, 0.7]]},
    "MultivariateNormal": {"loc": [0.0, 1.0], "covariance_matrix": [[2.0, 0.3], [0.3, 1.0]]},
    "NegativeBinomial": {"total_count": [3.0, 5.0], "probs": [0.3, 0.6]},
    "Normal": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "OneHotCategorical": {"probs": [[0.1, 0.2, 0.7]]},
    "OneHotCategoricalStraightThrough": {"probs": [[0.1, 0.2, 0.7]]},
    "Pareto": {"scale": [1.0, 2.0], "alpha": [3.0, 2.5]},
    "Poisson": {"rate": [0.7, 12.0]},
    "RelaxedBernoulli": {"temperature": [0.5], "probs": [0.7, 0.2]},
    "RelaxedOneHotCategorical": {"temperature": [0.5], "probs": [0.1, 0.2, 0.7]},
    "StudentT": {"df": [2.5, 5.0], "loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "Uniform": {"low": [0.0, -1.0], "high": [1.0, 3.0]},
    "VonMises": {"loc": [0.0, 1.0], "concentration": [1.0, 4.0]},
    "Weibull": {"scale": [1.0, 2.0], "concentration": [1.5, 0.7]},
    "Wishart": {"df": [3.0], "covariance_matrix": [[2.0, 0.3], [0.3, 1.0]]},
}

NAMES = [pytest.param(name, id=name) for name in GOOD]


def build(lib, name, **changes):
    options = {**GOOD[name], **changes}
    checked = options.pop("validate_args", None)
    made = {
        key: lib.tensor(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
    return getattr(lib.distributions, name)(**made, validate_args=checked)


def near(value):
    """Numbers to the digits that float32 keeps through special functions."""
    if not hasattr(value, "detach"):
        return value
    found = value.detach().reshape(-1).tolist()
    return tuple(value.shape), [f"{number + 0.0:.3g}" for number in found]


def said(value):
    text = value if isinstance(value, str) else repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", text).replace("retrograd.", "torch.")


def look(log, call):
    """Log the result of a call, in digits that are alike, or its exception."""
    try:
        log(near(call()))
    except Exception as error:
        log(type(error).__name__, said(str(error).strip().split("\n")[0]))


@pytest.mark.parametrize("name", NAMES)
def test_moments_shapes_and_texts(name):
    def run(lib, log):
        made = build(lib, name)
        log(said(made), str(made.batch_shape), str(made.event_shape), said(made.support))
        log(made.has_rsample, made.has_enumerate_support, said(sorted(made.arg_constraints)))
        for moment in ("mean", "variance", "stddev", "mode"):
            look(log, lambda m=moment: getattr(made, m))
        look(log, made.entropy)
        look(log, made.perplexity)

    assert_same(run, torch)


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    def run(lib, log):
        made = build(lib, name)
        for shape in ((), (2,), (2, 1), (0,)):
            lib.manual_seed(3)
            look(log, lambda s=shape: made.sample(s))
            lib.manual_seed(3)
            look(log, lambda s=shape: made.rsample(s))
        look(log, lambda: lib.rand(1))
        look(log, lambda: str(made._extended_shape(lib.Size([4]))))
        lib.manual_seed(5)
        sample = made.sample((3,))
        look(log, lambda: made.log_prob(sample))
        look(log, lambda: made.cdf(sample))
        look(log, lambda: made.icdf(lib.full(tuple(sample.shape), 0.25)))
        look(log, lambda: made.enumerate_support())
        look(log, lambda: made.enumerate_support(expand=False))

    assert_same(run, torch)


# PyTorch's Gumbel cannot be copied once it was asked for its transforms.
@pytest.mark.parametrize("name", [name for name in GOOD if name != "Gumbel"])
def test_larger_and_copied(name):
    def run(lib, log):
        made = build(lib, name)
        for other in (
            made.expand((4, *made.batch_shape)),
            copy.deepcopy(made),
            pickle.loads(pickle.dumps(made)),
        ):
            log(said(other), str(other.batch_shape), str(other.event_shape))
            lib.manual_seed(3)
            sample = other.sample()
            look(log, lambda s=sample: s)
            look(log, lambda s=sample, o=other: o.log_prob(s))
        look(log, lambda: str(made.expand((7,)).batch_shape))
        within = lib.distributions.Independent(made, min(1, len(made.batch_shape)))
        log(said(within), str(within.batch_shape), str(within.event_shape))
        lib.manual_seed(3)
        look(log, lambda: within.log_prob(within.sample()))
        look(log, lambda: lib.distributions.Independent(made, 3))

    assert_same(run, torch)


@pytest.mark.parametrize("name", NAMES)
def test_refusals(name):
    def run(lib, log):
        bad = {key: [-1.0] if isinstance(value, list) else -1 for key, value in GOOD[name].items()}
        for key, value in bad.items():
            if name != "Wishart":  # its message has digits of the last place
                look(log, lambda k=key, v=value: said(build(lib, name, **{k: v})))
            nan = [float("nan")]
            if isinstance(value, list):
                look(log, lambda k=key, n=nan: said(build(lib, name, **{k: n})))
        made = build(lib, name)
        for value in (-0.75, 2.5, float("nan"), 1e9):
            if name == "Wishart":  # such a matrix is singular: what holds is up to rounding
                continue
            probe = lib.full(tuple(made.batch_shape + made.event_shape), value)
            look(log, lambda p=probe: made.log_prob(p))
            look(log, lambda p=probe: made.cdf(p))
            look(log, lambda p=probe: made.support.check(p))
        look(log, lambda: made.log_prob(1.0))
        look(log, lambda: made.log_prob(lib.ones(7)))
        look(log, lambda: made.icdf(lib.tensor(1.5)))
        look(log, lambda: made.sample(3))
        look(log, lambda: made.sample_n(2))
        look(log, lambda: getattr(lib.distributions, name)())
        look(log, lambda: getattr(lib.distributions, name)("a"))

    assert_same(run, torch)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_log_prob(name):
    def run(lib, log):
        leaves = {
            key: lib.tensor(value, requires_grad=True)
            for key, value in GOOD[name].items()
            if isinstance(value, list)
        }
        made = getattr(lib.distributions, name)(**{**GOOD[name], **leaves}, validate_args=False)
        lib.manual_seed(1)
        sample = made.sample((2,))
        total = made.log_prob(sample).sum()
        found = lib.autograd.grad(total, list(leaves.values()), allow_unused=True)
        for key, gradient in zip(leaves, found, strict=True):
            log(key, None if gradient is None else near(gradient))
        if made.has_rsample and name != "Wishart":  # PyTorch's fails: it writes what it needs
            lib.manual_seed(1)
            drawn = made.rsample((2,))
            found = lib.autograd.grad(drawn.sum(), list(leaves.values()), allow_unused=True)
            for key, gradient in zip(leaves, found, strict=True):
                log(key, None if gradient is None else near(gradient))

    assert_same(run, torch)
