"""Distributions made of others, and those of vectors and matrices, beside PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.distributions.beside import EXACT, LAST_PLACES, ROUNDING, TEN_DIGITS, Case, compare

pytestmark = pytest.mark.torch

LOCATIONS = [[-1.0, 0.0, 2.5], [0.3, -0.7, 1.0]]
SCALES = [0.5, 1.0, 3.0]
ANYWHERE = [[-2.0, 0.1, 1.0], [0.3, 4.0, -0.2]]
POSITIVE = [[0.01, 0.6, 3.0], [9.0, 1.0, 0.2]]
INSIDE = [[0.1, 0.2, 0.5], [0.8, 0.9, 0.4]]
CHANCES = [[0.05, 0.5, 0.9], [0.4999, 0.3, 0.7]]
ODDS = [[-3.0, 0.0, 2.0], [0.1, -0.4, 0.7]]
ROWS = [[0.2, 0.3, 0.1, 0.4], [0.25, 0.25, 0.05, 0.45]]
WEIGHTS = [[1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 0.25, 1.0]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
COVARIANCES = [COVARIANCE, [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.2]]]
FACTOR = [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.1, 0.7]]
LOW_RANK = [[1.0, 0.2], [0.5, -1.0], [0.3, 0.4]]
LOW_RANKS = [[LOW_RANK], [[[0.1, 0.2], [0.0, 1.0], [2.0, 0.4]]]]
CORRELATION = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, -0.6, 0.64]]


class Built(Case):
    """A distribution made of several, by a function of the library and the tensors."""

    def __init__(self, label: str, values: Any, make: Any, **arguments: Any) -> None:
        super().__init__("", values, **arguments)
        self.label = label
        self.make = make

    def construct(self, library: Any, arguments: dict[str, Any], **more: Any) -> Any:
        return self.make(library.distributions, **arguments, **more)


def construct(case: Case, library: Any, arguments: dict[str, Any], **more: Any) -> Any:
    if isinstance(case, Built):
        return case.construct(library, arguments, **more)
    path, _, name = case.name.rpartition(".")
    home = getattr(library.distributions, path) if path else library.distributions
    return getattr(home, name)(**arguments, **more)


def build(case: Case, library: Any, dtype: str = "float64", **more: Any) -> Any:
    return construct(case, library, case.arguments_in(library, dtype), **more)


def mixture(d: Any, weights: Any, loc: Any, scale: Any, **more: Any) -> Any:
    return d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, scale), **more)


def vector_mixture(d: Any, weights: Any, loc: Any, scale: Any, **more: Any) -> Any:
    components = d.Independent(d.Normal(loc, scale), 1)
    return d.MixtureSameFamily(d.Categorical(logits=weights), components, **more)


def independent(d: Any, loc: Any, scale: Any, **more: Any) -> Any:
    return d.Independent(d.Normal(loc, scale), 1, **more)


def squashed(d: Any, loc: Any, scale: Any, **more: Any) -> Any:
    steps = [d.TanhTransform(cache_size=1), d.AffineTransform(1.0, -2.0)]
    return d.TransformedDistribution(d.Normal(loc, scale), steps, **more)


def stretched(d: Any, loc: Any, scale: Any, **more: Any) -> Any:
    # the transform has more batch dimensions than the base
    return d.TransformedDistribution(d.Normal(0.0, 1.0), d.AffineTransform(loc, scale), **more)


def on_simplex(d: Any, loc: Any, scale: Any, **more: Any) -> Any:
    steps = [d.StickBreakingTransform(), d.AffineTransform(0.5, 2.0)]
    return d.TransformedDistribution(d.Normal(loc, scale), steps, **more)


def reshaped(d: Any, loc: Any, factor: Any, **more: Any) -> Any:
    base = d.MultivariateNormal(loc, scale_tril=factor)
    return d.TransformedDistribution(base, d.ReshapeTransform((3,), (3, 1)), **more)


def copula(d: Any, loc: Any, scale: Any, **more: Any) -> Any:
    transform = d.CumulativeDistributionTransform(d.Normal(0.0, 1.0))
    return d.TransformedDistribution(d.Normal(loc, scale), transform, **more)


CASES = [
    Case("LogNormal", POSITIVE, loc=LOCATIONS, scale=SCALES),
    Case("LogNormal", 2.0, "numbers", loc=0.5, scale=2),
    Case("Gumbel", ANYWHERE, loc=LOCATIONS, scale=SCALES),
    Case("Gumbel", 0.5, "numbers", loc=1.0, scale=2.0),
    Case("Weibull", POSITIVE, scale=SCALES, concentration=POSITIVE),
    Case("Weibull", 1.5, "numbers", scale=2.0, concentration=1.5),
    Case("Pareto", [[0.6, 2.0, 3.0]], scale=SCALES, alpha=[[0.5, 1.5, 5.0]]),
    Case("Pareto", 3.0, "numbers", scale=2.0, alpha=3.0),
    Case("Kumaraswamy", INSIDE, concentration1=[0.5, 1.0, 3.0], concentration0=[2.0, 1.0, 0.4]),
    Case("Kumaraswamy", 0.3, "numbers", concentration1=2.0, concentration0=3.0),
    Case("LogisticNormal", ROWS, loc=LOCATIONS, scale=SCALES),
    Case("LogisticNormal", [0.25, 0.75], "numbers", loc=0.0, scale=1.0),
    Case("HalfNormal", POSITIVE, scale=SCALES),
    Case("HalfNormal", 0.5, "number", scale=2.0),
    Case("HalfCauchy", POSITIVE, scale=SCALES),
    Case("HalfCauchy", 0.5, "number", scale=2.0),
    Case("InverseGamma", POSITIVE, concentration=[0.5, 1.5, 4.0], rate=SCALES),
    Case("InverseGamma", 0.5, "numbers", concentration=3.0, rate=2.0),
    Case("RelaxedBernoulli", INSIDE, "probs", temperature=[0.5], probs=CHANCES),
    Case("RelaxedBernoulli", INSIDE, "logits", temperature=[2.0], logits=ODDS),
    Case("RelaxedBernoulli", 0.3, "number", temperature=[2.0], probs=0.25),
    Case("relaxed_bernoulli.LogitRelaxedBernoulli", ANYWHERE, temperature=[0.5], probs=CHANCES),
    Case("RelaxedOneHotCategorical", ROWS, "probs", temperature=[0.5], probs=WEIGHTS),
    Case("RelaxedOneHotCategorical", ROWS, "logits", temperature=[1.5], logits=ROWS),
    Case("relaxed_categorical.ExpRelaxedCategorical", ROWS, temperature=[0.5], logits=ROWS),
    Case("MultivariateNormal", ANYWHERE, "covariance", loc=SCALES, covariance_matrix=COVARIANCE),
    Case("MultivariateNormal", ANYWHERE, "batch", loc=SCALES, covariance_matrix=COVARIANCES),
    Case("MultivariateNormal", ANYWHERE, "precision", loc=LOCATIONS, precision_matrix=COVARIANCE),
    Case("MultivariateNormal", ANYWHERE, "factor", loc=LOCATIONS, scale_tril=FACTOR),
    Case("MultivariateNormal", [ANYWHERE, ANYWHERE], "one", loc=[LOCATIONS], scale_tril=[[FACTOR]]),
    Case("LowRankMultivariateNormal", ANYWHERE, loc=SCALES, cov_factor=LOW_RANK, cov_diag=SCALES),
    Case(
        "LowRankMultivariateNormal",
        [ANYWHERE, LOCATIONS],
        "batch",
        loc=LOCATIONS,
        cov_factor=LOW_RANKS,
        cov_diag=SCALES,
    ),
    Case("Wishart", COVARIANCES, "covariance", df=[3.5, 6.0], covariance_matrix=COVARIANCE),
    Case("Wishart", COVARIANCE, "factor", df=5.0, scale_tril=FACTOR),
    Case("Wishart", COVARIANCES, "precision", df=[4.0, 9.0], precision_matrix=COVARIANCES),
    Case("LKJCholesky", CORRELATION, dim=3, concentration=[0.5, 1.0, 4.0]),
    Case("LKJCholesky", CORRELATION, "number", dim=3),
    Built("MixtureSameFamily", [0.5, 3.0], mixture, weights=SCALES, loc=LOCATIONS, scale=SCALES),
    Built(
        "MixtureSameFamily-vectors",
        [[0.5, 3.0, 1.0], [0.0, 0.0, 1.0]],
        vector_mixture,
        weights=[0.2, 0.8],
        loc=LOCATIONS,
        scale=SCALES,
    ),
    Built("Independent", ANYWHERE, independent, loc=LOCATIONS, scale=SCALES),
    Built("TransformedDistribution-tanh", INSIDE, squashed, loc=LOCATIONS, scale=SCALES),
    Built("TransformedDistribution-batch", ANYWHERE, stretched, loc=LOCATIONS, scale=SCALES),
    Built(
        "TransformedDistribution-simplex",
        [[1.0, 1.2, 1.0, 0.8]],
        on_simplex,
        loc=LOCATIONS,
        scale=SCALES,
    ),
    Built(
        "TransformedDistribution-reshape",
        [[[0.5], [1.0], [2.0]]],
        reshaped,
        loc=LOCATIONS,
        factor=FACTOR,
    ),
    Built("TransformedDistribution-cdf", INSIDE, copula, loc=LOCATIONS, scale=SCALES),
    *(
        Case("GeneralizedPareto", values, label, loc=loc, scale=scale, concentration=concentration)
        for label, values, loc, scale, concentration in [
            ("tails", [[0.6, 1.5, 3.0]], [0.0, 1.0, 2.5], SCALES, [0.2, 0.7, 1.5]),
            ("bounded", [[0.2, 1.5, 3.0]], [0.0, 1.0, 2.5], SCALES, [-0.5, -1.0, 0.0]),
            ("numbers", 3.0, 2.0, 1.0, 0.25),
        ]
    ),
]
# PyTorch's log_prob of it takes float32 alone: it compares the concentration with a float32 zero.
SINGLE = [case for case in CASES if case.name == "GeneralizedPareto"]
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
SHAPES = [(), (3,), (2, 4)]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """PyTorch warns at each Wishart draw, and so does retrograd; `test_wishart_warns` says so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular sample detected")
        yield


