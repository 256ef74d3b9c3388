"""Functions that draw random numbers: with the same seed, PyTorch's numbers and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
import retrograd.nn.functional as ours

torch = pytest.importorskip("torch")
theirs = torch.nn.functional
pytestmark = [
    pytest.mark.torch,
    # dropout2d and dropout3d warn about unusual ranks, in both libraries
    pytest.mark.filterwarnings("ignore:dropout"),
]


def both(function, shape, dtype="float32", seed=3, transpose=False):
    """Results, gradients and the state of the generator afterwards, from both libraries."""
    array = np.random.default_rng(1).normal(size=shape).astype(dtype)
    found = []
    for library, module in ((torch, theirs), (retrograd, ours)):
        library.manual_seed(seed)
        leaf = library.from_numpy(array.copy()).requires_grad_()
        result = function(module, leaf.T if transpose else leaf)
        result.sum().backward()
        state = library.get_rng_state().numpy()
        found.append((result.detach().numpy(), leaf.grad.numpy(), state))
    return found


def assert_equal(found):
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


SHAPES = [(7,), (3, 4), (2, 3, 4), (2, 3, 2, 2), (0, 3), ()]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dropout(p, shape, dtype):
    assert_equal(both(lambda F, x: F.dropout(x, p), shape, dtype))


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_alpha_dropout(name, p, dtype):
    found = both(lambda F, x: getattr(F, name)(x, p, training=True), (3, 4, 5), dtype)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("dropout1d", (3, 4, 5)),
        ("dropout1d", (4, 5)),
        ("dropout2d", (2, 3, 4, 5)),
        ("dropout2d", (3, 4, 5)),
        ("dropout2d", (3, 4)),
        ("dropout3d", (2, 3, 2, 2, 2)),
        ("dropout3d", (3, 2, 2, 2)),
        ("dropout3d", (3, 4)),
    ],
)
def test_whole_channels(name, shape):
    assert_equal(both(lambda F, x: getattr(F, name)(x, 0.4), shape))


def test_memory_order_decides():
    assert_equal(both(lambda F, x: F.dropout(x, 0.5), (3, 4), transpose=True))


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "alpha_dropout"])
def test_inplace(name):
    def run(F, x):
        y = x * 1
        result = getattr(F, name)(y, 0.5, training=True, inplace=True)
        assert (y._version > 0) and result.shape == y.shape
        return result

    found = both(run, (3, 4, 5))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("inplace", [False, True])
def test_rrelu(dtype, inplace):
    assert_equal(
        both(lambda F, x: F.rrelu(x * 1, 0.1, 0.4, training=True, inplace=inplace), (4, 5), dtype)
    )


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    weights = np.arange(20.0, dtype="float32").reshape(4, 5)

    def run(F, x):
        library = torch if F is theirs else retrograd
        return F.gumbel_softmax(x, 0.7, hard) * library.from_numpy(weights)

    for a, b in zip(*both(run, (4, 5)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_attention_with_dropout():
    def run(F, x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.4)

    for a, b in zip(*both(run, (2, 3, 4, 6)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"]
)
def test_functions_of_torch(name):
    x = np.ones((3, 4), "float32")
    results = []
    for library in (torch, retrograd):
        library.manual_seed(5)
        results.append(getattr(library, name)(library.from_numpy(x), 0.5, True).numpy())
        with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
            getattr(library, name)(library.from_numpy(x), 1.5, True)
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_without_training_nothing_happens():
    x = retrograd.ones(3)
    assert ours.dropout(x, 0.5, training=False) is x
    assert ours.dropout(x, 0.0) is x


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_probability_out_of_range(p):
    for name in ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
            getattr(ours, name)(retrograd.ones(2, 3), p)
