"""Recurrent layers without PyTorch: what holds of any of them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import gradcheck, gradgradcheck

KINDS = ("RNN", "LSTM", "GRU")


def close(ours, wanted):
    np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_its_cell_step_by_step(kind):
    layer = getattr(torch.nn, kind)(3, 4)
    cell = getattr(torch.nn, f"{kind}Cell")(3, 4)
    cell.load_state_dict({name[:-3]: value for name, value in layer.state_dict().items()})
    input = torch.randn(5, 2, 3)
    state, outputs = None, []
    for step in input:
        state = cell(step, state)
        outputs.append(first(state))
    output, final = layer(input)
    close(output, torch.stack(outputs))
    close(first(final)[0], first(state))


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_run_as_if_alone(kind):
    layer = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True)
    sequences = [torch.randn(length, 3) for length in (2, 5, 1, 5)]
    packed = torch.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, final = layer(packed)
    for place, part in enumerate(torch.nn.utils.rnn.unpack_sequence(output)):
        alone, last = layer(sequences[place])
        close(part, alone)
        close(first(final)[:, place], first(last))


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(kind):
    layer = getattr(torch.nn, kind)(2, 2, bidirectional=True, dtype=torch.float64)
    input = torch.randn(2, 1, 2, dtype=torch.float64, requires_grad=True)

    def run(x, *weights):
        output, final = layer(x)
        return output, first(final)

    assert gradcheck(run, (input, *layer.parameters()))
    assert gradgradcheck(run, (input, *layer.parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_vmap_over_examples(kind):
    layer = getattr(torch.nn, kind)(3, 4, batch_first=True)
    input = torch.randn(3, 5, 3)
    mapped = torch.func.vmap(lambda one: layer(one)[0])(input)
    close(mapped, layer(input)[0])


def test_dropout_acts_only_in_training_and_between_layers():
    layer = torch.nn.GRU(3, 4, num_layers=2, dropout=0.5)
    input = torch.randn(5, 2, 3)
    assert not torch.equal(layer(input)[0], layer(input)[0])
    layer.eval()
    assert torch.equal(layer(input)[0], layer(input)[0])


def test_a_hidden_state_of_another_batch_is_refused_for_packed_input():
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 3), torch.ones(1, 3)])
    states = (torch.zeros(1, 3, 4), torch.zeros(1, 3, 4))
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 4\)"):
        torch.nn.LSTM(3, 4)(packed, states)


def test_a_tensor_is_no_pair_of_states():
    with pytest.raises(TypeError, match=r"lstm\(\) received an invalid combination"):
        torch.nn.LSTM(3, 4)(torch.ones(5, 2, 3), torch.zeros(2, 1, 2, 4))


def test_training_a_small_network():
    torch.manual_seed(0)
    layer, head = torch.nn.GRU(1, 8, batch_first=True), torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
    input = torch.randn(16, 6, 1)
    target = input.sum(1)
    losses = []
    for _ in range(40):
        loss = torch.nn.functional.mse_loss(head(layer(input)[0][:, -1]), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def lstm_and_gradients(watched: bool) -> list[np.ndarray]:
    """Outputs and gradients of an LSTM; `watched` ops are run one by one."""
    torch.manual_seed(3)
    network = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    input = torch.randn(6, 2, 3, requires_grad=True)
    state = tuple(torch.randn(4, 2, 4, requires_grad=True) for _ in range(2))
    with torch.autograd.set_detect_anomaly(watched):
        output, (hidden, cell) = network(input, state)
        loss = (output * output).sum() + (hidden * cell).sum()
    loss.backward()
    leaves = [input, *state, *network.parameters()]
    results = [output, hidden, cell, *(leaf.grad for leaf in leaves)]
    return [result.detach().numpy() for result in results]


def test_lstm_as_one_node_computes_what_its_steps_compute() -> None:
    for found, expected in zip(lstm_and_gradients(False), lstm_and_gradients(True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_lstm_layer_is_one_node_and_is_freed_with_the_graph() -> None:
    network = torch.nn.LSTM(3, 4)
    output, _ = network(torch.randn(5, 2, 3))
    assert output.grad_fn.name() == "LSTMStepsBackward"
    output.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        output.sum().backward()


def test_lstm_gates_that_are_shut_give_no_warning() -> None:
    network = torch.nn.LSTM(1, 1)
    with torch.no_grad():
        network.weight_ih_l0.fill_(-1e4)
    output, _ = network(torch.ones(2, 1, 1))
    output.sum().backward()
    assert torch.isfinite(output).all()