@EVERY
@BOTH
def test_same_seed_same_draws(case: Case, dtype: str) -> None:
    def draws(library: Any) -> Any:
        distribution = build(case, library, dtype)
        library.manual_seed(7)
        return [distribution.sample(shape) for shape in SHAPES]

    # A number becomes float32 whatever the temperature is, and draws have its precision.
    single = {"torch.float32": (2e-5, 2e-6), "torch.float64": (1e-7, 0.0)}
    compare(draws, single if case.label == "RelaxedBernoulli-number" else ROUNDING)


QUESTIONS = ("mean", "mode", "variance", "stddev", "entropy", "perplexity", "repr", "support")


@EVERY
@BOTH
def test_properties(case: Case, dtype: str) -> None:
    def ask(library: Any, question: str) -> Any:
        distribution = build(case, library, dtype)
        if question == "repr":
            return repr(distribution), distribution.batch_shape, distribution.event_shape
        found = getattr(distribution, question)
        if question == "support":
            return repr(found), found.event_dim, found.is_discrete, distribution.has_rsample
        return found() if callable(found) else found

    for question in QUESTIONS:
        compare(lambda library, question=question: ask(library, question))


@EVERY
@BOTH
def test_functions(case: Case, dtype: str) -> None:
    def ask(library: Any, function: str) -> Any:
        values = case.points(library, dtype)
        if function == "icdf":
            values = values.sigmoid()
        return getattr(build(case, library, dtype), function)(values)

    refused = case in SINGLE and dtype == "float64"
    for function in ("icdf",) if refused else ("log_prob", "cdf", "icdf"):
        compare(lambda library, function=function: ask(library, function))


