"""The random functions below the distributions: gamma, Dirichlet, a few numbers, vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.distributions.beside import EXACT, LIBRARIES, TEN_DIGITS, compare

pytestmark = pytest.mark.torch


def spread(kind: str, count: int = 3000) -> tuple[Any, Any, Any]:
    """Shape parameters over five orders of magnitude, with draws that belong to them."""
    source = np.random.default_rng(5)
    a, b = (np.exp(source.uniform(-4, 7, count)) for _ in range(2))
    gamma = np.maximum(source.gamma(a), 1e-30)
    beta = np.clip(source.beta(a, b), 1e-30, 1 - 1e-6)
    return (a.astype(kind), gamma.astype(kind)), (beta.astype(kind), a.astype(kind)), b.astype(kind)


@pytest.mark.parametrize(("kind", "relative"), [("float64", 1e-10), ("float32", 1e-6)])
def test_gradients_of_gamma_draws(kind: str, relative: float) -> None:
    (shape, draws), _, _ = spread(kind)
    theirs, ours = (
        library._standard_gamma_grad(library.tensor(shape), library.tensor(draws)).numpy()
        for library in LIBRARIES
    )
    assert ours.dtype == kind
    np.testing.assert_allclose(ours, theirs, rtol=relative, atol=0)


@pytest.mark.parametrize(("kind", "relative"), [("float64", 1e-10), ("float32", 1e-3)])
def test_gradients_of_dirichlet_draws(kind: str, relative: float) -> None:
    _, (draws, first), second = spread(kind)
    theirs, ours = (
        library._dirichlet_grad(*map(library.tensor, (draws, first, first + second))).numpy()
        for library in LIBRARIES
    )
    assert ours.dtype == kind
    np.testing.assert_allclose(ours, theirs, rtol=relative, atol=0)
    # in float32 a difference of nearly equal numbers is left of a few: most agree in all digits
    assert (np.abs(ours - theirs) <= 1e-6 * np.abs(theirs)).mean() > 0.998


def test_draws_of_gamma_and_dirichlet() -> None:
    def draws(library: Any) -> Any:
        shape = library.tensor([[0.1, 2.0, 30.0]], requires_grad=True)
        generator = library.Generator().manual_seed(4)
        gamma = library._standard_gamma(shape, generator=generator)
        rows = library._sample_dirichlet(shape.detach(), generator)
        (gamma**2).sum().backward()
        return [gamma, rows, shape.grad, type(gamma.grad_fn).__name__]

    compare(draws, EXACT)


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
@pytest.mark.parametrize("dtype", ["float16", "int64"])
def test_refused_dtypes(name: str, dtype: str) -> None:
    def draw(library: Any) -> Any:
        return getattr(library, name)(library.ones(3, dtype=getattr(library, dtype)))

    theirs, _ = compare(draw)
    assert theirs[0] == "error"


def test_second_derivatives_are_refused() -> None:
    def gamma(library: Any) -> Any:
        shape = library.tensor([2.0], requires_grad=True)
        (slope,) = library.autograd.grad(
            library._standard_gamma(shape).sum(), shape, create_graph=True
        )
        slope.sum().backward()

    def dirichlet(library: Any) -> Any:
        shape = library.tensor([2.0, 1.0], requires_grad=True)
        rows = library.distributions.Dirichlet(shape).rsample()
        (slope,) = library.autograd.grad((rows**2).sum(), shape, create_graph=True)
        slope.sum().backward()

    for question in (gamma, dirichlet):
        theirs, _ = compare(question)
        assert theirs[0] == "error"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_few_numbers_at_a_time(dtype: str) -> None:
    """Short draws of all lengths, through the end of several blocks of the generator."""

    def draws(library: Any) -> Any:
        library.manual_seed(0)
        kind = getattr(library, dtype)
        found = []
        for i in range(400):
            weights = library.arange(1 + i % 20, dtype=kind) + 1
            found.append(library.randn(i % 18, dtype=kind))
            found.append(library.multinomial(weights, 1))
            found.append(library.multinomial(weights[None], 1, True))
        return [*found, library.rand(1)]

    compare(draws, EXACT)


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0], [1.0, -1.0], [float("nan"), 1.0], [float("inf"), 1.0], [0.0, 1.0, 0.0]]
)
def test_one_row_of_doubtful_weights(weights: list[float]) -> None:
    compare(lambda library: library.multinomial(library.tensor(weights), 1), EXACT)


MAPPED: dict[str, Any] = {
    "categorical": lambda d, a: d.Categorical(a).sample(),
    "categorical shape": lambda d, a: d.Categorical(logits=a).sample((3,)),
    "categorical log_prob": lambda d, a: d.Categorical(logits=a).log_prob(a[0].long() * 0),
    "entropy": lambda d, a: d.Categorical(logits=a).entropy(),
    "normal": lambda d, a: d.Normal(a, 1.0).sample((2,)),
    "normal log_prob": lambda d, a: d.Normal(a, 1.0).log_prob(a),
    "gamma": lambda d, a: d.Gamma(a, 1.0).sample((2,)),
    "poisson": lambda d, a: d.Poisson(a).sample(),
    "bernoulli": lambda d, a: d.Bernoulli(logits=a).sample((2,)),
    "divergence": lambda d, a: d.kl_divergence(d.Gamma(a, 1.0), d.Gamma(1.0, a)),
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_in_vmap(name: str) -> None:
    def mapped(library: Any) -> Any:
        library.manual_seed(1)
        a = library.tensor([[0.5, 2.0, 3.0], [4.0, 5.0, 6.0]])
        function = MAPPED[name]
        return library.vmap(lambda a: function(library.distributions, a), randomness="different")(a)

    compare(mapped)


def test_wrong_parameters_are_found_in_vmap() -> None:
    def mapped(library: Any) -> Any:
        a = library.tensor([[0.5, 2.0, 3.0], [4.0, 5.0, 6.0]])
        return library.vmap(lambda a: library.distributions.Normal(a, a - 3).loc)(a)

    for library in LIBRARIES:
        with pytest.raises(ValueError, match="Expected parameter scale"):
            mapped(library)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_in_the_limits_of_a_policy(dtype: str) -> None:
    """Log probabilities of an episode, with the gradients that REINFORCE and its entropy need."""

    def episode(library: Any) -> Any:
        library.manual_seed(6)
        kind = getattr(library, dtype)
        weight = library.randn(4, 3, dtype=kind, requires_grad=True)
        total: Any = 0.0
        for _ in range(20):
            state = library.randn(1, 4, dtype=kind)
            policy = library.distributions.Categorical(logits=state @ weight)
            action = policy.sample()
            noise = library.distributions.Normal(state, 1.0 + state.abs())
            total = total - policy.log_prob(action) * noise.sample().sum() - policy.entropy()
        total.sum().backward()
        return [total, weight.grad]

    compare(episode, TEN_DIGITS)
