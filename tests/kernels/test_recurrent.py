"""The compiled steps of LSTM and GRU layers beside NumPy's: what docs/design.md promises of them.

Every build that the processor has is tried: they share no bits, but each keeps the promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import cpu_recurrent as twins
from retrograd.backend.cpu import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
# (steps, batch, width): below, at and above every width of vector; whole tiles of rows and not
SIZES = [(1, 1, 1), (3, 5, 7), (2, 4, 8), (4, 8, 32), (5, 3, 33), (2, 9, 17), (3, 2, 50)]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


class Layer:
    """What a layer of so many gates is given, for both forms."""

    def __init__(self, gates: int, sizes: tuple[int, int, int], dtype: Any, bias: bool = True):
        steps, batch, width = sizes
        self.name = "lstm" if gates == 4 else "gru"
        self.share = numbers(steps, batch, gates * width, dtype=dtype)
        self.first = [numbers(batch, width, dtype=dtype, seed=n) for n in range(gates - 2)]
        self.weight = numbers(gates * width, width, dtype=dtype) / np.sqrt(width, dtype=dtype)
        biases = [numbers(gates * width, dtype=dtype, seed=n) for n in (1, 2)]
        self.biases: list[Any] = biases if bias else [None, None]
        self.of_hidden = numbers(steps, batch, width, dtype=dtype, seed=3)
        self.of_cell = numbers(batch, width, dtype=dtype, seed=4)

    def forward(self, function: Any) -> list[Array]:
        gates = self.share.copy()
        found = function(gates, *self.first, self.weight, *self.biases)
        assert found is not None
        return [gates, *found]

    def backward(self, function: Any, gates: Array, hidden: Array, other: Array) -> Any:
        if self.name == "lstm":
            return function(gates, other, self.weight, self.of_hidden, self.of_cell)
        return function(gates, other, hidden, self.weight, self.of_hidden)

    def compare(self) -> None:
        found = self.forward(getattr(rows, self.name))
        close(found, self.forward(getattr(twins, f"_{self.name}")))
        gradients = self.backward(getattr(rows, f"{self.name}_gradients"), *found)
        close(gradients, self.backward(getattr(twins, f"_{self.name}_gradients"), *found))


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.flags.c_contiguous and one.flags.writeable
        bound = 64 * np.finfo(one.dtype).eps
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("gates", [3, 4])
def test_layers_of_odd_sizes(build: str, gates: int, sizes: Any, dtype: Any) -> None:
    Layer(gates, sizes, dtype).compare()
    Layer(gates, sizes, dtype, bias=False).compare()


@pytest.mark.parametrize("gates", [3, 4])
def test_layouts(build: str, gates: int) -> None:
    """Gradients of a batch-first output and of a sum; arrays neither dense nor aligned."""
    layer = Layer(gates, (4, 6, 9), np.float32)
    layer.weight = np.asfortranarray(layer.weight)
    layer.first = [np.repeat(x, 2, axis=1)[:, ::2] for x in layer.first]
    layer.of_hidden = np.ascontiguousarray(layer.of_hidden.swapaxes(0, 1)).swapaxes(0, 1)
    layer.compare()
    layer.of_hidden = np.broadcast_to(np.float32(0.5), (4, 6, 9))
    layer.compare()
    raw = np.zeros(layer.weight.nbytes + 1, np.uint8)
    weight = raw[1:].view(np.float32).reshape(layer.weight.shape)
    weight[...] = layer.weight
    layer.weight = weight
    layer.compare()


@pytest.mark.parametrize("gates", [3, 4])
def test_nan_and_infinity_stay_in_their_sequence(build: str, gates: int) -> None:
    layer = Layer(gates, (3, 5, 20), np.float32)
    layer.share[0, 1, 3] = np.nan
    layer.share[1, 2, :] = np.inf
    layer.share[1, 3, :] = -np.inf
    name = layer.name
    found = layer.forward(getattr(rows, name))
    with np.errstate(all="ignore"):
        expected = layer.forward(getattr(twins, f"_{name}"))
        gradients = layer.backward(getattr(rows, f"{name}_gradients"), *found)
        slopes = layer.backward(getattr(twins, f"_{name}_gradients"), *found)
    for one, other in zip((*found, *gradients), (*expected, *slopes), strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    assert np.isnan(found[1][1:, 1]).any() and np.isfinite(found[1][:, [0, 2, 3, 4]]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_error_of_tanh(build: str, dtype: Any) -> None:
    """The candidates of a single step."""
    x = np.concatenate([np.linspace(-10, 10, 20001), np.logspace(-30, 1, 5000)]).astype(dtype)
    gates, zeros = np.zeros((len(x), 4), dtype), np.zeros((len(x), 1), dtype)
    gates[:, 2] = x
    assert rows.lstm_step(gates, np.zeros_like(gates), zeros, None, None) is not None
    exact = np.tanh(x.astype(np.longdouble))
    units = np.abs(gates[:, 2] - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert units.max() < 8


@pytest.mark.parametrize("gates", [3, 4])
def test_threads_change_no_bit(gates: int) -> None:
    layer = Layer(gates, (6, 23, 65), np.float32)
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found = layer.forward(getattr(rows, layer.name))
            gradients = layer.backward(getattr(rows, f"{layer.name}_gradients"), *found)
            results.append([x.tobytes() for x in (*found, *gradients)])
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_what_is_not_taken() -> None:
    layer = Layer(4, (2, 3, 4), np.float32)
    wide = [x.astype(np.float64) for x in (layer.share, *layer.first, layer.weight)]
    good = (layer.share, *layer.first, layer.weight, None, None)
    assert rows.lstm(*good) is not None
    read_only = layer.share.copy()
    read_only.flags.writeable = False
    for place, bad in [
        (0, wide[0]),
        (0, layer.share[:, :, :-1]),
        (0, np.asfortranarray(layer.share)),
        (0, layer.share[:0]),
        (0, read_only),
        (1, layer.first[0][:-1]),
        (2, wide[2]),
        (3, layer.weight[:-1]),
        (3, layer.weight.T),
        (3, None),
        (4, numbers(16)),
    ]:
        arguments: list[Any] = [x.copy() if isinstance(x, np.ndarray) else x for x in good]
        arguments[place] = bad
        assert rows.lstm(*arguments) is None, (place, bad)
    gates, _, cell = layer.forward(rows.lstm)
    slopes = (layer.weight, layer.of_hidden, layer.of_cell)
    assert rows.lstm_gradients(gates, cell, *slopes) is not None
    assert rows.lstm_gradients(gates, cell[1:], *slopes) is None
    assert (
        rows.lstm_gradients(gates, cell, layer.weight, layer.of_hidden[1:], layer.of_cell) is None
    )
    assert rows.gru(layer.share, layer.first[0], layer.weight, None, None) is None
    with pytest.raises(TypeError, match="takes 6 arguments"):
        rows.lstm(layer.share)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_layers_compute_what_their_steps_compute(build: str, kind: str) -> None:
    torch.manual_seed(3)
    network = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    input = torch.randn(2, 6, 3, requires_grad=True)

    def run(watched: bool) -> list[Array]:
        network.zero_grad()
        input.grad = None
        with torch.autograd.set_detect_anomaly(watched):  # it runs the ops one by one
            output, state = network(input)
            hidden = state if kind == "GRU" else state[0] * state[1]
            ((output * output).sum() + hidden.sum()).backward()
        leaves = [input, *network.parameters()]
        return [x.detach().numpy() for x in (output, hidden, *(leaf.grad for leaf in leaves))]

    for found, expected in zip(run(False), run(True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# --------------------------------------------------------------------------------- single steps


def step_of(kind: str) -> tuple[Any, Any, Any]:
    """The names of the op and of its gradients, and how many gates and states it has."""
    return f"_{kind}_step", f"_{kind}_step_gradients", (4, 2) if kind == "lstm" else (3, 1)


def step_operands(kind: str, sizes: Any, dtype: Any, bias: bool = True) -> list[Any]:
    features, batch, width = sizes
    gates, states = step_of(kind)[2]
    found = [numbers(batch, features, dtype=dtype)]
    found += [numbers(batch, width, dtype=dtype, seed=1 + n) for n in range(states)]
    found += [numbers(gates * width, n, dtype=dtype, seed=3) / 4 for n in (features, width)]
    biases = [numbers(gates * width, dtype=dtype, seed=5 + n) for n in range(2)]
    return [*found, *(biases if bias else [None, None])]


def both_steps(kind: str, operands: list[Any]) -> None:
    """The compiled step and its gradients beside those of the neutral kernels."""
    name, gradients, (_, states) = step_of(kind)
    found, expected = CPU.kernel(name)(CPU.xp, *operands), KERNELS[name][0](CPU.xp, *operands)
    alike(found, expected)
    for given in [(True, True), (True, False), (False, True)][: 2 * states - 1]:
        g = [numbers(*x.shape, dtype=x.dtype, seed=9) for x in found[:2]]
        slopes = [x if wanted else None for x, wanted in zip(g[:states], given, strict=False)]
        slopes += [None] * (3 - states)
        facts = (slopes, (True,) * len(operands), *operands[:-2], *found[1:])
        alike(CPU.kernel(gradients)(CPU.xp, *facts), KERNELS[gradients][0](CPU.xp, *facts))


def alike(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and one.flags.writeable
        scale = max(1.0, float(np.abs(other).max()))
        bound = 256 * np.finfo(one.dtype).eps * scale
        np.testing.assert_allclose(one, other, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (16, 8, 32), (20, 3, 33), (5, 64, 50)])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_single_steps_of_odd_sizes(build: str, kind: str, sizes: Any, dtype: Any) -> None:
    both_steps(kind, step_operands(kind, sizes, dtype))
    both_steps(kind, step_operands(kind, sizes, dtype, bias=False))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_single_steps_in_other_layouts(build: str, kind: str) -> None:
    operands = step_operands(kind, (9, 6, 11), np.float32)
    both_steps(kind, [np.asfortranarray(x) for x in operands])
    both_steps(kind, [np.repeat(x, 2, axis=-1)[..., ::2] for x in operands])
    bent = [np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32) for x in operands]
    for one, other in zip(bent, operands, strict=True):
        one[...] = other.ravel()
    both_steps(kind, [b.reshape(x.shape) for b, x in zip(bent, operands, strict=True)])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_nan_and_infinity_stay_in_their_row_of_a_step(build: str, kind: str) -> None:
    operands = step_operands(kind, (3, 5, 20), np.float32)
    operands[0][1, 0], operands[0][2] = np.nan, np.inf
    name = step_of(kind)[0]
    with np.errstate(all="ignore"):
        found = CPU.kernel(name)(CPU.xp, *operands)
        expected = KERNELS[name][0](CPU.xp, *operands)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    assert np.isnan(found[0][1]).any() and np.isfinite(found[0][[0, 3, 4]]).all()


def test_which_steps_are_not_taken() -> None:
    gates, share, cell = numbers(3, 16), numbers(3, 16, seed=1), numbers(3, 4)
    good = (gates, share, cell, None, None)
    assert rows.lstm_step(*good) is not None
    read_only = gates.copy()
    read_only.flags.writeable = False
    for place, bad in [
        *((0, gates[:0]), (0, gates.astype(np.float64)), (0, gates[:, :-1]), (0, read_only)),
        *((1, share[:-1]), (1, share.astype(np.float64)), (2, cell[:, :-1]), (3, numbers(16))),
    ]:
        arguments: list[Any] = list(good)
        arguments[place] = bad
        assert rows.lstm_step(*arguments) is None, place
    assert rows.lstm_step_gradients(gates, cell, cell, cell, None) is not None
    assert rows.lstm_step_gradients(gates, cell, cell, cell[:-1], None) is None
    assert rows.lstm_step_gradients(gates, cell, cell[:, :-1], cell, None) is None
    assert rows.gru_step(gates[:, :12], share[:, :12], cell, None, None) is None  # not dense
    gates, share = gates[:, :12].copy(), share[:, :12].copy()
    assert rows.gru_step(gates, share, cell, None, None) is not None
    assert rows.gru_step_gradients(gates, cell, cell, cell) is not None
    assert rows.gru_step_gradients(gates, cell[:-1], cell, cell) is None
    with pytest.raises(TypeError, match="takes 5 arguments"):
        rows.lstm_step(gates)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell"])
def test_a_cell_is_one_node_right_in_every_order(kind: str) -> None:
    torch.manual_seed(1)
    cell = getattr(torch.nn, kind)(3, 2).double()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    state = [torch.randn(4, 2, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    leaves = [x, *state[: 2 if kind == "LSTMCell" else 1], *cell.parameters()]

    def run(x: Any, *rest: Any) -> Any:
        return cell(x, tuple(state) if kind == "LSTMCell" else state[0])

    found = run(*leaves)
    first = found[0] if kind == "LSTMCell" else found
    assert first.grad_fn.name() == f"ThnnFused{kind[:-4].capitalize()}CellBackward0"
    assert torch.autograd.gradcheck(run, leaves)
    assert torch.autograd.gradgradcheck(run, leaves)