def usual(case: Case) -> str:
    return "float32" if case in SINGLE else "float64"


def derivatives(case: Case, library: Any, result_of: Any, order: int) -> Any:
    """Derivatives of a result by all tensors and by the point."""
    dtype = usual(case)
    arguments = case.arguments_in(library, dtype, requires_grad=True)
    point = case.points(library, dtype).requires_grad_()
    leaves = [value for value in arguments.values() if isinstance(value, library.Tensor)]
    leaves.append(point)
    library.manual_seed(11)
    result = result_of(construct(case, library, arguments), point)
    factors = library.arange(1.0, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
    total = (result * factors.sin()).sum()
    found = library.autograd.grad(total, leaves, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return found
    known = [g for g in found if g is not None and g.requires_grad]
    if not known:
        return "linear"
    again = sum((g * 1.3).sin().sum() for g in known)
    return library.autograd.grad(again, leaves, allow_unused=True)


@EVERY
@pytest.mark.parametrize("order", [1, 2])
def test_log_prob_gradients(case: Case, order: int) -> None:
    theirs, _ = compare(
        lambda library: derivatives(case, library, lambda d, x: d.log_prob(x), order), TEN_DIGITS
    )
    assert theirs[0] != "error"


# PyTorch cannot differentiate draws of Wishart: it overwrites a mask that the backward needs.
REPARAMETERIZED = [
    case
    for case in CASES
    if case.name not in ("Wishart", "LKJCholesky")
    and not case.label.startswith("MixtureSameFamily")
    and any(isinstance(value, list) for value in case.arguments.values())
]


@pytest.mark.parametrize("case", REPARAMETERIZED, ids=lambda case: case.label)
@pytest.mark.parametrize("order", [1, 2])
def test_rsample_gradients(case: Case, order: int) -> None:
    theirs, _ = compare(
        lambda library: derivatives(case, library, lambda d, x: d.rsample((2,)), order), TEN_DIGITS
    )
    # PyTorch has no second derivative of gamma draws
    assert (theirs[0] == "error") == (case.name == "InverseGamma" and order == 2)


@EVERY
def test_expand(case: Case) -> None:
    def ask(library: Any) -> Any:
        distribution = build(case, library, usual(case))
        wide = distribution.expand((2, *distribution.batch_shape))
        library.manual_seed(3)
        return (
            *(repr(wide), wide.batch_shape, wide.event_shape, wide._validate_args),
            *(wide.sample((2,)), wide.log_prob(case.points(library, usual(case)))),
        )

    compare(ask)


@EVERY
def test_without_validation(case: Case) -> None:
    """Points outside the support give numbers, not errors."""

    def ask(library: Any) -> Any:
        distribution = build(case, library, usual(case), validate_args=False)
        point = case.points(library, usual(case)) - 0.375
        return distribution._validate_args, distribution.log_prob(point)

    compare(ask)


@EVERY
def test_values_outside(case: Case) -> None:
    def ask(library: Any) -> Any:
        distribution = build(case, library)
        return distribution.log_prob(library.full_like(case.points(library), float("nan")))

    theirs, _ = compare(ask)
    assert theirs[:2] == ("error", "ValueError")


BAD = [
    ("LogNormal", dict(loc=0.0, scale=-1.0)),
    ("LogNormal", dict(loc=float("nan"), scale=1.0)),
    ("Gumbel", dict(loc=0.0, scale=[1.0, 0.0])),
    ("Weibull", dict(scale=1.0, concentration=-1.0)),
    ("Pareto", dict(scale=1.0, alpha=0.0)),
    ("Kumaraswamy", dict(concentration1=0.0, concentration0=1.0)),
    ("HalfNormal", dict(scale=-2.0)),
    ("HalfCauchy", dict(scale=-2.0)),
    ("InverseGamma", dict(concentration=[1.0, -1.0], rate=1.0)),
    ("GeneralizedPareto", dict(loc=0.0, scale=0.0, concentration=1.0)),
    ("LogisticNormal", dict(loc=[0.0, 1.0], scale=[1.0, -1.0])),
    ("RelaxedBernoulli", dict(temperature=[1.0], probs=2.0)),
    ("RelaxedBernoulli", dict(temperature=[1.0])),
    ("RelaxedBernoulli", dict(temperature=[1.0], probs=0.5, logits=0.5)),
    ("RelaxedOneHotCategorical", dict(temperature=[1.0])),
    ("MultivariateNormal", dict(loc=1.0, scale_tril=FACTOR)),
    ("MultivariateNormal", dict(loc=SCALES)),
    ("MultivariateNormal", dict(loc=SCALES, scale_tril=FACTOR, covariance_matrix=COVARIANCE)),
    ("MultivariateNormal", dict(loc=SCALES, scale_tril=SCALES)),
    ("MultivariateNormal", dict(loc=SCALES, covariance_matrix=SCALES)),
    ("MultivariateNormal", dict(loc=SCALES, precision_matrix=SCALES)),
    ("MultivariateNormal", dict(loc=SCALES, covariance_matrix=FACTOR)),
    ("MultivariateNormal", dict(loc=SCALES, scale_tril=COVARIANCE)),
    ("LowRankMultivariateNormal", dict(loc=SCALES, cov_factor=SCALES, cov_diag=SCALES)),
    ("LowRankMultivariateNormal", dict(loc=SCALES, cov_factor=[SCALES], cov_diag=SCALES)),
    ("LowRankMultivariateNormal", dict(loc=SCALES, cov_factor=LOW_RANK, cov_diag=[1.0])),
    ("LowRankMultivariateNormal", dict(loc=SCALES, cov_factor=LOW_RANK, cov_diag=[-1.0, 2.0, 1.0])),
    (
        "LowRankMultivariateNormal",
        dict(loc=[SCALES] * 3, cov_factor=[LOW_RANK] * 2, cov_diag=SCALES),
    ),
    ("Wishart", dict(df=2.0, covariance_matrix=COVARIANCE)),
    ("Wishart", dict(df=4.0, covariance_matrix=FACTOR)),
    ("Wishart", dict(df=4.0)),
    ("Wishart", dict(df=4.0, scale_tril=SCALES)),
    ("LKJCholesky", dict(dim=1)),
    ("LKJCholesky", dict(dim=3, concentration=-1.0)),
]


@pytest.mark.parametrize(("name", "arguments"), BAD, ids=lambda given: str(given)[:60])
def test_wrong_parameters(name: str, arguments: dict[str, Any]) -> None:
    theirs, _ = compare(lambda library: build(Case(name, None, **arguments), library))
    assert theirs[0] == "error"


def normals(d: Any, t: Any, *shape: int) -> Any:
    return d.Normal(t.zeros(shape), t.ones(shape))


def shapes(d: Any, base: Any, *transforms: Any) -> Any:
    made = d.TransformedDistribution(base, list(transforms))
    drawn = made.sample((3,))
    found = (made.batch_shape, made.event_shape, repr(made.base_dist), repr(made.support))
    return (
        *found,
        drawn.shape,
        made.log_prob(drawn),
        made.expand((2, *made.batch_shape)).event_shape,
    )


COMPOSITIONS = [
    lambda t, d: shapes(d, normals(d, t, 4, 5), d.AffineTransform(t.zeros(5), 2.0)),
    lambda t, d: shapes(d, normals(d, t, 4, 5), d.AffineTransform(t.zeros(3, 1, 1), 2.0)),
    lambda t, d: shapes(d, normals(d, t, 4, 5), d.AffineTransform(0.0, t.ones(5), event_dim=1)),
    lambda t, d: shapes(d, normals(d, t), d.AffineTransform(t.zeros(3, 4), 1.0, event_dim=1)),
    lambda t, d: shapes(d, normals(d, t, 4, 5), d.TanhTransform(), d.StickBreakingTransform()),
    lambda t, d: shapes(d, normals(d, t, 4, 5), d.StickBreakingTransform(), d.ExpTransform()),
    lambda t, d: shapes(d, normals(d, t, 4, 6), d.ReshapeTransform((6,), (2, 3)), d.ExpTransform()),
    lambda t, d: shapes(d, normals(d, t, 4, 6), d.ReshapeTransform((4, 6), (24,))),
    lambda t, d: shapes(d, normals(d, t, 4, 6), d.CorrCholeskyTransform()),
    lambda t, d: shapes(d, d.Independent(normals(d, t, 4, 6), 1), d.ExpTransform()),
    lambda t, d: shapes(d, d.Independent(normals(d, t, 4, 6), 2), d.StickBreakingTransform()),
    lambda t, d: shapes(
        d, d.Dirichlet(t.ones(2, 3)), d.AffineTransform(t.zeros(3), 2.0, event_dim=1)
    ),
    lambda t, d: shapes(d, d.Dirichlet(t.ones(2, 3)), d.StickBreakingTransform().inv),
    lambda t, d: shapes(d, normals(d, t, 2, 3), d.IndependentTransform(d.ExpTransform(), 2)),
    lambda t, d: shapes(d, normals(d, t, 2, 3), d.CatTransform([d.ExpTransform()], -1, [3])),
    lambda t, d: shapes(d, normals(d, t, 2, 3), d.StackTransform([d.ExpTransform()] * 2, -2)),
    lambda t, d: d.Independent(normals(d, t, 2), 2),
    lambda t, d: d.Independent(normals(d, t, 2, 3), 1).log_prob(t.zeros(2, 4)),
    lambda t, d: d.Independent(d.Bernoulli(t.full((2,), 0.5)), 1).enumerate_support(),
    lambda t, d: d.Independent(d.Bernoulli(t.full((2,), 0.5)), 0).enumerate_support(),
    lambda t, d: d.Independent(d.Bernoulli(t.full((2,), 0.5)), 1).has_enumerate_support,
    lambda t, d: d.MixtureSameFamily(normals(d, t, 2), normals(d, t, 2)),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), t.ones(2)),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3)), normals(d, t, 2)),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(4, 2)), normals(d, t, 3, 2)),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), normals(d, t, 2)).rsample(),
    lambda t, d: d.TransformedDistribution(normals(d, t), "exp"),
    lambda t, d: d.TransformedDistribution(normals(d, t), ["exp"]),
    lambda t, d: d.TransformedDistribution(normals(d, t), d.StickBreakingTransform()),
    lambda t, d: d.TransformedDistribution(normals(d, t), []).support,
    lambda t, d: d.TransformedDistribution(normals(d, t, 2), d.AbsTransform()).cdf(t.ones(2)),
    lambda t, d: d.TransformedDistribution(normals(d, t, 2), d.AbsTransform()).log_prob(t.ones(2)),
    lambda t, d: d.LogNormal(0.0, 1.0).log_prob(1.0),
    lambda t, d: d.LogNormal(t.zeros(2), 1.0).log_prob(t.ones(3)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.eye(2)).log_prob(t.zeros(3)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.eye(2)).cdf(t.zeros(2)),
    lambda t, d: type("Mine", (d.LogNormal,), {"__init__": lambda self: None})().expand((2,)),
]


