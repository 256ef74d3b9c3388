"""Kullback-Leibler divergences beside PyTorch's, for every pair that it registers."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.distributions.beside import TEN_DIGITS, compare, outcome

pytestmark = pytest.mark.torch

P, Q = [[0.3, 0.7, 0.5], [0.1, 0.9, 0.4999]], [[0.6, 0.2, 0.5]]
LARGE_P, LARGE_Q = [[0.5, 1.0, 2.5], [3.0, 1.5, 0.7]], [1.2, 0.8, 3.1]
ROWS_P = [[1.0, 2.0, 3.0], [0.5, 0.5, 1.0]]
ROWS_Q = [[2.0, 1.0, 1.0], [1.0, 3.0, 0.5]]
TRIANGLE_P = [[1.0, 0.0], [0.5, 2.0]]
TRIANGLE_Q = [[[2.0, 0.0], [-0.5, 0.7]], [[1.0, 0.0], [0.2, 0.3]]]

# the family, then the arguments as p and as q: lists become tensors
ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Bernoulli": ({"probs": P}, {"logits": Q}),
    "Beta": (
        {"concentration1": LARGE_P, "concentration0": LARGE_Q},
        {"concentration1": LARGE_Q, "concentration0": LARGE_P},
    ),
    "Binomial": ({"total_count": 4, "probs": P}, {"total_count": 4, "probs": Q}),
    "Categorical": ({"probs": ROWS_P}, {"logits": ROWS_Q}),
    "Cauchy": ({"loc": P, "scale": LARGE_P}, {"loc": Q, "scale": LARGE_Q}),
    "ContinuousBernoulli": ({"probs": P}, {"probs": Q}),
    "Dirichlet": ({"concentration": ROWS_P}, {"concentration": ROWS_Q}),
    "Exponential": ({"rate": LARGE_P}, {"rate": LARGE_Q}),
    "Gamma": (
        {"concentration": LARGE_P, "rate": LARGE_Q},
        {"concentration": LARGE_Q, "rate": LARGE_P},
    ),
    "Geometric": ({"probs": P}, {"probs": Q}),
    "Gumbel": ({"loc": P, "scale": LARGE_P}, {"loc": Q, "scale": LARGE_Q}),
    "HalfNormal": ({"scale": LARGE_P}, {"scale": LARGE_Q}),
    "Laplace": ({"loc": P, "scale": LARGE_P}, {"loc": Q, "scale": LARGE_Q}),
    "LowRankMultivariateNormal": (
        {"loc": [0.1, 0.4], "cov_factor": [[1.0], [0.5]], "cov_diag": [0.3, 0.6]},
        {"loc": [[0.2, -0.4]] * 2, "cov_factor": [[0.3], [0.7]], "cov_diag": [0.5, 0.2]},
    ),
    "MultivariateNormal": (
        {"loc": [0.1, 0.4], "scale_tril": TRIANGLE_P},
        {"loc": [0.2, -0.4], "scale_tril": TRIANGLE_Q},
    ),
    "Normal": ({"loc": P, "scale": LARGE_P}, {"loc": Q, "scale": LARGE_Q}),
    "OneHotCategorical": ({"probs": ROWS_P}, {"probs": ROWS_Q}),
    "Pareto": ({"scale": LARGE_P, "alpha": [2.5, 1.5, 0.5]}, {"scale": Q, "alpha": LARGE_Q}),
    "Poisson": ({"rate": LARGE_P}, {"rate": LARGE_Q}),
    "Uniform": (
        {"low": [0.1, 0.2, -0.5], "high": [0.9, 1.4, 0.5]},
        {"low": [0.0, 0.1, -0.2], "high": [1.0, 2.0, 0.7]},
    ),
    # not registered themselves: subclasses and families without divergences
    "Chi2": ({"df": LARGE_P}, {"df": LARGE_Q}),
    "LogNormal": ({"loc": P, "scale": LARGE_P}, {"loc": Q, "scale": LARGE_Q}),
    "StudentT": ({"df": LARGE_P}, {"df": LARGE_Q}),
}


def build(library: Any, name: str, place: int, requires_grad: bool = False) -> Any:
    leaves = []
    arguments = dict(ARGUMENTS[name][place])
    for key, value in arguments.items():
        if isinstance(value, list):
            leaf = library.tensor(value, dtype=library.float64, requires_grad=requires_grad)
            arguments[key] = leaf
            leaves.append(leaf)
    return getattr(library.distributions, name)(**arguments), leaves


def test_the_same_pairs_are_registered() -> None:
    theirs, ours = (
        {(p.__name__, q.__name__) for p, q in library.distributions.kl._KL_REGISTRY}
        for library in (torch, retrograd)
    )
    assert theirs == {pair for pair in ours if pair[0] != "Point"}  # of a docstring
    covered = {"ExponentialFamily", "Independent", "TransformedDistribution", *ARGUMENTS}
    assert {name for pair in theirs for name in pair} <= covered


# pairs whose divergence PyTorch gives for distributions of one batch shape only
MASKED = {("Bernoulli", "Bernoulli"), ("Beta", "Uniform"), ("Uniform", "Beta")}
MASKED |= {("Uniform", "Gamma"), ("Uniform", "Chi2"), ("Uniform", "Exponential")}


def together(library: Any, p: Any, q: Any) -> Any:
    """The pair, expanded to one batch shape where PyTorch needs it."""
    if (type(p).__name__, type(q).__name__) not in MASKED:
        return p, q
    shape = torch.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return p.expand(shape), q.expand(shape)


def test_masked_pairs_broadcast_here() -> None:
    for p_name, q_name in MASKED:
        p, q = build(retrograd, p_name, 0)[0], build(retrograd, q_name, 1)[0]
        theirs = outcome(
            lambda t, p_name=p_name, q_name=q_name: t.distributions.kl_divergence(
                build(t, p_name, 0)[0], build(t, q_name, 1)[0]
            ),
            torch,
        )
        assert theirs[:2] == ("error", "IndexError") or p_name == "Uniform"
        ours = retrograd.distributions.kl_divergence(p, q)
        expanded = retrograd.distributions.kl_divergence(*together(retrograd, p, q))
        assert ours.tolist() == expanded.tolist()


@pytest.mark.parametrize("p_name", ARGUMENTS)
def test_every_pair(p_name: str) -> None:
    for q_name in ARGUMENTS:

        def divergence(library: Any, q_name: str = q_name) -> Any:
            p, p_leaves = build(library, p_name, 0, requires_grad=True)
            q, q_leaves = build(library, q_name, 1, requires_grad=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = library.distributions.kl_divergence(*together(library, p, q))
            if not result.requires_grad:
                return [result]
            leaves = [*p_leaves, *q_leaves]
            finite = result[result.isfinite()].sum()
            found = library.autograd.grad(finite, leaves, create_graph=True, allow_unused=True)
            squares = sum((g * g).sum() for g in found if g is not None)
            again: Any = []
            if isinstance(squares, library.Tensor) and squares.requires_grad:
                again = library.autograd.grad(squares, leaves, allow_unused=True)
            return [result, *(g is not None and g for g in (*found, *again))]

        compare(divergence, TEN_DIGITS)


@pytest.mark.parametrize(
    ("name", "p", "q"),
    [
        ("Bernoulli", {"probs": [0.0, 1.0, 0.0, 1.0, 0.5]}, {"probs": [0.0, 1.0, 1.0, 0.0, 0.0]}),
        ("Categorical", {"probs": [0.0, 0.5, 0.5]}, {"probs": [0.5, 0.5, 0.0]}),
        ("Categorical", {"probs": [0.0, 0.5, 0.5]}, {"probs": [0.0, 0.2, 0.8]}),
        ("OneHotCategorical", {"probs": [0.0, 1.0]}, {"probs": [1.0, 0.0]}),
        ("Binomial", {"total_count": 5, "probs": [0.5]}, {"total_count": 3, "probs": [0.5]}),
        ("Binomial", {"total_count": 2, "probs": [0.5]}, {"total_count": 3, "probs": [0.5]}),
        ("Uniform", {"low": [0.0, 0.5], "high": [1.0, 2.0]}, {"low": [0.1, 0.0], "high": [1.0, 2]}),
        ("Pareto", {"scale": [1.0, 2.0], "alpha": 1.0}, {"scale": [2.0, 1.0], "alpha": 2.0}),
        ("Poisson", {"rate": [0.0, 1.0]}, {"rate": [1.0, 0.0]}),
        ("MultivariateNormal", {"loc": [0.0], "scale_tril": [[1.0]]}, None),
        (
            "LowRankMultivariateNormal",
            {"loc": [0.0], "cov_factor": [[1.0]], "cov_diag": [1.0]},
            None,
        ),
    ],
)
def test_impossible_values(name: str, p: dict[str, Any], q: dict[str, Any] | None) -> None:
    def divergence(library: Any) -> Any:
        family = getattr(library.distributions, name)
        sides = []
        for given in (p, q or ARGUMENTS[name][1]):
            tensors = {k: library.tensor(v) if isinstance(v, list) else v for k, v in given.items()}
            sides.append(family(**tensors))
        return library.distributions.kl_divergence(*sides)

    compare(divergence)


def test_mixed_normals_of_different_sizes() -> None:
    names = ("MultivariateNormal", "LowRankMultivariateNormal")

    def divergences(library: Any, first: str, second: str) -> Any:
        p, _ = build(library, first, 0)
        loc = library.zeros(3)
        make = library.distributions
        if second == names[0]:
            q = make.MultivariateNormal(loc, scale_tril=library.eye(3))
        else:
            q = make.LowRankMultivariateNormal(loc, library.ones(3, 1), library.ones(3))
        return make.kl_divergence(p, q)

    for first, second in itertools.product(names, names):
        theirs, _ = compare(lambda library, f=first, s=second: divergences(library, f, s))
        assert theirs[1] == "ValueError"


def test_distributions_made_of_others() -> None:
    def independent(library: Any, count: int) -> Any:
        p, q = (build(library, "Normal", place)[0] for place in (0, 1))
        make = library.distributions.Independent
        return library.distributions.kl_divergence(make(p, 1), make(q.expand(p.batch_shape), count))

    def transformed(library: Any, scale: float) -> Any:
        make = library.distributions
        base = make.Normal(library.zeros(2), 1.0)
        p = make.TransformedDistribution(base, [make.AffineTransform(1.0, 2.0)])
        q = make.TransformedDistribution(base, [make.AffineTransform(1.0, scale)])
        return make.kl_divergence(p, q)

    for count in (1, 2):
        compare(lambda library, count=count: independent(library, count))
    for scale in (2.0, 3.0):
        compare(lambda library, scale=scale: transformed(library, scale))


def test_exponential_families_by_their_normalizer() -> None:
    names = ("Normal", "Exponential", "Gamma", "Beta", "Dirichlet", "Bernoulli", "Poisson")
    for name in (*names, "ContinuousBernoulli"):

        def bregman(library: Any, name: str = name) -> Any:
            p, q = (build(library, name, place)[0] for place in (0, 1))
            family = library.distributions.ExponentialFamily
            general = library.distributions.kl._KL_REGISTRY[family, family]
            try:
                entropy = family.entropy(p)
            except NotImplementedError:
                entropy = "no carrier measure"
            return [general(p, q), entropy]

        compare(bregman)
    compare(
        lambda library: library.distributions.kl._KL_REGISTRY[
            (library.distributions.ExponentialFamily,) * 2
        ](build(library, "Normal", 0)[0], build(library, "Gamma", 0)[0])
    )


def test_the_most_specific_pair_counts_and_ambiguity_is_told() -> None:
    def look_up(library: Any) -> Any:
        make = library.distributions

        class A(make.Distribution):  # type: ignore[misc, name-defined]
            arg_constraints: dict[str, Any] = {}  # noqa: RUF012

        class B(A): ...

        class C(B): ...

        make.register_kl(A, A)(lambda p, q: "AA")
        make.register_kl(B, B)(lambda p, q: "BB")
        found = [make.kl_divergence(p(), q()) for p in (A, B, C) for q in (A, B, C)]
        make.register_kl(A, C)(lambda p, q: "AC")
        make.register_kl(C, A)(lambda p, q: "CA")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(make.kl_divergence(C(), C()))
        found += [str(warning.message) for warning in caught]
        for pair in [key for key in make.kl._KL_REGISTRY if key[0] in (A, B, C)]:
            del make.kl._KL_REGISTRY[pair]
        make.kl._KL_MEMOIZE.clear()
        return found

    theirs, _ = compare(look_up)
    assert "Ambiguous kl_divergence(C, C). Please register_kl(C, C)" in theirs
