"""Every primitive distribution beside PyTorch's: draws, densities, moments, gradients, errors."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.distributions.beside import (
    EXACT,
    LAST_PLACES,
    LIBRARIES,
    ROUNDING,
    TEN_DIGITS,
    Case,
    compare,
)

pytestmark = pytest.mark.torch

LOCATIONS = [[-1.0, 0.0, 2.5], [0.3, -0.7, 1.0]]
SCALES = [0.5, 1.0, 3.0]
ANYWHERE = [[-2.0, 0.1, 1.0], [0.3, 4.0, -0.2]]
POSITIVE = [[0.01, 0.6, 3.0], [9.0, 1.0, 0.2]]
SHAPES = [[0.3, 1.0, 2.0], [9.0, 40.0, 0.05]]
CHANCES = [[0.05, 0.5, 0.9], [0.4999, 0.3, 0.7]]
ODDS = [[-3.0, 0.0, 2.0], [0.1, -0.4, 0.7]]
BITS = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
COUNTS = [[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]]
UNIT = [[0.0, 0.2, 0.5], [1.0, 0.9, 0.4]]
INSIDE = [[0.1, 0.2, 0.5], [0.8, 0.9, 0.4]]
WEIGHTS = [[1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 0.0, 1.0]]
LOG_WEIGHTS = [[1.0, -2.0, 0.5, 0.0], [0.0, 3.0, 1.0, -1.0]]
ROWS = [[0.2, 0.3, 0.1, 0.4], [0.25, 0.25, 0.05, 0.45]]
ONE_HOT = [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]

CASES = [
    Case("Normal", ANYWHERE, loc=LOCATIONS, scale=SCALES),
    Case("Normal", 0.5, "numbers", loc=1, scale=2.0),
    Case("Normal", ANYWHERE, "mixed", loc=0.0, scale=SCALES),
    Case("Uniform", [[0.0, 0.4, 2.0]], low=[0.0, -1.0, 0.5], high=[1.0, 2.0, 3.0]),
    Case("Uniform", 0.5, "numbers", low=0.0, high=2.0),
    Case("Exponential", POSITIVE, rate=SCALES),
    Case("Exponential", 0.5, "number", rate=2.0),
    Case("Gamma", POSITIVE, concentration=SHAPES, rate=SCALES),
    Case("Gamma", 2.0, "numbers", concentration=2.0, rate=3.0),
    Case("Beta", INSIDE, concentration1=SHAPES, concentration0=[0.5, 2.0, 3.0]),
    Case("Beta", 0.3, "numbers", concentration1=2.0, concentration0=0.5),
    Case("Beta", [0.3, 0.5], "mixed", concentration1=[2.0, 1.0], concentration0=0.5),
    Case("Dirichlet", ROWS, concentration=[[0.3, 1.0, 2.0, 5.0], [9.0, 40.0, 0.05, 3.0]]),
    Case("Dirichlet", ROWS, "small", concentration=[0.3, 0.4, 0.5, 0.2]),
    Case("Chi2", POSITIVE, df=SHAPES),
    Case("Chi2", 1.5, "number", df=3.0),
    Case("StudentT", ANYWHERE, df=[0.5, 1.5, 4.0], loc=LOCATIONS, scale=SCALES),
    Case("StudentT", 0.5, "number", df=3.0),
    Case("FisherSnedecor", POSITIVE, df1=SHAPES, df2=[1.0, 3.0, 6.0]),
    Case("FisherSnedecor", 1.5, "numbers", df1=3.0, df2=5.0),
    Case("Laplace", ANYWHERE, loc=LOCATIONS, scale=SCALES),
    Case("Laplace", 0.5, "numbers", loc=1.0, scale=2.0),
    Case("Cauchy", ANYWHERE, loc=LOCATIONS, scale=SCALES),
    Case("Cauchy", 0.5, "numbers", loc=1.0, scale=2.0),
    Case("VonMises", ANYWHERE, loc=LOCATIONS, concentration=[0.3, 3.0, 20.0]),
    Case("VonMises", 0.5, "numbers", loc=1.0, concentration=1e-6),
    Case("Bernoulli", BITS, "probs", probs=CHANCES),
    Case("Bernoulli", BITS, "logits", logits=ODDS),
    Case("Bernoulli", 1.0, "number", probs=0.25),
    Case("Bernoulli", BITS, "certain", probs=[0.0, 1.0, 0.5]),
    Case("Geometric", COUNTS, "probs", probs=CHANCES),
    Case("Geometric", COUNTS, "logits", logits=ODDS),
    Case("Geometric", 2.0, "number", probs=0.25),
    Case("Geometric", COUNTS, "certain", probs=[1.0, 0.5, 0.5]),
    Case("Binomial", COUNTS, "probs", total_count=5, probs=CHANCES),
    Case("Binomial", COUNTS, "logits", total_count=5, logits=ODDS),
    Case("Binomial", COUNTS, "counts", total_count=[3.0, 4.0, 50.0], probs=CHANCES),
    Case("Binomial", COUNTS, "certain", total_count=4, probs=[0.0, 1.0, 0.5]),
    Case("NegativeBinomial", COUNTS, "probs", total_count=5.0, probs=CHANCES),
    Case("NegativeBinomial", COUNTS, "logits", total_count=[3.0, 0.5, 10.0], logits=ODDS),
    Case("NegativeBinomial", [0.0, 1.0], "none", total_count=[0.0, 1.0], probs=[0.5, 0.0]),
    Case("Categorical", [3, 0], "probs", probs=WEIGHTS),
    Case("Categorical", [[3], [2], [0]], "logits", logits=LOG_WEIGHTS),
    Case("Categorical", 1, "row", logits=[0.1, 0.2, 0.3]),
    Case("OneHotCategorical", ONE_HOT, "probs", probs=WEIGHTS),
    Case("OneHotCategorical", ONE_HOT, "logits", logits=LOG_WEIGHTS),
    Case("OneHotCategoricalStraightThrough", ONE_HOT, "probs", probs=WEIGHTS),
    Case("OneHotCategoricalStraightThrough", ONE_HOT, "logits", logits=[1.0, 0.0, 0.5, 0.2]),
    Case("Multinomial", [[1.0, 2.0, 0.0, 2.0]], "probs", total_count=5, probs=WEIGHTS),
    Case("Multinomial", [1.0, 2.0, 0.0, 0.0], "logits", total_count=3, logits=LOG_WEIGHTS),
    Case("Poisson", COUNTS, rate=[0.5, 3.0, 30.0]),
    Case("Poisson", 2.0, "number", rate=3.0),
    Case("ContinuousBernoulli", UNIT, "probs", probs=CHANCES),
    Case("ContinuousBernoulli", UNIT, "logits", logits=ODDS),
    Case("ContinuousBernoulli", 0.3, "number", probs=0.25),
    Case("ContinuousBernoulli", UNIT, "limits", probs=CHANCES, lims=(0.25, 0.75)),
]
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
MOMENTS = ("mean", "mode", "variance", "stddev")


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_seed_same_draws(case: Case, dtype: str) -> None:
    def draws(library: Any) -> Any:
        distribution = case.build(library, dtype)
        library.manual_seed(7)
        found = [distribution.sample(shape) for shape in ((), (3,), (2, 4))]
        return [*found, [draw.stride() for draw in found], library.rand(1)]

    rough = {"Laplace": LAST_PLACES, "ContinuousBernoulli": ROUNDING}
    compare(draws, rough.get(case.name, EXACT))


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_and_densities(case: Case, dtype: str) -> None:
    questions: dict[str, Any] = {name: (lambda d, v, n=name: getattr(d, n)) for name in MOMENTS}
    questions |= {
        name: (lambda d, v, n=name: getattr(d, n)(v)) for name in ("log_prob", "cdf", "icdf")
    }
    questions |= {
        name: (lambda d, v, n=name: getattr(d, n)()) for name in ("entropy", "perplexity")
    }
    for name, question in questions.items():

        def ask(library: Any, question: Any = question, name: str = name) -> Any:
            distribution = case.build(library, dtype)
            values = case.points(library, dtype)
            if name == "icdf" and values.is_floating_point():
                values = values.sigmoid()
            return question(distribution, values)

        compare(ask)


def gradients(library: Any, case: Case, result_of: Any, order: int) -> Any:
    arguments = case.arguments_in(library, "float64", requires_grad=True)
    leaves = [value for value in arguments.values() if isinstance(value, library.Tensor)]
    if not leaves:
        return None
    library.manual_seed(11)
    distribution = getattr(library.distributions, case.name)(**arguments)
    values = case.points(library)
    if values.is_floating_point():
        leaves.append(values.requires_grad_())
    total = result_of(distribution, values).sum()
    found = library.autograd.grad(total, leaves, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return [g for g in found if g is not None]
    total = sum((g * g).sum() for g in found if g is not None and g.requires_grad)
    again = library.autograd.grad(total, leaves, allow_unused=True)
    return [g is not None and g for g in again]


DIFFERENTIABLE: dict[str, Any] = {
    "log_prob": lambda d, v: d.log_prob(v),
    "cdf": lambda d, v: d.cdf(v),
    "icdf": lambda d, v: d.icdf(v.sigmoid()),
    "entropy": lambda d, v: d.entropy(),
    "mean": lambda d, v: d.mean,
    "variance": lambda d, v: d.variance,
    "rsample": lambda d, v: d.rsample((2,)) ** 2,
}


@EVERY
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_gradients(case: Case, order: int) -> None:
    for question in DIFFERENTIABLE.values():
        compare(
            lambda library, question=question: gradients(library, case, question, order),
            TEN_DIGITS,
        )


@EVERY
def test_shapes_printing_expansion_and_support(case: Case) -> None:
    def facts(library: Any) -> Any:
        distribution = case.build(library)
        wide = distribution.expand((3, 2, *distribution.batch_shape))
        single = distribution.expand(tuple(distribution.batch_shape))
        library.manual_seed(3)
        return [
            *(repr(distribution), repr(wide), repr(single)),
            *(distribution.batch_shape, distribution.event_shape, wide.batch_shape),
            *(wide.event_shape, wide.mean, wide.sample(), wide.sample((2,))),
            *(distribution.has_rsample, distribution.has_enumerate_support),
            *(repr(distribution.support), repr(distribution.arg_constraints)),
            *(distribution.support.is_discrete, distribution.support.event_dim),
            wide.log_prob(case.points(library)) if case.name != "Categorical" else "",
        ]

    compare(facts)


@EVERY
@pytest.mark.parametrize("expand", [True, False])
def test_enumerated_support(case: Case, expand: bool) -> None:
    def values(library: Any) -> Any:
        distribution = case.build(library)
        found = distribution.enumerate_support(expand)
        return [found, distribution.log_prob(found), found.stride()]

    compare(values)


@EVERY
def test_values_outside_of_the_support(case: Case) -> None:
    def wrong(library: Any, change: Any, **more: Any) -> Any:
        distribution = case.build(library, **more)
        return distribution.log_prob(change(case.points(library), library))

    changes: list[Any] = [
        lambda values, library: values * 0 - 3,
        lambda values, library: values + 0.5,
        lambda values, library: values * library.nan,
        lambda values, library: values.unsqueeze(-1).expand(*values.shape, 7),
        lambda values, library: 1.0,
    ]
    for change in changes:
        compare(lambda library, change=change: wrong(library, change))
    for change in changes[1:2]:
        compare(lambda library, change=change: wrong(library, change, validate_args=False))


REFUSED: list[tuple[str, Any]] = [
    ("scale", lambda t: t.distributions.Normal(0.0, -1.0)),
    ("several", lambda t: t.distributions.Normal(t.zeros(2), t.tensor([1.0, 0.0]))),
    ("nan", lambda t: t.distributions.Normal(t.tensor([t.nan]), 1.0)),
    ("text", lambda t: t.distributions.Normal("0", 1.0)),
    ("shapes", lambda t: t.distributions.Normal(t.zeros(2), t.ones(3))),
    ("order", lambda t: t.distributions.Uniform(1.0, 0.0)),
    ("rate", lambda t: t.distributions.Exponential(t.tensor([0.0]))),
    ("gamma", lambda t: t.distributions.Gamma(-1.0, 1.0)),
    ("beta", lambda t: t.distributions.Beta(-1.0, 1.0)),
    ("beta row", lambda t: t.distributions.Beta(t.tensor([1.0, -1.0]), 1.0)),
    ("dirichlet", lambda t: t.distributions.Dirichlet(t.tensor([1.0, -1.0]))),
    ("dirichlet scalar", lambda t: t.distributions.Dirichlet(t.tensor(1.0))),
    ("chi2", lambda t: t.distributions.Chi2(t.tensor([-1.0]))),
    ("student", lambda t: t.distributions.StudentT(t.tensor([-1.0]))),
    ("fisher", lambda t: t.distributions.FisherSnedecor(t.tensor([-1.0]), 1.0)),
    ("laplace", lambda t: t.distributions.Laplace(0.0, 0.0)),
    ("cauchy", lambda t: t.distributions.Cauchy(0.0, 0.0)),
    ("von mises", lambda t: t.distributions.VonMises(t.tensor(0.0), t.tensor(0.0))),
    ("bernoulli", lambda t: t.distributions.Bernoulli(1.5)),
    ("bernoulli both", lambda t: t.distributions.Bernoulli(0.5, 0.5)),
    ("bernoulli none", lambda t: t.distributions.Bernoulli()),
    ("geometric zero", lambda t: t.distributions.Geometric(t.tensor([0.0, 0.5]))),
    ("geometric", lambda t: t.distributions.Geometric(2.0)),
    ("geometric none", lambda t: t.distributions.Geometric()),
    ("binomial", lambda t: t.distributions.Binomial(-1, t.tensor(0.5))),
    ("binomial half", lambda t: t.distributions.Binomial(1.5, t.tensor(0.5))),
    ("binomial none", lambda t: t.distributions.Binomial(1)),
    ("negative", lambda t: t.distributions.NegativeBinomial(1, t.tensor(1.0))),
    ("negative none", lambda t: t.distributions.NegativeBinomial(1)),
    ("negative count", lambda t: t.distributions.NegativeBinomial(-1, t.tensor(0.5))),
    ("categorical", lambda t: t.distributions.Categorical(t.tensor([1.0, -2.0]))),
    ("categorical nan", lambda t: t.distributions.Categorical(logits=t.tensor([1.0, t.nan]))),
    ("categorical scalar", lambda t: t.distributions.Categorical(t.tensor(1.0))),
    ("categorical scalar logits", lambda t: t.distributions.Categorical(logits=t.tensor(1.0))),
    ("categorical none", lambda t: t.distributions.Categorical()),
    ("one hot none", lambda t: t.distributions.OneHotCategorical()),
    ("multinomial", lambda t: t.distributions.Multinomial(t.tensor(1), t.ones(2))),
    ("multinomial none", lambda t: t.distributions.Multinomial(1)),
    ("poisson", lambda t: t.distributions.Poisson(-1.0)),
    ("continuous", lambda t: t.distributions.ContinuousBernoulli(1.5, validate_args=True)),
    ("continuous none", lambda t: t.distributions.ContinuousBernoulli()),
    ("uneven", lambda t: t.distributions.Binomial(t.tensor([1, 2]), t.ones(2)).entropy()),
    ("shape", lambda t: t.distributions.Normal(0.0, 1.0).sample(3)),
    ("no values", lambda t: t.distributions.Gamma(1.0, 1.0).icdf(t.tensor(0.5))),
    ("no mode", lambda t: t.distributions.Multinomial(1, t.ones(2)).mode),
    ("no rsample", lambda t: t.distributions.Poisson(1.0).rsample()),
    ("no support", lambda t: t.distributions.Normal(0.0, 1.0).enumerate_support()),
]


@pytest.mark.parametrize("refused", [r[1] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_errors(refused: Any) -> None:
    theirs, _ = compare(refused)
    assert theirs[0] == "error"


def test_whole_messages_of_wrong_values() -> None:
    def messages(library: Any) -> list[str]:
        found = []
        for attempt in (
            lambda: library.distributions.Normal(library.zeros(2), -library.ones(2)),
            lambda: library.distributions.Normal(0.0, 1.0).log_prob(library.tensor(library.nan)),
            lambda: library.distributions.Geometric(library.tensor([0.0, 0.5])),
            lambda: library.distributions.Categorical(library.ones(3)).log_prob(library.tensor(9)),
        ):
            with pytest.raises(ValueError) as caught:
                attempt()
            found.append(str(caught.value))
        return found

    theirs, ours = (messages(library) for library in LIBRARIES)
    assert [message.splitlines() for message in ours] == [m.splitlines() for m in theirs]


@pytest.mark.parametrize("label", ["Gamma", "Beta", "Dirichlet"])
def test_draws_of_float32_have_the_same_gradients(label: str) -> None:
    case = next(case for case in CASES if case.label == label)

    def found(library: Any) -> Any:
        arguments = case.arguments_in(library, "float32", requires_grad=True)
        library.manual_seed(2)
        drawn = getattr(library.distributions, label)(**arguments).rsample((50,))
        (drawn**2).sum().backward()
        return [argument.grad for argument in arguments.values()]

    compare(found)


def test_subclass_with_its_own_constructor_cannot_expand() -> None:
    def attempt(library: Any) -> Any:
        class Standard(library.distributions.Normal):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__(0.0, 1.0)

        return Standard().expand((2,))

    theirs, _ = compare(attempt)
    assert theirs[1] == "NotImplementedError"