@pytest.mark.parametrize("index", range(len(COMPOSITIONS)))
def test_compositions(index: int) -> None:
    def ask(library: Any) -> Any:
        library.manual_seed(2)
        return COMPOSITIONS[index](library, library.distributions)

    compare(ask)


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (case, names)
        for case in CASES
        for kind, names in [
            ("MultivariateNormal", ("scale_tril", "covariance_matrix", "precision_matrix")),
            ("LowRankMultivariateNormal", ("scale_tril", "covariance_matrix", "precision_matrix")),
            ("Wishart", ("scale_tril", "covariance_matrix", "precision_matrix", "_natural_params")),
        ]
        if case.name == kind
    ],
    ids=lambda given: getattr(given, "label", ""),
)
def test_forms_of_the_covariance(case: Case, names: tuple[str, ...]) -> None:
    compare(lambda library: [getattr(build(case, library), name) for name in names])


def test_exact_draws() -> None:
    """What is made by arithmetic alone has PyTorch's bits."""

    def draws(library: Any) -> Any:
        d = library.distributions
        library.manual_seed(5)
        location = library.tensor([0.5, -1.0], dtype=library.float64)
        made = [
            d.HalfNormal(location.abs()),
            d.HalfCauchy(location.abs()),
            d.Independent(d.Normal(location, 2.0), 1),
            d.MixtureSameFamily(d.Categorical(location.exp()), d.Normal(location, 1.0)),
        ]
        return [distribution.sample((4,)) for distribution in made]

    compare(draws, EXACT)


def test_exponential_draws_are_near() -> None:
    def draws(library: Any) -> Any:
        library.manual_seed(5)
        return library.distributions.LogNormal(library.tensor([0.5, -1.0]), 2.0).sample((4,))

    compare(draws, LAST_PLACES)


def test_wishart_warns() -> None:
    import retrograd

    for library in (torch, retrograd):
        distribution = library.distributions.Wishart(4.0, library.eye(2))
        with pytest.warns(UserWarning, match="Singular sample detected"):
            distribution.rsample()
        with pytest.warns(UserWarning, match="Low df values detected"):
            library.distributions.Wishart(1.5, library.eye(2))
