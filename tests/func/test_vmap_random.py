"""Random numbers under vmap: the three modes, against PyTorch with the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.func.sides import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

MODES = ("error", "same", "different")


def rows(library: Any) -> Any:
    """Two examples of three numbers."""
    return library.arange(6.0).reshape(2, 3)


def half(library: Any) -> Any:
    """Three probabilities that are not batched."""
    return library.full((3,), 0.5)


# Functions of (library, an example with three numbers).
ROWS: dict[str, Callable[..., Any]] = {
    "rand": lambda t, x: t.rand(3) + x,
    "rand_of_no_dimension": lambda t, x: t.rand(()) + x,
    "rand_double": lambda t, x: t.rand(2, 2, dtype=t.float64),
    "randn": lambda t, x: t.randn(3) + x,
    "randn_of_a_tuple": lambda t, x: t.randn((2, 3)) + x,
    "randn_named_size": lambda t, x: t.randn(size=(3,)) + x,
    "many_randn": lambda t, x: t.randn(20),
    "randint": lambda t, x: t.randint(9, (3,)) + x,
    "randint_between": lambda t, x: t.randint(2, 9, (3,)),
    "randperm": lambda t, x: t.randperm(5),
    "normal_of_numbers": lambda t, x: t.normal(2.0, 3.0, (3,)) + x,
    "normal_around": lambda t, x: t.normal(x, 1.0),
    "normal_around_unbatched": lambda t, x: t.normal(half(t), 1.0) + x,
    "normal_of_width": lambda t, x: t.normal(1.0, x),
    "normal_of_width_unbatched": lambda t, x: t.normal(1.0, half(t)) + x,
    "normal_of_both": lambda t, x: t.normal(x, x),
    "normal_of_both_mean_batched": lambda t, x: t.normal(x, half(t)),
    "normal_of_both_unbatched": lambda t, x: t.normal(half(t), half(t)) + x,
    "bernoulli": lambda t, x: t.bernoulli(x.sigmoid()),
    "bernoulli_unbatched": lambda t, x: t.bernoulli(half(t)) + x,
    "bernoulli_with_p": lambda t, x: t.bernoulli(x, 0.5),
    "bernoulli_with_p_unbatched": lambda t, x: t.bernoulli(half(t), 0.5) + x,
    "poisson": lambda t, x: t.poisson(x),
    "poisson_unbatched": lambda t, x: t.poisson(half(t)) + x,
    "binomial": lambda t, x: t.binomial(x, half(t)),
    "binomial_unbatched": lambda t, x: t.binomial(t.full((3,), 9.0), half(t)) + x,
    "multinomial": lambda t, x: t.multinomial(x + 1, 2),
    "multinomial_replaced": lambda t, x: t.multinomial(x + 1, 4, True),
    "multinomial_of_rows": lambda t, x: t.multinomial(x.expand(2, 3) + 1, 2),
    "multinomial_unbatched": lambda t, x: t.multinomial(half(t), 2) + x[:2],
    "multinomial_of_unbatched_rows": lambda t, x: t.multinomial(t.ones(2, 3), 2) + x[:2],
    "rand_like": lambda t, x: t.rand_like(x),
    "rand_like_unbatched": lambda t, x: t.rand_like(half(t)) + x,
    "randn_like": lambda t, x: t.randn_like(x),
    "randn_like_double": lambda t, x: t.randn_like(x, dtype=t.float64),
    "randint_like": lambda t, x: t.randint_like(x, 9),
    "randint_like_between": lambda t, x: t.randint_like(x, 2, 9),
    "uniform_": lambda t, x: x.clone().uniform_(),
    "uniform_between": lambda t, x: x.clone().uniform_(2, 5),
    "normal_": lambda t, x: x.clone().normal_(),
    "normal_of_mean": lambda t, x: x.clone().normal_(3, 2),
    "exponential_": lambda t, x: x.clone().exponential_(),
    "cauchy_": lambda t, x: x.clone().cauchy_(),
    "log_normal_": lambda t, x: x.clone().log_normal_(),
    "geometric_": lambda t, x: x.clone().geometric_(0.3),
    "random_": lambda t, x: x.clone().random_(),
    "random_to": lambda t, x: x.clone().random_(7),
    "random_between": lambda t, x: x.clone().random_(3, 9),
    "bernoulli_": lambda t, x: x.clone().bernoulli_(0.5),
    "bernoulli_of_a_tensor": lambda t, x: x.clone().bernoulli_(half(t)),
    "bernoulli_of_a_batch": lambda t, x: x.clone().bernoulli_(x.sigmoid()),
    "bernoulli_of_a_batch_into_one": lambda t, x: half(t).bernoulli_(x.sigmoid()),
    "normal_unbatched": lambda t, x: half(t).normal_() + x,
    "bernoulli_into_unbatched": lambda t, x: half(t).bernoulli_(0.5) + x,
    "new_empty": lambda t, x: x.new_empty(3).normal_() + x,
    "empty_like": lambda t, x: t.empty_like(x).uniform_(),
    "zeros": lambda t, x: t.zeros(3).uniform_() + x,
    "with_generator": lambda t, x: t.randn(3, generator=t.Generator().manual_seed(3)) + x,
    "two_draws": lambda t, x: t.stack([t.randn(3), t.rand(3)]) + x,
    "bernoulli_broadcast": lambda t, x: x.expand(2, 3).clone().bernoulli_(x.sigmoid()),
    "bernoulli_of_other_shape": lambda t, x: x.clone().bernoulli_(t.full((2,), 0.5)),
    "requires_grad": lambda t, x: t.rand(3, requires_grad=True) * x,
    "out": lambda t, x: t.randn(3, out=t.zeros(3)) + x,
    "rand_out": lambda t, x: t.rand(3, out=t.zeros(3)) + x,
    "randint_out": lambda t, x: t.randint(9, (3,), out=t.zeros(3, dtype=t.int64)) + x,
    "randperm_out": lambda t, x: t.randperm(3, out=t.zeros(3, dtype=t.int64)) + x,
    "bernoulli_out": lambda t, x: t.bernoulli(half(t), out=t.zeros(3)) + x,
    "multinomial_out": lambda t, x: t.multinomial(half(t), 1, out=t.zeros(1).long()) + x,
    "normal_out": lambda t, x: t.normal(0.0, half(t), out=t.zeros(3)) + x,
    "dropout": lambda t, x: t.nn.functional.dropout(x + 1),
    "dropout_most": lambda t, x: t.nn.functional.dropout(x + 1, 0.9),
    "dropout_unbatched": lambda t, x: t.nn.functional.dropout(half(t)) + x,
    "dropout_in_place": lambda t, x: t.nn.functional.dropout(x.clone(), 0.3, inplace=True),
    "dropout_in_place_unbatched": lambda t, x: t.dropout_(half(t), 0.3, True) + x,
    "dropout_of_nothing": lambda t, x: t.nn.functional.dropout(x, 0.0),
    "dropout_of_everything": lambda t, x: t.nn.functional.dropout(x, 1.0),
    "dropout_not_training": lambda t, x: t.nn.functional.dropout(x, 0.5, False),
    "dropout_of_integers": lambda t, x: t.nn.functional.dropout(x.long()),
    "torch_dropout": lambda t, x: t.dropout(x, 0.3, True),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, 0.5, True),
    "alpha_dropout_unbatched": lambda t, x: t.alpha_dropout(half(t), 0.5, True) + x,
    "alpha_dropout_in_place": lambda t, x: t.alpha_dropout_(x.clone(), 0.3, True),
    "dropout1d": lambda t, x: t.nn.functional.dropout1d(x.expand(4, 3) + 1),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.expand(1, 4, 2, 3) + 1),
    "dropout3d": lambda t, x: t.nn.functional.dropout3d(x.expand(1, 4, 1, 2, 3) + 1),
    "feature_dropout_unbatched": lambda t, x: t.feature_dropout(t.ones(2, 2, 3), 0.5, True) + x,
    "feature_alpha": lambda t, x: t.feature_alpha_dropout(x.expand(2, 3, 3) + 1, 0.5, True),
    "rrelu": lambda t, x: t.nn.functional.rrelu(x - 3, training=True),
    "rrelu_not_training": lambda t, x: t.nn.functional.rrelu(x - 3),
    "rrelu_unbatched": lambda t, x: t.nn.functional.rrelu(half(t)) + x,
    "torch_rrelu": lambda t, x: t.rrelu(x - 3),
    "rrelu_in_place": lambda t, x: t.nn.functional.rrelu_(x.clone()),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "gumbel_softmax_hard": lambda t, x: t.nn.functional.gumbel_softmax(x, hard=True),
    "gumbel_softmax_unbatched": lambda t, x: t.nn.functional.gumbel_softmax(half(t)) + x,
    "attention": lambda t, x: attention(t, x.expand(2, 3)),
    "attention_unbatched": lambda t, x: attention(t, t.ones(2, 3)) + x,
    "init": lambda t, x: t.nn.init.uniform_(x.new_empty(2, 3)),
    "no_draw": lambda t, x: x * 2,
}


def attention(library: Any, x: Any) -> Any:
    """Self-attention with dropout."""
    return library.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ROWS)
def test_modes(name: str, mode: str) -> None:
    """Numbers, error texts, and how far the stream went."""

    def scenario(library: Any) -> Any:
        library.manual_seed(5)
        mapped = library.vmap(lambda x: ROWS[name](library, x), randomness=mode)
        return mapped(rows(library)), library.rand(1)

    assert_same(torch, scenario)


# What the layout of a batch decides: the order in which memory is filled.
LAYOUTS: dict[str, Callable[..., Any]] = {
    "normal_": lambda t, x: x.normal_(),
    "uniform_": lambda t, x: x.uniform_(),
    "bernoulli_": lambda t, x: x.bernoulli_(0.5),
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "bernoulli": lambda t, x: t.bernoulli(x),
    "bernoulli_with_p": lambda t, x: t.bernoulli(x, 0.5),
    "normal": lambda t, x: t.normal(x, 1.0),
    "poisson": lambda t, x: t.poisson(x),
    "dropout": lambda t, x: t.nn.functional.dropout(x),
    "a_part": lambda t, x: x.index_fill_(0, t.tensor([0]), 1.0)[..., ::2].normal_(),
}


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("shape", [(3, 4, 2), (2, 7, 5)])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str, dim: int, shape: Any, mode: str) -> None:
    """Batches in any dimension of a permuted tensor."""

    def scenario(library: Any) -> Any:
        library.manual_seed(1)
        x = library.full(shape, 0.5).transpose(0, 2)
        mapped = library.vmap(lambda x: LAYOUTS[name](library, x), dim, 0, mode)
        return mapped(x)

    assert_same(torch, scenario)


# ------------------------------------------------------------------------------------- nested

NESTED: dict[str, Callable[..., Any]] = {
    "randn": lambda t, a, b: t.randn(2) + a + b,
    "randperm": lambda t, a, b: t.randperm(3) + a + b,
    "rand_like_outer": lambda t, a, b: t.rand_like(a) + b,
    "rand_like_inner": lambda t, a, b: t.rand_like(b) + a,
    "rand_like_both": lambda t, a, b: t.rand_like(a + b),
    "normal_outer": lambda t, a, b: a.clone().normal_() + b,
    "normal_inner": lambda t, a, b: b.clone().normal_() + a,
    "normal_both": lambda t, a, b: (a + b).normal_(),
    "bernoulli_outer": lambda t, a, b: t.bernoulli(a) + b,
    "bernoulli_inner": lambda t, a, b: t.bernoulli(b) + a,
    "bernoulli_both": lambda t, a, b: t.bernoulli(a * b),
    "multinomial_both": lambda t, a, b: t.multinomial((a + b).expand(4), 2),
    "dropout_outer": lambda t, a, b: t.nn.functional.dropout(a) + b,
    "dropout_inner": lambda t, a, b: t.nn.functional.dropout(b) + a,
    "dropout_both": lambda t, a, b: t.nn.functional.dropout(a + b),
}


@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("name", NESTED)
def test_nested(name: str, outer: str, inner: str) -> None:
    """Every level has a mode of its own."""

    def scenario(library: Any) -> Any:
        library.manual_seed(0)
        first, second = library.full((3,), 0.5), library.full((2,), 0.75)

        def of_first(a: Any) -> Any:
            return library.vmap(lambda b: NESTED[name](library, a, b), randomness=inner)(second)

        return library.vmap(of_first, randomness=outer)(first), library.rand(1)

    assert_same(torch, scenario)


# ----------------------------------------------------------------------------------- gradients


def _loss(library: Any, name: str, x: Any) -> Any:
    return (ROWS[name](library, x * 1.5) * library.arange(3.0)).sum()


DIFFERENTIABLE = (
    *("randn", "rand_like", "dropout", "dropout_in_place", "alpha_dropout", "gumbel_softmax"),
    *("bernoulli", "poisson", "normal_around", "normal_of_both", "normal_", "bernoulli_"),
    *("bernoulli_of_a_batch", "gumbel_softmax_hard", "uniform_", "no_draw"),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_inside(name: str, mode: str) -> None:
    """`vmap(grad(f))`: the same numbers, and zeros where they replace what was there."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)
        found = library.func.grad_and_value(lambda x: _loss(library, name, x))
        return library.vmap(found, randomness=mode)(rows(library) / 7)

    assert_same(torch, scenario)


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_outside(name: str, mode: str) -> None:
    """`grad(vmap(f))`, and a backward pass through it."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)

        def total(x: Any) -> Any:
            return library.vmap(lambda row: _loss(library, name, row), randomness=mode)(x).sum()

        found = library.func.grad(total)(rows(library) / 7)
        x = (rows(library) / 7).requires_grad_()
        result = total(x)
        if result.requires_grad:
            result.backward()
        return found, result.requires_grad, x.grad

    assert_same(torch, scenario)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5])
@pytest.mark.parametrize("mode", MODES)
def test_chunks(mode: str, chunk: int) -> None:
    """The same numbers in every chunk, or the stream goes on."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)
        mapped = library.vmap(lambda x: library.randn(2) + x, randomness=mode, chunk_size=chunk)
        return mapped(library.zeros(5))

    assert_same(torch, scenario)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["rand", "bernoulli", "dropout"])
def test_jacfwd(name: str, mode: str) -> None:
    """`jacfwd` hands the mode on; what it differentiates is the same for all tangents."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)
        functions = {
            "rand": lambda x: x * library.rand(3),
            "bernoulli": lambda x: x * library.bernoulli(x),
            "dropout": lambda x: library.nn.functional.dropout(x * x),
        }
        return library.func.jacfwd(functions[name], randomness=mode)(library.rand(3))

    assert_same(torch, scenario)


def test_jacrev_draws_once() -> None:
    """The function itself runs outside of the vmap over its gradients."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)
        x = library.arange(3.0)
        return library.func.jacrev(lambda x: library.nn.functional.dropout(x * x))(x)

    assert_same(torch, scenario)


def test_mode_ends_with_the_call() -> None:
    """After a refusal, random numbers are what they were."""

    def scenario(library: Any) -> Any:
        library.manual_seed(2)
        with pytest.raises(RuntimeError, match="randomness error mode"):
            library.vmap(lambda x: x + library.rand(1))(library.zeros(2))
        return library.rand(3)

    assert_same(torch, scenario)
