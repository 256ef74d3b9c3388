"""Recurrent layers beside real PyTorch: initial values, outputs, gradients, text, dropout."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LAYERS = [
    (kind, options)
    for kind in ("RNN", "LSTM", "GRU")
    for options in (
        {},
        {"bias": False},
        {"batch_first": True},
        {"num_layers": 2, "bidirectional": True},
        {"num_layers": 3, "bias": False, "bidirectional": True, "batch_first": True},
        {"num_layers": 3, "dropout": 0.4, "bidirectional": True},
        {"num_layers": 2, "dropout": 1.0},
    )
] + [
    ("RNN", {"nonlinearity": "relu"}),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 2}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}),
    ("LSTM", {"proj_size": 3, "num_layers": 2, "dropout": 0.3, "batch_first": True}),
]
TOLERANCE = {"float32": {"rtol": 1e-5, "atol": 1e-6}, "float64": {"rtol": 1e-10, "atol": 1e-12}}


def build(t, kind, options, dtype="float64"):
    t.manual_seed(11)
    return getattr(t.nn, kind)(3, 5, **options, dtype=getattr(t, dtype))


def values(seed, *shape, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def flat(found):
    """The tensors of a nested result in one list."""
    if isinstance(found, (tuple, list)):
        return [tensor for part in found if part is not None for tensor in flat(part)]
    return [found]


def agree(ours, theirs, dtype="float64"):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert tuple(mine.shape) == tuple(other.shape)
            if mine.grad_fn is not None:
                assert mine.stride() == other.stride()
            np.testing.assert_allclose(
                mine.detach().numpy(), other.detach().numpy(), **TOLERANCE[dtype]
            )


def differentiated(t, results, leaves):
    """The gradients of a weighted sum of all results."""
    total = 0
    for number, result in enumerate(results):
        total = total + (result * t.tensor(values(number, *result.shape)).to(result.dtype)).sum()
    return t.autograd.grad(total, leaves, allow_unused=True)


def states(t, module, batch, dtype="float64"):
    """Initial states that require grad, in the form the layer takes."""
    count = module.num_layers * (2 if module.bidirectional else 1)
    sizes = [module.proj_size or module.hidden_size, module.hidden_size]
    made = [
        t.tensor(values(7 + place, count, *batch, size, dtype=dtype), requires_grad=True)
        for place, size in enumerate(sizes)
    ]
    return (made[0], made[1]) if module.mode == "LSTM" else made[0]


def names(case):
    return f"{case[0]}-" + "-".join(f"{k}={v}" for k, v in case[1].items())


@pytest.mark.parametrize("case", LAYERS, ids=names)
def test_initial_values_names_and_text(case):
    ours, theirs = build(retrograd, *case), build(torch, *case)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours._flat_weights_names == theirs._flat_weights_names
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), other.detach().numpy())
    shapes = [[tuple(w.shape) for w in one] for one in ours.all_weights]
    assert shapes == [[tuple(w.shape) for w in one] for one in theirs.all_weights]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
@pytest.mark.parametrize("case", LAYERS, ids=names)
def test_padded(case, given, dtype):
    found = []
    for t in (retrograd, torch):
        module = build(t, *case, dtype)
        input = t.tensor(values(1, 4, 2, 3, dtype=dtype), requires_grad=True)
        batch = 4 if module.batch_first else 2
        start = states(t, module, (batch,), dtype) if given else None
        t.manual_seed(5)
        results = flat(module(input, start))
        drawn = t.rand(3)  # as many random numbers were used as in PyTorch
        leaves = [input, *module.parameters(), *(flat(start) if given else [])]
        found.append((results, differentiated(t, results, leaves), [drawn]))
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs, dtype)


@pytest.mark.parametrize("case", LAYERS, ids=names)
def test_one_example_without_batch_in_evaluation(case):
    found = []
    for t in (retrograd, torch):
        module = build(t, *case).eval()
        input = t.tensor(values(1, 4, 3), requires_grad=True)
        results = flat(module(input)) + flat(module(input, states(t, module, ())))
        found.append((results, differentiated(t, results, [input, *module.parameters()])))
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs)


@pytest.mark.parametrize("lengths", [[4, 4, 2, 1], [1, 4, 2, 4], [3, 3, 3, 3]], ids=str)
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
@pytest.mark.parametrize("case", LAYERS, ids=names)
def test_packed(case, given, lengths):
    found = []
    ordered = lengths == sorted(lengths, reverse=True)
    for t in (retrograd, torch):
        module = build(t, *case)
        input = t.tensor(values(1, 4, 4, 3), requires_grad=True)
        rnn = t.nn.utils.rnn
        packed = rnn.pack_padded_sequence(input, lengths, enforce_sorted=ordered)
        start = states(t, module, (4,)) if given else None
        t.manual_seed(5)
        output, final = module(packed, start)
        assert isinstance(output, rnn.PackedSequence)
        padded, counts = rnn.pad_packed_sequence(output, padding_value=0.5)
        assert counts.tolist() == lengths
        results = [padded, output.data, *flat(final)]
        leaves = [input, *module.parameters(), *(flat(start) if given else [])]
        found.append((results, differentiated(t, results, leaves)))
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_second_order(kind):
    found = []
    for t in (retrograd, torch):
        module = build(t, kind, {"num_layers": 2, "bidirectional": True})
        input = t.tensor(values(1, 3, 2, 3), requires_grad=True)
        results = flat(module(input, states(t, module, (2,))))
        total = sum((result * result).sum() for result in results)
        first = t.autograd.grad(total, [input, *module.parameters()], create_graph=True)
        penalty = sum((one * one).sum() for one in first)
        found.append(t.autograd.grad(penalty, [input, *module.parameters()]))
    agree(*found)


CELLS = [
    ("RNNCell", {}),
    ("RNNCell", {"nonlinearity": "relu"}),
    ("RNNCell", {"bias": False, "nonlinearity": "relu"}),
    ("LSTMCell", {}),
    ("LSTMCell", {"bias": False}),
    ("GRUCell", {}),
    ("GRUCell", {"bias": False}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (4,), (0,)], ids=str)
@pytest.mark.parametrize("case", CELLS, ids=names)
def test_cells(case, batch, dtype):
    found = []
    for t in (retrograd, torch):
        module = build(t, *case, dtype)
        input = t.tensor(values(1, *batch, 3, dtype=dtype), requires_grad=True)
        start = [t.tensor(values(n, *batch, 5, dtype=dtype), requires_grad=True) for n in (2, 3)]
        state = tuple(start) if case[0] == "LSTMCell" else start[0]
        results = flat(module(input)) + flat(module(input, state))
        leaves = [input, *module.parameters(), *start]
        found.append((results, list(module.parameters()), differentiated(t, results, leaves)))
        found[-1] += (repr(module), list(module.state_dict()))
    assert found[0][3:] == found[1][3:]
    for ours, theirs in zip(found[0][:3], found[1][:3], strict=True):
        agree(ours, theirs, dtype)


@pytest.mark.parametrize("case", CELLS[2:3] + LAYERS[3:4] + LAYERS[-1:], ids=names)
def test_copies_and_state(case):
    t = retrograd
    module = build(t, *case).eval()
    input = t.tensor(values(1, 4, 3))
    wanted = flat(module(input))
    fresh = build(t, *case).eval()
    with t.no_grad():
        for parameter in fresh.parameters():
            parameter.zero_()
    fresh.load_state_dict(module.state_dict())
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), fresh):
        assert repr(other) == repr(module)
        for mine, copied in zip(wanted, flat(other(input)), strict=True):
            assert t.equal(mine, copied)


def test_functional_call_replaces_the_weights():
    found = []
    for t in (retrograd, torch):
        module = build(t, "GRU", {})
        input = t.tensor(values(1, 4, 2, 3))
        weights = {name: (p * 2).detach() for name, p in module.named_parameters()}
        found.append(flat(t.func.functional_call(module, weights, (input,))))
        found[-1] += flat(module(input))
    agree(*found)


def test_conversion_of_the_module():
    found = []
    for t in (retrograd, torch):
        module = build(t, "LSTM", {}, "float32").double()
        found.append(flat(module(t.tensor(values(1, 4, 2, 3)))))
    agree(*found)


def outcome(function, t):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            function(t)
            error = None
        except Exception as raised:
            error = (type(raised).__name__, str(raised).split("\n")[0])
    return error, [(w.category, str(w.message), w.filename == __file__) for w in seen]


MISUSES = [
    lambda t: t.nn.RNN(2, 3, nonlinearity="x"),
    lambda t: t.nn.RNN(2, 3, 1, "y"),
    lambda t: t.nn.RNN(2, 3, proj_size=1),
    lambda t: t.nn.GRU(2, 3, proj_size=1),
    lambda t: t.nn.GRU(2, 3, 1, True, False, 0.0, False, 1)(t.ones(2, 2, 2)),
    lambda t: t.nn.RNNBase("other", 2, 3),
    lambda t: t.nn.RNNBase("GRU", 2, 3)(t.ones(2, 2, 2)),
    lambda t: t.nn.LSTM(2, 3, dropout=2),
    lambda t: t.nn.LSTM(2, 3, dropout=True),
    lambda t: t.nn.LSTM(2, 3, dropout="a"),
    lambda t: t.nn.LSTM(2, 3, bias=1),
    lambda t: t.nn.LSTM(2, 3, batch_first=1),
    lambda t: t.nn.LSTM(2.0, 3),
    lambda t: t.nn.LSTM(0, 3),
    lambda t: t.nn.LSTM(2, 3.0),
    lambda t: t.nn.LSTM(2, 0),
    lambda t: t.nn.LSTM(2, 3, 0),
    lambda t: t.nn.LSTM(2, 3, proj_size=-1),
    lambda t: t.nn.LSTM(2, 3, proj_size=3),
    *(
        lambda t, kind=kind, call=call: call(t, getattr(t.nn, kind)(2, 3))
        for kind in ("RNN", "LSTM", "GRU")
        for call in (
            lambda t, m: m(t.ones(2)),
            lambda t, m: m(t.ones(2, 2, 2, 2)),
            lambda t, m: m(t.ones(2, 2, 3)),
            lambda t, m: m(t.ones(0, 2, 2)),
            lambda t, m: m(t.ones(2, 2, 2, dtype=t.float64)),
            lambda t, m: m(t.ones(2, 2, 2), t.ones(1, 1, 2, 3)),
            lambda t, m: m(t.ones(2, 2), t.ones(2, 1, 1, 3)),
            lambda t, m: m(t.ones(2, 2, 2), t.ones(2, 1, 3, 3)),
            lambda t, m: m.flatten_parameters(),
        )
    ),
    lambda t: t.nn.GRU(2, 3)(t.ones(2, 2, 2), t.ones(1, 3, 3)),
    lambda t: t.nn.GRU(2, 3)(t.ones(2, 2, 2), t.ones(1, 2, 3, dtype=t.float64)),
    lambda t: t.nn.RNN(2, 3)(t.ones(2, 2), t.ones(1, 2, 3)),
    lambda t: t.nn.LSTM(2, 3)(t.ones(2, 2, 2), t.ones(1, 2, 3)),
    lambda t: t.nn.LSTM(2, 3)(t.ones(2, 2, 2), (t.ones(1, 2, 3), t.ones(1, 2, 4))),
    lambda t: t.nn.LSTM(2, 3)(t.ones(2, 2, 2), (t.ones(1, 2, 4), t.ones(1, 2, 3))),
    lambda t: t.nn.GRU(2, 3)(t.nn.utils.rnn.pack_sequence([t.ones(2, 2)]), t.ones(1, 3, 3)),
    lambda t: t.nn.GRU(2, 3)(t.nn.utils.rnn.pack_sequence([t.ones(2, 3)])),
    *(
        lambda t, kind=kind, call=call: call(t, getattr(t.nn, kind)(2, 3))
        for kind in ("RNNCell", "LSTMCell", "GRUCell")
        for call in (
            lambda t, m: m(t.ones(3, 4, 2)),
            lambda t, m: m(t.ones(3)),
            lambda t, m: m(t.ones(4, 3)),
            lambda t, m: m(t.ones(4, 2, dtype=t.float64)),
            lambda t, m: m(t.ones(4, 2), t.ones(2, 1, 1, 4, 3)),
            lambda t, m: m(t.ones(4, 2), t.ones(2, 4, 4, 3)[0]),
        )
    ),
    lambda t: t.nn.GRUCell(2, 3)(t.ones(4, 2), t.ones(3, 3)),
    lambda t: t.nn.GRUCell(2, 3)(t.ones(4, 2), t.ones(4, 4)),
    lambda t: t.nn.GRUCell(2, 3)(t.ones(4, 2), t.ones(3)),
    lambda t: t.nn.GRUCell(2, 3)(t.ones(2), t.ones(1, 3)),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(4, 2), (t.ones(4, 3), t.ones(3, 3))),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(4, 2), (t.ones(4, 3), t.ones(4, 4))),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(2), t.ones(1, 3)),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(2), t.ones(2, 3)),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(4, 2), [t.ones(4, 3)] * 3),
    lambda t: t.nn.LSTMCell(2, 3)(t.ones(4, 2), [t.ones(4, 3)]),
    lambda t: t.nn.LSTM(2, 3)(t.ones(4, 2, 2), [t.ones(1, 2, 3)] * 3),
    lambda t: t.nn.RNNCell(2, 3, nonlinearity="x")(t.ones(4, 2)),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse(misuse):
    assert outcome(misuse, retrograd) == outcome(misuse, torch)


def test_dropout_on_one_layer_warns():
    ours = outcome(lambda t: t.nn.LSTM(2, 3, dropout=0.5), retrograd)
    theirs = outcome(lambda t: t.nn.LSTM(2, 3, dropout=0.5), torch)
    assert [w[:2] for w in ours[1]] == [w[:2] for w in theirs[1]]
    assert ours[1][0][2]  # the warning points at the caller's line
