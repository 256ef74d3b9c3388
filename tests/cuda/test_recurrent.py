"""Layers of LSTM and GRU on a device: the kernels run on the host, beside the CPU's layers."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend.cuda.overrides import recurrent, reductions
from tests.cuda.fake.launches import launching

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
KINDS = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}
CELLS = {"LSTM": torch.nn.LSTMCell, "GRU": torch.nn.GRUCell}
LOOSE = {"float32": 2e-5, "float64": 1e-12, "float16": 5e-3, "bfloat16": 4e-2}


@pytest.fixture
def seen():
    with launching(recurrent, reductions, run=True) as found:
        yield found


def agree(found, expected, loose):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        one, other = (x.detach().cpu().double().numpy() for x in (one, other))
        np.testing.assert_allclose(one, other, loose, loose)


def trained(device, kind, make, x, state=None):
    """Results and gradients of a layer, from one seed."""
    torch.manual_seed(0)
    module = make().to(kind).to(device)
    x = x.to(kind).to(device).requires_grad_()
    given = None if state is None else [s.to(kind).to(device).requires_grad_() for s in state]
    given = given if given is None or len(given) > 1 else given[0]
    output, last = module(x, given) if given is not None else module(x)
    last = last if isinstance(last, tuple) else (last,)
    parts = [output, *last]
    weights = [torch.arange(1.0, p.numel() + 1).sin().reshape(p.shape).to(p) for p in parts]
    sum((p * w).sum() for p, w in zip(parts, weights, strict=True)).backward()
    more = [] if given is None else given if isinstance(given, list) else [given]
    return [*parts, x.grad, *[s.grad for s in more], *[p.grad for p in module.parameters()]]


OPTIONS = {
    "plain": ((5, 2, 3), dict(input_size=3, hidden_size=4)),
    "one of each": ((2, 1, 1), dict(input_size=1, hidden_size=1)),
    "odd": ((3, 5, 7), dict(input_size=7, hidden_size=13)),
    "more than a block": ((2, 9, 3), dict(input_size=3, hidden_size=33)),
    "one step": ((1, 3, 2), dict(input_size=2, hidden_size=3)),
    "no bias": ((4, 2, 3), dict(input_size=3, hidden_size=2, bias=False)),
    "both ways": ((4, 3, 2), dict(input_size=2, hidden_size=3, bidirectional=True)),
    "batch first": ((2, 4, 3), dict(input_size=3, hidden_size=2, batch_first=True)),
    "two layers": ((3, 2, 3), dict(input_size=3, hidden_size=2, num_layers=2)),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("mode", KINDS)
def test_layers_are_those_of_the_cpu(seen, mode, name, kind):
    shape, options = OPTIONS[name]
    torch.manual_seed(1)
    x = torch.randn(shape)
    dtype = getattr(torch, kind)

    def make():
        return KINDS[mode](**options)

    found = trained("cuda", dtype, make, x)
    assert f"{mode.lower()}_step" in seen.own()
    assert seen.waits == []  # nobody looked at a number
    agree(found, trained("cpu", dtype, make, x), LOOSE[kind])


@pytest.mark.parametrize("mode", KINDS)
def test_states_from_outside(seen, mode):
    torch.manual_seed(1)
    state = [torch.randn(1, 2, 4) for _ in range(2 if mode == "LSTM" else 1)]
    x = torch.randn(5, 2, 3)

    def make():
        return KINDS[mode](3, 4)

    found = trained("cuda", torch.float32, make, x, state)
    agree(found, trained("cpu", torch.float32, make, x, state), 2e-5)


@pytest.mark.parametrize("mode", KINDS)
def test_nan_and_infinity_go_where_they_go_on_the_cpu(seen, mode):
    x = torch.randn(4, 3, 2)
    x[1, 0, 0], x[0, 1, 1], x[2, 2, 0] = float("nan"), float("inf"), -float("inf")

    def make():
        return KINDS[mode](2, 3)

    found = trained("cuda", torch.float32, make, x)
    agree(found, trained("cpu", torch.float32, make, x), 2e-5)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("mode", CELLS)
def test_cells(seen, mode, bias, kind):
    def run(device):
        torch.manual_seed(0)
        cell = CELLS[mode](3, 4, bias=bias).to(getattr(torch, kind)).to(device)
        x = torch.randn(2, 3).to(getattr(torch, kind)).to(device).requires_grad_()
        state = cell(x)
        state = cell(x, state)
        parts = state if isinstance(state, tuple) else (state,)
        (parts[0].square().sum() + parts[-1].sum()).backward()
        return [*parts, x.grad, *[p.grad for p in cell.parameters()]]

    found = run("cuda")
    assert seen.own().count(f"{mode.lower()}_step") == 2
    assert f"{mode.lower()}_slopes" in seen.own()
    agree(found, run("cpu"), LOOSE[kind])


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", CELLS)
def test_cells_read_half_precision_as_it_is(seen, mode, kind):
    cell = CELLS[mode](3, 4).to(getattr(torch, kind)).cuda()
    x, start = (torch.ones(2, n, dtype=getattr(torch, kind), device="cuda") for n in (3, 4))
    seen.clear()
    state = cell(x)
    (state[0] if mode == "LSTM" else state).backward(start)
    # a gradient of a GRU's state is added up in float32; an LSTM's cell state has none here
    assert [x.size for x in seen.widened()] == [8] * (mode == "GRU") and seen.waits == []
    assert cell.weight_hh.grad.dtype is x.dtype


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("mode", CELLS)
def test_what_a_cell_gives_beside_its_state(seen, mode, kind):
    """Gradients of the gates, which the neutral rules take, and second ones."""

    def run(device, kind):
        torch.manual_seed(0)
        cell = CELLS[mode](3, 4).to(kind).to(device)
        x = torch.randn(2, 3).to(kind).to(device).requires_grad_()
        hidden = torch.randn(4, 2).to(kind).to(device).t().requires_grad_()  # not row by row
        given = (hidden, hidden * 0.5) if mode == "LSTM" else hidden
        state = cell(x, given)
        first = state[0] if isinstance(state, tuple) else state
        (slope,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
        (slope.square().sum() + first.sum()).backward()
        return [first, slope, x.grad, hidden.grad, *[p.grad for p in cell.parameters()]]

    found = run("cuda", getattr(torch, kind))
    assert f"{mode.lower()}_step" in seen.own() and found[1].dtype is getattr(torch, kind)
    agree(found, run("cpu", torch.float32), LOOSE[kind] * 3)


@pytest.mark.parametrize("mode", KINDS)
def test_a_second_derivative_is_that_of_the_ordinary_operations(seen, mode):
    def run(device):
        torch.manual_seed(0)
        layer = KINDS[mode](2, 3).double().to(device)
        x = torch.randn(3, 2, 2, dtype=torch.float64).to(device).requires_grad_()
        (slope,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        slope.square().sum().backward()
        return [x.grad, *[p.grad for p in layer.parameters()]]

    agree(run("cuda"), run("cpu"), 1e-10)


def test_a_step_is_one_product_and_one_launch(seen):
    layer = torch.nn.LSTM(3, 4).cuda()
    x = torch.randn(10, 2, 3).cuda()
    counts = []
    for steps in (5, 10):
        layer.zero_grad()
        seen.clear()
        output, _ = layer(x[:steps])
        forward = seen.count()
        output.sum().backward()
        counts.append((forward, seen.count() - forward))
    (before, before_back), (after, after_back) = counts
    assert (after - before, after_back - before_back) == (2 * 5, 2 * 5)


def test_shapes_that_do_not_fit_are_refused_by_the_ordinary_operations(seen):
    x, hidden = torch.zeros(2, 3, 4).cuda(), torch.zeros(1, 3, 5).cuda()
    weights = [torch.zeros(20, 4).cuda(), torch.zeros(20, 6).cuda()]
    seen.clear()
    with pytest.raises(RuntimeError):
        torch.lstm(x, [hidden, hidden], weights, False, 1, 0.0, False, False, False)
    assert "lstm_step" not in seen.own()


def test_autocast_runs_a_layer_in_the_lower_precision(seen):
    def run(device):
        torch.manual_seed(0)
        layer = torch.nn.LSTM(3, 4).to(device)
        x = torch.randn(5, 2, 3).to(device)
        with torch.autocast(device, torch.bfloat16):
            output, _ = layer(x)
        output.float().square().sum().backward()
        return output, [output, *[p.grad for p in layer.parameters()]]

    output, found = run("cuda")
    assert output.dtype is torch.bfloat16 and seen.own().count("lstm_step") == 5
    agree(found, run("cpu")[1], 4e-2)


def test_what_is_packed_or_projected_runs_step_by_step(seen):
    rnn = torch.nn.utils.rnn

    def run(device):
        torch.manual_seed(0)
        projected = torch.nn.LSTM(3, 4, proj_size=2).to(device)
        plain = torch.nn.GRU(3, 4).to(device)
        x = torch.randn(4, 2, 3).to(device).requires_grad_()
        packed = rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False)
        padded, lengths = rnn.pad_packed_sequence(plain(packed)[0])
        assert lengths.tolist() == [2, 4] and lengths.device.type == "cpu"
        (projected(x)[0].sum() + padded.square().sum()).backward()
        return [padded, x.grad, *[p.grad for m in (projected, plain) for p in m.parameters()]]

    agree(run("cuda"), run("cpu"), 2e-5)
    assert "gru_step" not in seen.own()


def test_a_small_network_trains(seen):
    def run(device):
        torch.manual_seed(0)
        steps, last = torch.nn.LSTM(3, 8, batch_first=True), torch.nn.Linear(8, 2)
        steps, last = steps.to(device), last.to(device)
        x, target = torch.randn(4, 6, 3).to(device), torch.randn(4, 2).to(device)
        optimizer = torch.optim.SGD([*steps.parameters(), *last.parameters()], lr=0.5)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (last(steps(x)[0][:, -1]) - target).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        return found

    found = run("cuda")
    assert float(found[-1]) < float(found[0])
    agree(found, run("cpu"), 1e-5)
